package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// lifeDeadlines are the time limits tried for each call.
var lifeDeadlines = []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond}

// deadlines runs every call into a deadline. Commits are not synced, as the final sync
// may take longer.
func (b *life) deadlines(ctx context.Context) error {
	group, err := filter.Parse(`group = "g7"`)
	if err != nil {
		return err
	}
	return b.with(ctx, b.main, engine.Options{NoSync: true}, func(e *engine.Engine, _ string) error {
		if err := b.warm(ctx, e); err != nil {
			return err
		}
		q, round := b.queries[0], 0
		find := func(mode int, shape func(q *engine.Query)) func(context.Context) error {
			return func(ctx context.Context) error {
				q := lifeModes[mode].of(b.queries[round%len(b.queries)])
				if shape != nil {
					shape(&q)
				}
				_, err := e.Search(ctx, q)
				return err
			}
		}
		many := func(q *engine.Query) { q.K = engine.MaxK }
		var docs []engine.Document // made before the clock starts
		calls := []struct {
			name string
			make func() error
			call func(context.Context) error
		}{
			{"search dense", nil, find(0, nil)},
			{"search hybrid", nil, find(1, nil)},
			{"search vector", nil, find(2, nil)},
			{"search lexical", nil, find(3, nil)},
			{"search dense k=10000", nil, find(0, many)},
			{"search hybrid k=10000", nil, find(1, many)},
			{"search vector k=10000", nil, find(2, many)},
			{"search lexical k=10000", nil, find(3, many)},
			{"search filter", nil, find(1, func(q *engine.Query) { q.Filter, q.K = group, engine.MaxK })},
			{"search chunks", nil, find(1, func(q *engine.Query) { q.PerChunk, q.K = true, engine.MaxK })},
			{"search local", nil, find(0, func(q *engine.Query) { q.Variant, q.K = engine.VariantLocal, engine.MaxK })},
			{"search after upsert", func() error {
				_, err := e.Upsert(ctx, b.corpus.again(round%b.o.Docs, 10))
				return err
			}, find(1, nil)},
			{"explain", nil, func(ctx context.Context) error { _, err := e.Explain(ctx, q, lifeID(round%b.o.Docs)); return err }},
			{"vector", nil, func(ctx context.Context) error {
				_, _, err := e.Vector(ctx, engine.Query{Text: q.Text, Vector: q.Vector, Variant: "rlr"})
				return err
			}},
			{"get", nil, func(ctx context.Context) error { _, err := e.Get(ctx, lifeID(round%b.o.Docs)); return err }},
			{"stats", nil, func(ctx context.Context) error { _, err := e.Stats(ctx); return err }},
			{"verify", nil, func(ctx context.Context) error { _, err := e.Verify(ctx, nil); return err }},
			{"add", func() error { docs = b.corpus.fresh(b.o.sizes.bulk); return nil },
				func(ctx context.Context) error { _, err := e.Add(ctx, docs); return err }},
			{"upsert", func() error { docs = b.corpus.again(0, min(1000, b.o.Docs)); return nil },
				func(ctx context.Context) error { _, err := e.Upsert(ctx, docs); return err }},
			{"delete", func() error {
				docs = b.corpus.fresh(b.o.sizes.bulk)
				_, err := e.Add(ctx, docs)
				return err
			}, func(ctx context.Context) error { _, err := e.Delete(ctx, lifeIDs(docs)); return err }},
			{"delete where", nil, func(ctx context.Context) error {
				f, err := filter.Parse(fmt.Sprintf(`group = "g%d"`, 10+round%80))
				if err == nil {
					_, err = e.DeleteWhere(ctx, f)
				}
				return err
			}},
			{"fit", nil, func(ctx context.Context) error {
				_, err := e.Fit(ctx, engine.FitOptions{QueriesPerPassage: 1, MaxQueries: b.o.sizes.fit, Epochs: 1})
				return err
			}},
			{"search collapse", nil, find(0, func(q *engine.Query) { q.Collapse, q.K = true, min(engine.MaxK, b.o.Docs) })},
		}
		for _, c := range calls {
			var most time.Duration
			for _, deadline := range lifeDeadlines {
				over, err := b.overrun(ctx, deadline, c.make, c.call, &round)
				if err != nil {
					return fmt.Errorf("%s with a deadline of %v: %w", c.name, deadline, err)
				}
				if most = max(most, over); most > time.Second {
					break // the next deadline would take as long
				}
			}
			b.r.Overruns[c.name] = ms(most)
			if x := ms(most); b.r.Overrun == nil || x > *b.r.Overrun {
				b.r.Overrun = &x
			}
		}
		return nil
	})
}

