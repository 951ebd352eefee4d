package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
)

// small is a database of n documents with the words of numbers.
func small(t *testing.T, dir string, n int, o Options) *Engine {
	t.Helper()
	if o.MemoryMiB == 0 {
		o.MemoryMiB = leastStoreMiB
	}
	e, err := Open(t.Context(), dir, encoder.NewHash(32), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if n > 0 {
		numbers(t, e, 0, n)
	}
	return e
}

func number(i int) string { return fmt.Sprintf("the document number n%d of all", i) }

func numbers(t *testing.T, e *Engine, lo, hi int) {
	t.Helper()
	var docs []Document
	for i := lo; i < hi; i++ {
		docs = append(docs, Document{ID: fmt.Sprint(i), Text: number(i)})
	}
	if _, err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// TestOpeningIsCancelled: an Open that has to rebuild derived state returns the
// error of its context, and the database opens afterwards.
func TestOpeningIsCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := small(t, dir, 20, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "derived")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, dir, encoder.NewHash(32), Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	small(t, dir, 0, Options{})
}

// damaged makes the engine believe that a search has met some damage, and waits for
// the repair.
func damaged(t *testing.T, e *Engine, what error) {
	t.Helper()
	err := fmt.Errorf("for a test: %w", what)
	if e.db.Repair(&err); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRepair makes each part anew while local bridges are there. Nothing is counted
// twice, and the local bridges go on following the commits.
func TestRepair(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]error{
		"vectors": index.ErrCorrupt, "words": inverted.ErrCorrupt, "metadata": columns.ErrCorrupt,
		"sums": modulate.ErrCorrupt, "all": snapshot.ErrDamaged,
	} {
		t.Run(name, func(t *testing.T) {
			e := small(t, t.TempDir(), 30, Options{Local: true})
			if err := e.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			damaged(t, e, what)
			s := e.db.Present()
			if s.Local == nil || len(s.Fresh) > 0 || s.Chunks() != 30 {
				t.Fatalf("%d chunks, %d that the local bridges lack, local bridges %v", s.Chunks(), len(s.Fresh), s.Local != nil)
			}
			numbers(t, e, 20, 40)
			if err := e.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s = e.db.Present(); s.Local.Len() != 40 || len(s.Fresh) > 0 || s.Chunks() != 40 || s.Vectors.Len() != 40 {
				t.Fatalf("local bridges of %d, %d that they lack, %d chunks, %d vectors", s.Local.Len(), len(s.Fresh), s.Chunks(), s.Vectors.Len())
			}
			for _, i := range []int{3, 25, 39} {
				r, err := e.Search(t.Context(), Query{Text: number(i), Mode: ModeDense, Variant: VariantLocal, K: 1})
				if err != nil || r.Hits[0].ID != fmt.Sprint(i) {
					t.Fatalf("%d: %+v, %v", i, r.Hits, err)
				}
			}
			if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
				t.Fatalf("%+v, %v", v, err)
			}
		})
	}
}

// TestClosingWithStrays: vectors of deleted documents that no maintainer has taken out
// yet are saved with the index. The next opening takes them out, and uses the rest.
func TestClosingWithStrays(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{index.KindFlatInt8, index.KindHNSWInt8} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			e := small(t, dir, 40, Options{Index: kind})
			e.db.Stop()
			if n, err := e.Delete(t.Context(), []string{"3", "4", "5"}); n != 3 || err != nil {
				t.Fatal(n, err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			e = small(t, dir, 0, Options{Index: kind, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if log.Len() > 0 || e.db.Present().Vectors.Len() != 37 {
				t.Fatalf("%d vectors: %s", e.db.Present().Vectors.Len(), &log)
			}
		})
	}
}

// TestClosingUnchanged: a database that was only searched is not written again.
func TestClosingUnchanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := small(t, dir, 40, Options{})
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	written := func() (at []time.Time) {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "derived", "*.snap"))
		if err != nil || len(files) != 5 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			i, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, i.ModTime())
		}
		return at
	}
	before := written()
	e = small(t, dir, 0, Options{})
	if _, err := e.Search(t.Context(), Query{Text: number(1)}); err != nil {
		t.Fatal(err)
	}
	if after := written(); !slices.Equal(before, after) {
		t.Errorf("written at %v, and again at %v", before, after)
	}
}

