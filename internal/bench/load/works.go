package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/process"
)

// lifeMode is a way to search.
type lifeMode struct {
	name string
	of   func(q engine.Query) engine.Query
}

var lifeModes = []lifeMode{
	{"dense", func(q engine.Query) engine.Query { q.Mode = engine.ModeDense; return q }},
	{"hybrid", func(q engine.Query) engine.Query { return q }},
	{"vector", func(q engine.Query) engine.Query { q.Text = ""; return q }},
	{"lexical", func(q engine.Query) engine.Query { q.Mode, q.Vector = engine.ModeLexical, nil; return q }},
}

// search times searches at rest.
func (b *life) search(ctx context.Context) error {
	return b.onMain(ctx, func(e *engine.Engine) error {
		if err := b.caughtUp(ctx, e); err != nil {
			return err
		}
		var both []time.Duration
		for _, mode := range lifeModes {
			var took []time.Duration
			m, used := b.mode(mode.name), process.CPUTime()
			for i := range 2 * len(b.queries) {
				q := mode.of(b.queries[i%len(b.queries)])
				start := time.Now()
				r, err := e.Search(ctx, q)
				if err != nil {
					return err
				}
				took = append(took, time.Since(start))
				m.Variant = r.Trace.Variant
			}
			m.CPU = ms(process.CPUTime()-used) / float64(len(took))
			m.P50, m.P99 = ms(middle(took)), ms(quantileOf(took, 0.99))
			if mode.name == "dense" || mode.name == "hybrid" {
				both = append(both, took...)
			}
		}
		p50, p99 := ms(middle(both)), ms(quantileOf(both, 0.99))
		b.r.P50, b.r.P99 = &p50, &p99
		return nil
	})
}

func (b *life) mode(name string) *mode {
	if b.r.Modes[name] == nil {
		b.r.Modes[name] = &mode{AfterUpsert: map[string]*float64{"1": nil, "10": nil, "1000": nil}}
	}
	return b.r.Modes[name]
}

// upsert times the first search after a commit that replaces documents.
func (b *life) upsert(ctx context.Context) error {
	return b.onMain(ctx, func(e *engine.Engine) error {
		for _, size := range []string{"1", "10", "1000"} {
			n, err := strconv.Atoi(size)
			if err != nil {
				return err
			}
			n = min(n, b.o.Docs)
			for _, mode := range lifeModes {
				var took []time.Duration
				for i := range 5 {
					docs := b.corpus.again(i*n%(b.o.Docs-n+1), n)
					if err := rest(ctx, b.o.sizes.moment); err != nil {
						return err
					}
					if _, err := e.Upsert(ctx, docs); err != nil {
						return err
					}
					start := time.Now()
					if _, err := e.Search(ctx, mode.of(b.queries[i])); err != nil {
						return err
					}
					took = append(took, time.Since(start))
				}
				x := ms(middle(took))
				b.mode(mode.name).AfterUpsert[size] = &x
				if most := b.r.AfterUpsert[size]; (mode.name == "dense" || mode.name == "hybrid") && (most == nil || x > *most) {
					b.r.AfterUpsert[size] = &x
				}
			}
		}
		return nil
	})
}

// adds runs the parts add and delete: streams of small commits, one commit of 5,000
// documents, and its delete.
func (b *life) adds(ctx context.Context) error {
	return b.onMain(ctx, func(e *engine.Engine) error {
		for range b.o.Rounds {
			for _, size := range []int{1, 10} {
				if !b.wants("add") {
					break
				}
				docs, used := b.corpus.fresh(2000), 0
				err := b.stall(ctx, e, fmt.Sprint("add_", size), "", b.lingering(func() error {
					for until := time.Now().Add(b.o.sizes.stream); time.Now().Before(until) && used < len(docs); used += size {
						if _, err := e.Add(ctx, docs[used:used+size]); err != nil {
							return err
						}
					}
					return nil
				}))
				if err != nil {
					return err
				}
				if _, err := e.Delete(ctx, lifeIDs(docs[:used])); err != nil {
					return err
				}
			}
			docs := b.corpus.fresh(b.o.sizes.bulk)
			bulk := func() error { _, err := e.Add(ctx, docs); return err }
			if !b.wants("add") {
				if err := bulk(); err != nil {
					return err
				}
			} else if err := b.stall(ctx, e, "add_5000", "", b.lingering(bulk)); err != nil {
				return err
			}
			gone := func() error {
				n, err := e.Delete(ctx, lifeIDs(docs))
				if err == nil && n != len(docs) {
					err = fmt.Errorf("%d of %d documents were there to delete", n, len(docs))
				}
				return err
			}
			if !b.wants("delete") {
				if err := gone(); err != nil {
					return err
				}
			} else if err := b.stall(ctx, e, "delete_5000", "", b.lingering(gone)); err != nil {
				return err
			}
		}
		return nil
	})
}