// overrun measures how long after its deadline a call returns: the smallest of Rounds
// tries, since other processes may delay a try. If a try is more than a tenth of a second
// late, no further try is made.
func (b *life) overrun(ctx context.Context, deadline time.Duration, ready func() error, call func(context.Context) error, round *int) (least time.Duration, err error) {
	for try := range b.o.Rounds {
		*round++
		if ready != nil {
			if err := ready(); err != nil {
				return 0, err
			}
		}
		limited, cancel := context.WithTimeout(ctx, deadline)
		start := time.Now()
		err := call(limited)
		over := max(0, time.Since(start)-deadline)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, engine.ErrNotFound) {
			return 0, err
		}
		if try == 0 || over < least {
			least = over
		}
		if least == 0 || over > 100*time.Millisecond {
			break
		}
	}
	return least, nil
}

// lifeHang is the time, one minute, after which work that blocks Close is ended.
const lifeHang = time.Minute

// closes times Close: the shortest of Rounds attempts.
func (b *life) closes(ctx context.Context) error {
	least := func(name string, took time.Duration) {
		if x := took.Seconds(); b.r.Close[name] == nil || x < *b.r.Close[name] {
			b.r.Close[name] = &x
		}
	}
	closing := func(e *engine.Engine) (time.Duration, error) {
		start := time.Now()
		err := e.Close()
		return time.Since(start), err
	}
	docs := b.corpus.fresh(b.o.sizes.add)
	for range b.o.Rounds {
		err := b.onMain(ctx, func(e *engine.Engine) error {
			if err := rest(ctx, b.o.sizes.moment); err != nil {
				return err
			}
			took, err := closing(e)
			least("idle", took)
			return err
		})
		if err != nil {
			return err
		}
		for name, work := range map[string]func(ctx context.Context, e *engine.Engine, begun func()) error{
			"during_add": func(ctx context.Context, e *engine.Engine, begun func()) error {
				time.AfterFunc(b.o.sizes.moment, begun)
				_, err := e.Add(ctx, docs)
				return err
			},
			"during_fit": func(ctx context.Context, e *engine.Engine, begun func()) error {
				_, err := e.Fit(ctx, engine.FitOptions{MaxQueries: b.o.sizes.closeFit, Progress: func(engine.Progress) { begun() }})
				return err
			},
		} {
			err := b.onMain(ctx, func(e *engine.Engine) error {
				limited, cancel := context.WithCancel(ctx)
				defer cancel()
				begun, ended := make(chan struct{}), make(chan error, 1)
				go func() {
					err := work(limited, e, sync.OnceFunc(func() { close(begun) }))
					ended <- err
				}()
				select {
				case <-begun:
				case err := <-ended:
					return fmt.Errorf("%s was over before it could be met: %v", name, err)
				}
				hang := time.AfterFunc(lifeHang, cancel)
				took, err := closing(e)
				hang.Stop()
				least(name, took)
				if was := <-ended; was != nil && !errors.Is(was, engine.ErrClosed) && !errors.Is(was, context.Canceled) {
					err = errors.Join(err, was)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// collapse measures the merging of near-duplicates. Texts of about 120 words differ from
// one text in up to eight words, so some are merged and some nearly.
func (b *life) collapse(ctx context.Context) (err error) {
	e, err := b.create(ctx, filepath.Join(b.dir, "alike"), engine.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	words := strings.Fields(b.corpus.text(lifeLength))
	docs := b.corpus.fresh(b.o.sizes.alike)
	for i := range docs {
		own := append([]string(nil), words...)
		for range b.corpus.rng.IntN(9) {
			own[b.corpus.rng.IntN(len(own))] = lifeWord(b.corpus.rng.IntN(lifeWords))
		}
		docs[i].Text = strings.Join(own, " ")
	}
	if _, err := e.Add(ctx, docs); err != nil {
		return err
	}
	q := b.queries[0]
	q.Mode, q.Variant = engine.ModeDense, engine.VariantNone
	if _, err := e.Search(ctx, q); err != nil {
		return err
	}
	if err := rest(ctx, b.o.sizes.moment); err != nil {
		return err
	}
	q.K, q.Collapse = engine.MaxK, true
	start := time.Now()
	r, err := e.Search(ctx, q)
	if err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	found := len(r.Hits)
	for _, h := range r.Hits {
		found += len(h.Duplicates)
	}
	if found != len(docs) {
		return fmt.Errorf("%d of %d near-duplicates were found or folded", found, len(docs))
	}
	b.r.Collapse = &took
	return nil
}
