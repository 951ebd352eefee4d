package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/index"
)

// TestConcurrentUse runs writers, deleters and searchers side by side. Every
// search must see one committed state: each batch adds a pair of documents
// with the same words, so a search finds both or neither.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{index.KindFlatInt8, index.KindHNSWInt8} {
		t.Run(kind, func(t *testing.T) {
			e := open(t, t.TempDir(), engine.Options{Index: kind, NoSync: true})
			const writers, readers, pairs = 4, 4, 40
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for p := range pairs {
						word := fmt.Sprintf("pair%dx%d", w, p)
						d := []engine.Document{{ID: word + "a", Text: word}, {ID: word + "b", Text: word}}
						if _, err := e.Add(t.Context(), d); err != nil {
							t.Error(err)
							return
						}
						if p%3 == 2 {
							if n, err := e.Delete(t.Context(), []string{word + "a", word + "b"}); n != 2 || err != nil {
								t.Errorf("deleted %d: %v", n, err)
							}
						}
					}
				})
			}
			for r := range readers {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(1, uint64(r)))
					for range 150 {
						word := fmt.Sprintf("pair%dx%d", rng.IntN(writers), rng.IntN(pairs))
						res, err := e.Search(t.Context(), engine.Query{Text: word, K: 50, Ef: 200})
						if err != nil {
							t.Error(err)
							return
						}
						got := ids(res)
						if a, b := slices.Contains(got, word+"a"), slices.Contains(got, word+"b"); a != b {
							t.Errorf("%s: saw half a batch: a %v, b %v", word, a, b)
						}
					}
				})
			}
			wg.Wait()
			want := writers * (pairs - pairs/3) * 2
			if s, err := e.Stats(t.Context()); err != nil || s.Documents != want {
				t.Fatalf("%d documents, want %d (%v)", s.Documents, want, err)
			}
			if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 {
				t.Fatalf("%+v, %v", r, err)
			}
		})
	}
}

// TestCloseDuringUse: calls that run when Close comes finish; later ones get
// ErrClosed.
func TestCloseDuringUse(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	add(t, e, docs(0, 50))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if _, err := e.Search(t.Context(), engine.Query{Text: text(3)}); err != nil {
					if err != engine.ErrClosed {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}