// fits searches during fits.
func (b *life) fits(ctx context.Context) error {
	return b.onMain(ctx, func(e *engine.Engine) error {
		for round := range b.o.Rounds {
			err := b.stall(ctx, e, "fit", "", b.lingering(func() error {
				_, err := e.Fit(ctx, engine.FitOptions{
					Seed: b.o.Seed + uint64(round), QueriesPerPassage: 1, MaxQueries: b.o.sizes.fit, Epochs: 1,
				})
				return err
			}))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// graph searches during the commit after which the exact index is too small and the graph
// is built. Texts are short, as words do not matter here.
func (b *life) graph(ctx context.Context) error {
	dir := filepath.Join(b.dir, "graph")
	defer os.RemoveAll(dir)
	e, err := b.create(ctx, dir, engine.Options{})
	if err != nil {
		return err
	}
	for at := 0; at < b.o.sizes.graph && err == nil; at += 1000 {
		_, err = e.Add(ctx, b.corpus.texts(min(1000, b.o.sizes.graph-at), 8, at))
	}
	if err := errors.Join(err, e.Close()); err != nil {
		return err
	}
	for range b.o.Rounds {
		err := b.with(ctx, dir, engine.Options{}, func(e *engine.Engine, _ string) error {
			if err := b.warm(ctx, e); err != nil {
				return err
			}
			return b.stall(ctx, e, "graph", "", b.lingering(func() error {
				if _, err := e.Upsert(ctx, b.corpus.texts(1, 8, b.o.sizes.graph)); err != nil {
					return err
				}
				for until := time.Now().Add(15 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
					s, err := e.Stats(ctx)
					if err != nil || strings.HasPrefix(s.Index, "hnsw") && s.Maintenance.Task == "" {
						return err
					}
					if time.Now().After(until) {
						return fmt.Errorf("no graph after 15 minutes with %d documents", s.Documents)
					}
				}
			}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cellPassages is the size of cells that local bridges aim at.
const cellPassages = 250

// repartition searches with local bridges while their cells are rebuilt: the cells were
// made for the documents of one commit, and the corpus has since grown by half.
func (b *life) repartition(ctx context.Context) error {
	dir := filepath.Join(b.dir, "cells")
	defer os.RemoveAll(dir)
	cells := max(1, b.o.Docs*2/3/cellPassages)
	begin, grown := cells*cellPassages, (cells+cells/2)*cellPassages
	e, err := b.create(ctx, dir, engine.Options{})
	if err != nil {
		return err
	}
	local := func(e *engine.Engine) error {
		q := b.queries[0]
		q.Mode, q.Variant = engine.ModeDense, engine.VariantLocal
		_, err := e.Search(ctx, q)
		return err
	}
	_, err = e.Add(ctx, b.corpus.fresh(begin))
	if err == nil {
		err = local(e)
	}
	if err == nil {
		err = rest(ctx, b.o.sizes.moment) // cells may be made after that search
	}
	if err == nil {
		_, _, err = b.fill(ctx, e, grown-begin)
	}
	if err := errors.Join(err, e.Close()); err != nil {
		return err
	}
	for range b.o.Rounds {
		docs := b.corpus.fresh(2 * cellPassages)
		err := b.with(ctx, dir, engine.Options{}, func(e *engine.Engine, _ string) error {
			if err := local(e); err != nil {
				return err
			}
			return b.stall(ctx, e, "repartition", engine.VariantLocal, b.lingering(func() error {
				for at := 0; at < len(docs); at += 10 {
					if _, err := e.Add(ctx, docs[at:at+10]); err != nil {
						return err
					}
				}
				return nil
			}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// snapshot searches while derived state is saved. Documents are replaced until the files
// show a save, or until five quarters of the changes that should cause one are made.
func (b *life) snapshot(ctx context.Context) error {
	changes := max(b.o.sizes.changes, b.o.Docs/4) * 5 / 4
	for range b.o.Rounds {
		err := b.with(ctx, b.main, engine.Options{}, func(e *engine.Engine, dir string) error {
			if err := b.warm(ctx, e); err != nil {
				return err
			}
			return b.stall(ctx, e, "snapshot", "", func() (span, error) {
				w := watch(filepath.Join(dir, "derived"))
				step := min(500, b.o.Docs)
				for done := 0; done < changes; done += step {
					if _, err := e.Upsert(ctx, b.corpus.again(done%(b.o.Docs-step+1), step)); err != nil {
						_, endErr := w.end()
						return span{}, errors.Join(err, endErr)
					}
					if w.changed.Load() {
						break
					}
				}
				time.Sleep(b.o.sizes.linger)
				return w.end()
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// watcher looks at the files of a folder every few milliseconds.
type watcher struct {
	dir     string
	changed atomic.Bool
	stop    chan struct{}
	done    chan struct{}
	span    span
	err     error
}

func watch(dir string) *watcher {
	w := &watcher{dir: dir, stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *watcher) run() {
	defer close(w.done)
	last, at := w.files(), time.Now()
	for w.err == nil {
		select {
		case <-w.stop:
			return
		case <-time.After(3 * time.Millisecond):
		}
		now := w.files()
		if now != last {
			if !w.changed.Swap(true) {
				w.span.from = at
			}
			w.span.to = time.Now()
		}
		last, at = now, time.Now()
	}
}

// files lists the names, sizes and times of the files.
func (w *watcher) files() string {
	var b strings.Builder
	entries, err := os.ReadDir(w.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.err = err
	}
	for _, f := range entries {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // renamed meanwhile
		}
		if err != nil {
			w.err = err
			break
		}
		fmt.Fprintln(&b, f.Name(), info.Size(), info.ModTime().UnixNano())
	}
	return b.String()
}

// end returns the time from before the first change to after the last. Its length is 0 if
// nothing changed.
func (w *watcher) end() (span, error) {
	close(w.stop)
	<-w.done
	return w.span, w.err
}
