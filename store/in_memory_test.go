package store

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"
)

// TestInMemory: a store in memory does what a random model does, writes no file and leaves none.
func TestInMemory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{InMemory: true})
	m := &model{docs: map[string]*Document{}, ords: map[string]uint64{}, next: 1, log: map[uint64][]Change{}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 120 {
		switch k := r.IntN(100); {
		case k < 6:
			upTo := m.base + r.Uint64N(m.seq-m.base+1)
			if err := s.Compact(ctx, upTo); err != nil {
				t.Fatal(err)
			}
			m.base = upTo
		case k < 10:
			if err := errors.Join(s.Flush(ctx), s.Reclaim(ctx, nil), s.ForgetTables(0)); err != nil {
				t.Fatal(err)
			}
		case k < 14:
			m.check(t, s)
		default:
			m, _ = batch(t, s, r, m)
		}
	}
	m.check(t, s)
	if got, err := s.Verify(ctx, nil); err != nil || got.Documents != len(m.docs) || len(got.Problems) > 0 {
		t.Errorf("verify %+v %v", got, err)
	}
	if err := s.HandOver(ctx, func() error { return nil }); err == nil {
		t.Error("a store in memory hands over to a folder")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files %v, %v", left, err)
	}
	if _, err := Open(dir, Options{InMemory: true, ReadOnly: true}); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
}

// BenchmarkOpenInMemory opens and closes one.
func BenchmarkOpenInMemory(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		s, err := Open(dir, Options{InMemory: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