// TestFactorIsKept: a factor that was made in the background is there at the next
// opening.
func TestFactorIsKept(t *testing.T) {
	t.Parallel()
	dir, enc := t.TempDir(), encoder.NewHash(128)
	stale := func(e *Engine) int { n, _ := e.db.Present().Sums.Staleness(); return n }
	opened := func() *Engine {
		e, err := Open(t.Context(), dir, enc, Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := opened()
	e.db.Stop() // before it makes a factor
	numbers(t, e, 0, 3000)
	if stale(e) == 0 {
		t.Fatal("so many documents need no factor: the test shows nothing")
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = opened()
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = opened()
	defer e.Close()
	e.db.Stop()
	if n := stale(e); n != 0 {
		t.Errorf("%d documents are beyond the factor", n)
	}
}

// TestDamagedVectors: of a vector that is damaged in its snapshot every kind of call
// says so by ErrCorrupt, and its repair is begun by whichever meets it.
func TestDamagedVectors(t *testing.T) {
	t.Parallel()
	search := func(q Query) func(*Engine) error {
		return func(e *Engine) error { _, err := e.Search(t.Context(), q); return err }
	}
	text, sound := number(1000), t.TempDir()
	e := small(t, sound, 2000, Options{}) // more than one block of a snapshot
	e.db.WantLocal()
	flushed(t, e)
	d, err := e.Get(t.Context(), "1000")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	for name, call := range map[string]func(*Engine) error{
		"dense":        search(Query{Text: text, Mode: ModeDense, Variant: VariantNone}),
		"closed form":  search(Query{Text: text, Mode: ModeDense, Variant: "rlr"}),
		"local":        search(Query{Text: text, Mode: ModeDense, Variant: VariantLocal}),
		"local hybrid": search(Query{Text: text, Variant: VariantLocal}),
		"hybrid":       search(Query{Text: text}),
		"fit":          func(e *Engine) error { _, err := e.Fit(t.Context(), FitOptions{Epochs: 1}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "derived", "flat-int8.snap")
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var row []byte
			for _, x := range d.Vector {
				row = binary.LittleEndian.AppendUint32(row, math.Float32bits(x))
			}
			at := bytes.Index(raw, row)
			if at < 0 {
				t.Fatal("the vector is not in the snapshot")
			}
			raw[at] ^= 1
			if err := os.WriteFile(path, raw, 0o644); err != nil {
				t.Fatal(err)
			}
			e := small(t, dir, 0, Options{})
			met := call(e)
			if met != nil && !errors.Is(met, ErrCorrupt) {
				t.Fatal(met)
			}
			for tries := 0; ; tries++ {
				err := e.Flush(t.Context())
				if err == nil {
					if err = call(e); err == nil {
						break
					}
				}
				if tries == 3 {
					t.Fatalf("first %v, still %v", met, err)
				}
			}
			if v, err := e.Verify(t.Context(), nil); met != nil && (err != nil || len(v.Problems) > 0) {
				t.Fatalf("%+v, %v", v, err)
			}
		})
	}
}

// TestDamageMetByAdd: damage that an Add meets is an ErrCorrupt and is repaired, so that
// the next one succeeds.
func TestDamageMetByAdd(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"words", "sums", "columns", "flat-int8", "local"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			e := small(t, dir, 2000, Options{Local: true})
			if err := e.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "derived", kind+".snap")
			e = small(t, dir, 0, Options{Local: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
			if err := os.Truncate(path, 4096); err != nil { // under the mapping
				t.Fatal(err)
			}
			upsert := func() error {
				_, err := e.Upsert(t.Context(), []Document{{ID: "3", Text: number(3)}, {ID: "new", Text: number(77)}})
				return err
			}
			for tries := 0; ; tries++ {
				err := upsert()
				if err == nil {
					break
				}
				if !errors.Is(err, ErrCorrupt) || tries == 3 {
					t.Fatalf("try %d: %v", tries, err)
				}
				if err := e.Flush(t.Context()); err != nil && !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
			}
			for tries := 0; ; tries++ {
				err := e.Flush(t.Context())
				if err == nil {
					break
				}
				if !errors.Is(err, ErrCorrupt) || tries == 3 {
					t.Fatalf("try %d: %v", tries, err)
				}
			}
		})
	}
}

// TestFlushBesideCommits: Flush waits for the commits so far, not for those that keep
// coming, and does each kind of work beside them.
func TestFlushBesideCommits(t *testing.T) {
	// To follow in cells of 256 dimensions takes longer than a commit.
	e, err := open(t.Context(), t.TempDir(), encoder.NewHash(256), Options{Local: true, NoSync: true}, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	numbers(t, e, 0, 300)
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for i := w; ; i += 4 {
				select {
				case <-stop:
					return
				default:
					if _, err := e.Upsert(t.Context(), []Document{{ID: fmt.Sprint(i % 300), Text: number(i)}}); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // for ever: writers keep both cores busy
	defer cancel()
	for range 3 {
		if err := e.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Search(ctx, Query{Text: number(1), Mode: ModeDense, Variant: VariantLocal})
	if err != nil || r.Trace.LocalWanted || r.Trace.Index != index.KindHNSWInt8 {
		t.Errorf("%+v, %v", r.Trace, err)
	}
	close(stop)
	writers.Wait()
}

// TestErrorsOfTheEnd: what waits ends with ErrClosed when the database is closed, and
// with the error of its context, whatever the cause of that.
func TestErrorsOfTheEnd(t *testing.T) {
	t.Parallel()
	e := small(t, t.TempDir(), 1, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more interest"))
	if err := e.db.Settled(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	e.db.Stop()
	if err := e.db.Flush(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
