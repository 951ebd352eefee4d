package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Manifest returns a copy of the manifest.
func (s *Store) Manifest() Manifest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.manifest.clone()
}

// SetManifest calls change with a copy of the manifest and writes the result in one synced
// transaction. If change returns an error, nothing is written. It waits for a batch in progress, so a
// goroutine must not call it between its own Begin and Commit.
func (s *Store) SetManifest(ctx context.Context, change func(*Manifest) error) error {
	return s.writing(ctx, func() error { return s.changeManifest(change) })
}

func (s *Store) changeManifest(change func(*Manifest) error) error {
	old := s.Manifest()
	m := old.clone()
	if err := change(&m); err != nil {
		return err
	}
	st := s.current()
	if err := m.checkChange(old, st.live); err != nil {
		return err
	}
	m.Major = max(m.Major, m.format())
	if err := s.checkSpace(); err != nil {
		return err
	}
	st.gen++
	st.manifestGen = st.gen
	if err := s.writeManifest(st, m); err != nil {
		if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrManifest) {
			s.fail(err)
		}
		return err
	}
	s.mu.Lock()
	s.manifest = m.clone()
	s.mu.Unlock()
	return s.finish(st)
}

// writeManifest writes manifest, state and more in one transaction.
func (s *Store) writeManifest(st state, m Manifest, more ...op) error {
	p, err := encodeManifest(st.gen, m)
	if err != nil {
		return err
	}
	txn := s.db.NewTransaction(true)
	defer txn.Discard()
	for _, o := range append(more, op{keyManifest, p}, op{keyState, st.encode()}) {
		s.written.Add(int64(len(o.key) + len(o.payload) + entryOverhead))
		if err := s.set(txn, o.key, o.payload); err != nil {
			return err
		}
	}
	return txn.Commit()
}

func encodeManifest(gen uint64, m Manifest) ([]byte, error) {
	p, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if len(p) > maxManifestBytes {
		return nil, fmt.Errorf("manifest has %d bytes, at most %d are allowed: %w", len(p), maxManifestBytes, ErrTooLarge)
	}
	return append(appendNumbers(nil, gen), p...), nil
}

func decodeManifest(p []byte) (gen uint64, m Manifest, err error) {
	if len(p) < 8 {
		return 0, m, fmt.Errorf("%w: ends early", errRecord)
	}
	if err := decodeNumbers(p[:8], &gen); err != nil {
		return 0, m, err
	}
	return gen, m, json.Unmarshal(p[8:], &m)
}
