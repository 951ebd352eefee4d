package inverted_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// TestConcurrent searches values, old and new ones, in memory and on a snapshot,
// while the next ones are made of them. Documents always have the words that
// their id says, so an answer that mixes two values shows.
func TestConcurrent(t *testing.T) {
	const even, ids = "even", 6000
	doc := func(id uint64) []text.Term {
		if id%2 == 0 {
			return terms(even, "all")
		}
		return terms("odd", "all", "all")
	}
	e := newWords(t, inverted.Options{}).Edit()
	for id := range uint64(ids) {
		if err := e.Add(id, doc(id)); err != nil {
			t.Fatal(err)
		}
	}
	var present atomic.Pointer[inverted.Words]
	present.Store(e.Done())
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for seed := range uint64(3) {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 4))
			for {
				select {
				case <-stop:
					return
				default:
				}
				x := present.Load()
				allow := func(id uint64) bool { return id%3 == 0 }
				k := 1 + r.IntN(50)
				var before []inverted.Scored
				for range 3 {
					got, err := x.Search(t.Context(), nil, terms(even), k, allow)
					if err != nil {
						t.Error(err)
						return
					}
					for _, g := range got {
						if g.ID%6 != 0 || !(g.Score > 0) {
							t.Errorf("wrong answer %v", g)
							return
						}
					}
					if before != nil && !slices.Equal(got, before) {
						t.Error("a value answers in two ways")
						return
					}
					before = append(got, inverted.Scored{})[:len(got)]
				}
				scores := make([]float64, 1)
				if err := x.Scores(t.Context(), scores, terms("all"), []uint64{r.Uint64N(ids)}); err != nil {
					t.Error(err)
				}
				if err := x.Match(t.Context(), make([]inverted.Match, 1), terms(even, "all"), []uint64{r.Uint64N(ids)}); err != nil {
					t.Error(err)
				}
				x.UB(terms(even))
				if seed == 0 {
					compacted(t, x)
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 5))
	for i := range 1500 {
		e := present.Load().Edit()
		for range 1 + r.IntN(4) {
			id := r.Uint64N(ids)
			if r.IntN(2) == 0 {
				if _, err := e.Remove([]uint64{id}); err != nil {
					t.Fatal(err)
				}
			} else if err := e.Add(id, append(doc(id), terms("new"+string(rune('a'+i%26)))...)); err != nil {
				t.Fatal(err)
			}
		}
		x := e.Done()
		if i%10 == 0 {
			continue // dropped: the next edit is of the same value
		}
		if i%400 == 399 {
			x = reopened(t, inverted.Options{}, x)
		}
		present.Store(x)
	}
	close(stop)
	readers.Wait()
}
