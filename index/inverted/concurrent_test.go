package inverted_test

import (
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// TestConcurrent searches while documents come and go and the index is written
// down and made anew. Documents always have the words that their id says, so an
// answer that mixes two states shows.
func TestConcurrent(t *testing.T) {
	x := newWords(t, inverted.Options{})
	const even, ids = "even", 6000
	doc := func(id uint64) []text.Term {
		if id%2 == 0 {
			return terms(even, "all")
		}
		return terms("odd", "all", "all")
	}
	for id := range uint64(ids) {
		if err := x.Add(id, doc(id)); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var searchers, writers sync.WaitGroup
	for seed := range uint64(2) {
		searchers.Add(1)
		go func() {
			defer searchers.Done()
			r := rand.New(rand.NewPCG(seed, 4))
			scores := make([]float64, 1)
			for {
				select {
				case <-stop:
					return
				default:
				}
				got, err := x.Search(nil, terms(even), 1+r.IntN(50), func(id uint64) bool { return id%3 == 0 })
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
				if err := x.Scores(scores, terms("all"), []uint64{r.Uint64N(ids)}); err != nil {
					t.Error(err)
				}
				if err := x.Match(make([]inverted.Match, 1), terms(even, "all"), []uint64{r.Uint64N(ids)}); err != nil {
					t.Error(err)
				}
				x.UB(terms(even))
			}
		}()
	}
	for seed := range uint64(2) {
		writers.Add(1)
		go func() {
			defer writers.Done()
			r := rand.New(rand.NewPCG(seed, 5))
			for i := range 4000 {
				id := r.Uint64N(ids/2)*2 + seed
				if r.IntN(2) == 0 {
					x.Delete([]uint64{id})
				} else if err := x.Add(id, doc(id)); err != nil {
					t.Error(err)
				}
				if i%2000 == 1999 {
					if _, err := x.WriteTo(io.Discard); err != nil {
						t.Error(err)
					}
				}
			}
		}()
	}
	writers.Wait()
	close(stop)
	searchers.Wait()
}
