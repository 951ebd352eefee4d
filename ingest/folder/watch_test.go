package folder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
)

// watching is a Watch that runs.
type watching struct {
	*base
	told   chan told
	wanted atomic.Pointer[string] // id of a document that told is asked for
}

type told struct {
	folder.Report
	err error
	has bool // the wanted document was there
}

func (b *base) watch(o folder.Options) *watching {
	b.Helper()
	w, _ := b.watched(o)
	return w
}

func (b *base) watched(o folder.Options) (*watching, *folder.Folder) {
	b.Helper()
	f, err := folder.Open(b.Context(), b.e, b.dir, o)
	b.ok(err)
	ctx, cancel := context.WithCancel(b.Context())
	w := &watching{base: b, told: make(chan told, 100)}
	ended := make(chan error, 1)
	go func() {
		ended <- f.Watch(ctx, func(r folder.Report, err error) error {
			t := told{Report: r, err: err}
			if id := w.wanted.Load(); id != nil {
				_, missing := b.e.Get(ctx, *id)
				t.has = missing == nil
			}
			w.told <- t
			return nil
		})
	}()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			b.Errorf("Watch ended with %v", err)
		}
	})
	return w, f
}

// until waits until the database holds some ids, and returns the sum of what was told.
func (w *watching) until(ids string) (sum told) {
	w.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case t := <-w.told:
			if t.err != nil {
				w.Fatal(t.err)
			}
			sum.Read += t.Read
			sum.Added += t.Added
			sum.Removed += t.Removed
			sum.Failed = append(sum.Failed, t.Failed...)
		case <-deadline:
			w.Fatalf("the database holds %q, want %q", w.ids(engine.Filter{}), ids)
		}
		if w.ids(engine.Filter{}) == ids {
			return sum
		}
	}
}

func TestWatch(t *testing.T) {
	for _, poll := range []time.Duration{0, 50 * time.Millisecond} {
		t.Run(poll.String(), func(t *testing.T) {
			b := newBase(t)
			b.write(map[string]string{"a.txt": "apples", "sub/b.txt": "bees", "sub/deep/c.txt": "cats"})
			w := b.watch(folder.Options{Poll: poll})
			w.until("a.txt sub/b.txt sub/deep/c.txt")

			// A change is taken over without a look at the other files.
			b.write(map[string]string{"d.txt": "dogs"})
			if got := w.until("a.txt d.txt sub/b.txt sub/deep/c.txt"); got.Read != 1 {
				t.Errorf("%d files were read for one", got.Read)
			}
			// New folders are followed, and those below them.
			b.write(map[string]string{"new/er/e.txt": "eels"})
			w.until("a.txt d.txt new/er/e.txt sub/b.txt sub/deep/c.txt")
			b.write(map[string]string{"new/er/f.txt": "foxes"})
			w.until("a.txt d.txt new/er/e.txt new/er/f.txt sub/b.txt sub/deep/c.txt")
			// A folder with another name keeps being followed.
			b.ok(os.Rename(filepath.Join(b.dir, "sub"), filepath.Join(b.dir, "x")))
			w.until("a.txt d.txt new/er/e.txt new/er/f.txt x/b.txt x/deep/c.txt")
			b.write(map[string]string{"x/deep/g.txt": "goats"})
			w.until("a.txt d.txt new/er/e.txt new/er/f.txt x/b.txt x/deep/c.txt x/deep/g.txt")
			b.remove("x")
			b.remove("d.txt")
			w.until("a.txt new/er/e.txt new/er/f.txt")
			// Ignore files count from when they are written.
			b.write(map[string]string{".gitignore": "er\n"})
			w.until("a.txt")
			// What is bad is told once.
			b.write(map[string]string{"bad.jsonl": "!", "h.txt": "hens"})
			got := w.until("a.txt h.txt")
			b.write(map[string]string{"i.txt": "ibis"})
			again := w.until("a.txt h.txt i.txt")
			if n := len(got.Failed) + len(again.Failed); n != 1 {
				t.Errorf("failures told: %v, then %v; want bad.jsonl once", got.Failed, again.Failed)
			}
			// Once mended, it is told when it is bad again.
			b.write(map[string]string{"bad.jsonl": `{"_id":"bad","text":"bats"}`})
			w.until("a.txt bad h.txt i.txt")
			b.write(map[string]string{"bad.jsonl": "!"}) // before j.txt, which ends the wait
			b.write(map[string]string{"j.txt": "jays"})
			if got := w.until("a.txt bad h.txt i.txt j.txt"); len(got.Failed) != 1 {
				t.Errorf("failures told: %v; want bad.jsonl again", got.Failed)
			}
		})
	}
}

// TestWatchVanished: a root that goes away removes nothing, and is followed when it is back.
func TestWatchVanished(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"a.txt": "apples"})
	w := b.watch(folder.Options{Poll: 50 * time.Millisecond})
	w.until("a.txt")
	b.ok(os.Rename(b.dir, b.dir+".away"))
	select {
	case got := <-w.told:
		if !errors.Is(got.err, folder.ErrVanished) || !strings.Contains(got.err.Error(), b.dir) {
			t.Fatalf("told %v", got.err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was told")
	}
	b.holds("a.txt")
	b.ok(os.Rename(b.dir+".away", b.dir))
	b.write(map[string]string{"b.txt": "bees"})
	w.until("a.txt b.txt")
}

// TestCatchUp: what has changed before CatchUp is stored when it returns, without the pauses of Watch, also in folders that
// are new; it waits for nothing where nothing has changed, where no Watch runs, and beyond its context.
func TestCatchUp(t *testing.T) {
	for _, poll := range []time.Duration{0, time.Hour} {
		t.Run(poll.String(), func(t *testing.T) {
			b := newBase(t)
			b.write(map[string]string{"a.txt": "apples"})
			idle, err := folder.Open(t.Context(), b.e, b.dir, folder.Options{})
			b.ok(err)
			idle.CatchUp(t.Context())
			w, f := b.watched(folder.Options{Poll: poll})
			w.until("a.txt")
			f.CatchUp(t.Context())
			want, quickest := "a.txt", time.Hour // of a round: others may have the machine in the rest
			for i := range 10 {
				begin := time.Now()
				name := fmt.Sprintf("n%d/x.txt", i)
				b.write(map[string]string{name: fmt.Sprintf("ants %d", i)})
				f.CatchUp(t.Context())
				if want += " " + name; b.ids(engine.Filter{}) != want {
					if poll > 0 && i > 0 {
						t.Fatalf("after CatchUp the database holds %q, want %q", b.ids(engine.Filter{}), want)
					}
					for b.ids(engine.Filter{}) != want { // the system had not told yet, or Watch did not listen yet
						if time.Since(begin) > 20*time.Second {
							t.Fatalf("after CatchUp the database holds %q, want %q", b.ids(engine.Filter{}), want)
						}
						time.Sleep(50 * time.Millisecond)
						f.CatchUp(t.Context())
					}
				}
				quickest = min(quickest, time.Since(begin))
			}
			if quickest > 190*time.Millisecond {
				t.Errorf("each change took %v or longer: they waited for the pauses of Watch", quickest)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			f.CatchUp(ctx)
		})
	}
}
