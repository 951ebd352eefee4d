package backendtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
)

// Memory is a Backend that keeps everything in memory and searches exactly. The zero value has no index.
type Memory struct {
	mu      sync.RWMutex
	made    bool
	info    remote.Info
	docs    map[string][]remote.Passage
	writes  uint64
	Hook    func(ctx context.Context, call string) error // called before each call, if not nil
	Created int                                          // calls of Create that made an index
}

var _ remote.Backend = (*Memory)(nil)

func (m *Memory) enter(ctx context.Context, call string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.Hook != nil {
		if err := m.Hook(ctx, call); err != nil {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	return nil
}

// Name implements remote.Backend.
func (m *Memory) Name() string { return "memory" }

// Info implements remote.Backend.
func (m *Memory) Info(ctx context.Context) (remote.Info, error) {
	if err := m.enter(ctx, "Info"); err != nil {
		return remote.Info{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.made {
		return remote.Info{}, fmt.Errorf("memory: %w", engine.ErrNoDatabase)
	}
	return m.info, nil
}

// Create implements remote.Backend.
func (m *Memory) Create(ctx context.Context, i remote.Info) error {
	if err := m.enter(ctx, "Create"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made {
		return fmt.Errorf("memory: %w", engine.ErrExists)
	}
	m.made, m.info, m.docs = true, i, map[string][]remote.Passage{}
	m.Created++
	return nil
}

// Status implements remote.Backend.
func (m *Memory) Status(ctx context.Context) (s remote.Status, err error) {
	if err := m.enter(ctx, "Status"); err != nil {
		return s, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s.Documents, s.Writes = len(m.docs), m.writes
	for _, ps := range m.docs {
		s.Passages += len(ps)
		for _, p := range ps {
			s.Terms += int64(p.Length)
		}
	}
	return s, nil
}

// scored returns the k passages with the highest score above least that meet f.
func (m *Memory) scored(k int, f engine.Filter, least float64, score func(remote.Passage) float64) ([]remote.Candidate, error) {
	var cs []remote.Candidate
	for _, ps := range m.docs {
		met, err := f.Meets(ps[0].ID, ps[0].Facts)
		if err != nil {
			return nil, err
		}
		for _, p := range ps {
			if s := score(p); met && s > least {
				cs = append(cs, remote.Candidate{PassageID: p.PassageID, Cosine: s, Terms: p.Terms})
			}
		}
	}
	slices.SortFunc(cs, func(a, b remote.Candidate) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Chunk, b.Chunk))
	})
	return cs[:min(k, len(cs))], nil
}

// Nearest implements remote.Backend.
func (m *Memory) Nearest(ctx context.Context, vector []float32, k int, f engine.Filter) ([]remote.Candidate, error) {
	if err := m.enter(ctx, "Nearest"); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.scored(k, f, math.Inf(-1), func(p remote.Passage) float64 { return dot(vector, p.Vector) })
}

// Matching implements remote.Backend.
func (m *Memory) Matching(ctx context.Context, terms []remote.WeightedTerm, k int, f engine.Filter) ([]remote.Candidate, error) {
	if err := m.enter(ctx, "Matching"); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, length := 0, 0
	having := make([]int, len(terms))
	for _, ps := range m.docs {
		for _, p := range ps {
			n++
			length += p.Length
			for i, t := range terms {
				if count(p, t.Term) > 0 {
					having[i]++
				}
			}
		}
	}
	return m.scored(k, f, 0, func(p remote.Passage) float64 {
		sum := 0.0
		for i, t := range terms {
			if tf := float64(count(p, t.Term)); tf > 0 {
				idf := math.Log(1 + (float64(n)-float64(having[i])+.5)/(float64(having[i])+.5))
				sum += t.Weight * idf * tf / (tf + 1.2*(1-.75+.75*float64(p.Length)*float64(n)/float64(length)))
			}
		}
		return sum
	})
}

// Having implements remote.Backend.
func (m *Memory) Having(ctx context.Context, terms []string) ([]int, error) {
	if err := m.enter(ctx, "Having"); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := make([]int, len(terms))
	for _, ps := range m.docs {
		for _, p := range ps {
			for i, t := range terms {
				if count(p, t) > 0 {
					n[i]++
				}
			}
		}
	}
	return n, nil
}

// Cosines implements remote.Backend.
func (m *Memory) Cosines(ctx context.Context, vector []float32, ids []remote.PassageID) ([]float64, error) {
	ps, err := m.Fetch(ctx, ids, true)
	cosines := make([]float64, len(ps))
	for i, p := range ps {
		if cosines[i] = math.NaN(); p != nil {
			cosines[i] = dot(vector, p.Vector)
		}
	}
	return cosines, err
}

// Fetch implements remote.Backend.
func (m *Memory) Fetch(ctx context.Context, ids []remote.PassageID, vectors bool) ([]*remote.Passage, error) {
	if err := m.enter(ctx, "Fetch"); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make([]*remote.Passage, len(ids))
	for i, id := range ids {
		if ps := m.docs[id.ID]; id.Chunk < len(ps) {
			p := ps[id.Chunk]
			if !vectors {
				p.Vector, p.Whole, p.Tokens = nil, "", nil
			}
			out[i] = &p
		}
	}
	return out, nil
}

// Documents implements remote.Backend.
func (m *Memory) Documents(ctx context.Context, ids []string) ([][]remote.Passage, error) {
	if err := m.enter(ctx, "Documents"); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make([][]remote.Passage, len(ids))
	for i, id := range ids {
		out[i] = slices.Clone(m.docs[id])
	}
	return out, nil
}

// Count implements remote.Backend.
func (m *Memory) Count(ctx context.Context, f engine.Filter) (n int, err error) {
	for p, err := range m.Scan(ctx, f, remote.ScanOptions{}) {
		if err != nil {
			return 0, err
		}
		if p.Chunk == 0 {
			n++
		}
	}
	return n, nil
}

// Scan implements remote.Backend.
func (m *Memory) Scan(ctx context.Context, f engine.Filter, o remote.ScanOptions) iter.Seq2[remote.Passage, error] {
	return func(yield func(remote.Passage, error) bool) {
		if err := m.enter(ctx, "Scan"); err != nil {
			yield(remote.Passage{}, err)
			return
		}
		m.mu.RLock()
		docs := maps.Clone(m.docs)
		m.mu.RUnlock()
		for i, id := range slices.Sorted(maps.Keys(docs)) {
			if id <= o.After || i%max(o.Parts, 1) != o.Part {
				continue
			}
			met, err := f.Meets(id, docs[id][0].Facts)
			if err = cmp.Or(ctx.Err(), err); err != nil {
				yield(remote.Passage{}, err)
				return
			}
			for _, p := range docs[id] {
				if met && !yield(p, nil) {
					return
				}
			}
		}
	}
}

// Put implements remote.Backend.
func (m *Memory) Put(ctx context.Context, docs [][]remote.Passage, fresh bool) error {
	for _, ps := range docs {
		if err := m.enter(ctx, "Put"); err != nil {
			return err
		}
		m.mu.Lock()
		if _, there := m.docs[ps[0].ID]; there && fresh {
			m.mu.Unlock()
			return fmt.Errorf("memory: document %q: %w", ps[0].ID, engine.ErrExists)
		}
		m.docs[ps[0].ID] = slices.Clone(ps)
		m.writes += uint64(len(ps))
		m.mu.Unlock()
	}
	return nil
}

// Delete implements remote.Backend.
func (m *Memory) Delete(ctx context.Context, ids []string) (n int, err error) {
	if err := m.enter(ctx, "Delete"); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if ps, there := m.docs[id]; there {
			delete(m.docs, id)
			m.writes += uint64(len(ps))
			n++
		}
	}
	return n, nil
}

// Close implements remote.Backend. Memory keeps its data.
func (m *Memory) Close() error { return nil }

func count(p remote.Passage, term string) (n int) {
	for t := range strings.FieldsSeq(p.Terms) {
		if t == term {
			n++
		}
	}
	return n
}

func dot(a, b []float32) (s float64) {
	for i, x := range a {
		s += float64(x) * float64(b[i])
	}
	return s
}
