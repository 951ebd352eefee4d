package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// soakWorker owns the documents whose number modulo the number of workers is its own. No
// other worker writes them, so it knows their content.
type soakWorker struct {
	s       *soak
	rng     *rand.Rand
	corpus  *lifeCorpus
	queries []engine.Query

	mu                            sync.Mutex
	texts                         map[int]uint64 // sums of the texts of its documents; none of a deleted one
	all                           []int          // its numbers
	gone                          []int          // those of documents that it has deleted
	done                          int            // operations since the last sample
	took                          []time.Duration
	reads, writes, deletes, wrong int
	first                         string
}

// operate does one operation.
func (x *soakWorker) operate(ctx context.Context) error {
	n := x.all[x.rng.IntN(len(x.all))]
	switch p := x.rng.IntN(100); {
	case p >= 70 && p < 80 && len(x.gone) > 0:
		return x.store(ctx, x.gone[x.rng.IntN(len(x.gone))])
	case p < 20:
		return x.get(ctx, n)
	case p < 70:
		return x.search(ctx)
	case p < 90:
		return x.store(ctx, n)
	default:
		return x.remove(ctx, n)
	}
}

func (x *soakWorker) count(kind *int, op func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	*kind++
	x.done++
	op()
}

func (x *soakWorker) found(format string, args ...any) {
	x.wrong++
	if x.first == "" {
		x.first = fmt.Sprintf(format, args...)
	}
}

func (x *soakWorker) get(ctx context.Context, n int) error {
	d, err := x.s.e.Get(ctx, lifeID(n))
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	x.count(&x.reads, func() {
		if want, live := x.texts[n]; live != (err == nil) || live && x.s.sum(d.Text) != want {
			x.found("document %d: there %v, want %v, or its text is another", n, err == nil, live)
		}
	})
	return nil
}

// search uses all modes in turn. Documents of this worker among the hits must exist and
// have the text that it stored last, and a page must be full.
func (x *soakWorker) search(ctx context.Context) error {
	q := lifeModes[x.rng.IntN(len(lifeModes))].of(x.queries[x.rng.IntN(len(x.queries))])
	start := time.Now()
	got, err := x.s.e.Search(ctx, q)
	if err != nil {
		return err
	}
	took := time.Since(start)
	x.count(&x.reads, func() {
		x.took = append(x.took, took)
		if q.Mode != engine.ModeLexical && len(got.Hits) != 10 {
			x.found("%d hits of %q, want 10", len(got.Hits), q.Text)
		}
		for _, h := range got.Hits {
			var n int
			if _, err := fmt.Sscanf(h.ID, "doc%d", &n); err != nil {
				x.found("a hit %q", h.ID)
			} else if want, live := x.texts[n]; n%len(x.s.workers) == x.all[0] && (!live || x.s.sum(h.Text) != want) {
				x.found("hit %s: there %v, or its text is another", h.ID, live)
			}
		}
	})
	return nil
}

func (x *soakWorker) store(ctx context.Context, n int) error {
	docs := x.corpus.again(n, 1)
	if _, err := x.s.e.Upsert(ctx, docs); err != nil {
		return err
	}
	x.count(&x.writes, func() {
		x.texts[n] = x.s.sum(docs[0].Text)
		if i := slices.Index(x.gone, n); i >= 0 {
			x.gone = slices.Delete(x.gone, i, i+1)
		}
	})
	return nil
}

func (x *soakWorker) remove(ctx context.Context, n int) error {
	gone, err := x.s.e.Delete(ctx, []string{lifeID(n)})
	if err != nil {
		return err
	}
	x.count(&x.deletes, func() {
		if _, live := x.texts[n]; live != (gone == 1) {
			x.found("deleting document %d: %d were there, want %v", n, gone, live)
		} else if live {
			x.gone = append(x.gone, n)
		}
		delete(x.texts, n)
	})
	return nil
}
