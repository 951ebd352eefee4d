package store

import (
	"cmp"
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/lexsem/lexsem/internal/atomicfile"
)

// probeEvery is how long the result of a probe is used.
const probeEvery = 5 * time.Second

// probe is the result of the last attempt to write a file. A goroutine that has put an element into turn may
// read and change it.
type probe struct {
	turn chan struct{}
	at   time.Time
	err  error
}

// Writable returns the error that a write would have now, or nil: ErrClosed, ErrReadOnly, ErrFailed,
// ErrNoSpace, or that of the system. It commits nothing. If no other error applies, it writes, syncs and
// removes a small file, at most every 5 s; in between it returns the last result.
func (s *Store) Writable(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if s.o.ReadOnly {
		return ErrReadOnly
	}
	if err := cmp.Or(ctx.Err(), s.failure(), s.checkSpace()); err != nil || s.o.InMemory {
		return err
	}
	select {
	case s.probe.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.probe.turn }()
	if p := &s.probe; p.at.IsZero() || time.Since(p.at) >= probeEvery {
		if p.err = tryToWrite(s.records()); errors.Is(p.err, syscall.ENOSPC) {
			p.err = systemError(p.err)
		}
		p.at = time.Now()
	}
	return s.probe.err
}

// tryToWrite writes and syncs a file in a folder, and removes it.
func tryToWrite(dir string) error {
	f, err := os.CreateTemp(dir, "probe"+atomicfile.Mark+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
