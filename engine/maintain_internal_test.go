package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// ready are n documents that bring their vectors, so that storing them takes little.
func ready(r *rand.Rand, n, dim int) []Document {
	docs := make([]Document, n)
	for i := range docs {
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(r.NormFloat64())
		}
		docs[i] = Document{ID: fmt.Sprint("r", i), Text: fmt.Sprint("w", r.IntN(40), " x", r.IntN(900)), Vector: v}
	}
	return docs
}

// busy waits until the maintainer is at a task.
func busy(t *testing.T, e *Engine, task string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if e.db.Maintenance().Task == task {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the maintainer never began with %q", task)
		}
	}
}

// unlinked is how many vectors wait beside the graph; 0 without one.
func unlinked(e *Engine) int {
	ref := e.db.Acquire()
	defer ref.Release()
	if graph, ok := ref.Value.Vectors.Index.(index.Linker); ok {
		return graph.Unlinked()
	}
	return 0
}

// TestCloseEndsTheMaintainer: Close waits for no long work in the background, and
// the next opening takes it up again.
func TestCloseEndsTheMaintainer(t *testing.T) {
	for _, c := range []struct {
		task          string
		n, dim, above int
		o             Options
		done          func(e *Engine, s Stats) bool
		slow          bool
	}{
		{"graph", 6000, 64, 4000, Options{NoSync: true}, func(e *Engine, s Stats) bool { return s.Index == "hnsw-int8" && unlinked(e) == 0 }, false},
		{"local bridges", 8000, 256, autoHNSW, Options{NoSync: true, Local: true}, func(_ *Engine, s Stats) bool { return s.Memory.Local > 0 }, false},
		{"factor", 2500, 1024, autoHNSW, Options{NoSync: true}, func(_ *Engine, s Stats) bool { return s.Maintenance.Stale == 0 }, true},
	} {
		if c.slow && !trial.Long() {
			continue
		}
		enc := encoder.NewHash(c.dim)
		docs := ready(rand.New(rand.NewPCG(13, 14)), c.n, c.dim)
		var dir string
		var e *Engine
		var flush chan error
		for again := 0; ; again++ {
			dir = t.TempDir()
			var err error
			if e, err = open(t.Context(), dir, enc, c.o, c.above); err != nil {
				t.Fatal(err)
			}
			put(t, e, docs...)
			busy(t, e, c.task)
			flush = make(chan error, 1)
			go func() { flush <- e.Flush(t.Context()) }()
			time.Sleep(20 * time.Millisecond)
			s, err := e.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !c.done(e, s) {
				break
			}
			if again == 5 { // else others had the machine until it was done
				t.Fatalf("%s took too little to be closed within", c.task)
			}
			closed(t, e)
			<-flush
		}
		before := time.Now()
		closed(t, e)
		if took := time.Since(before); took > 10*time.Second { // it saves all, on a machine that may be busy
			t.Errorf("Close while %s is made took %v", c.task, took)
		}
		if err := <-flush; !errors.Is(err, ErrClosed) {
			t.Errorf("Flush that Close ends: %v", err)
		}
		e, err := open(t.Context(), dir, enc, c.o, c.above)
		if err != nil {
			t.Fatal(err)
		}
		if left := unlinked(e); c.task == "graph" && (left == 0 || left >= c.n-1) {
			t.Errorf("%d of %d wait beside the graph that Close has interrupted", left, c.n)
		}
		flushed(t, e)
		if s, err := e.Stats(t.Context()); err != nil || !c.done(e, s) || s.Documents != c.n {
			t.Fatalf("%s after reopening: %+v, %v", c.task, s, err)
		}
		closed(t, e)
	}
}

// TestLinksOutliveAKill: what was linked of a graph is saved while it grows, so that a process that is killed has not built it for nothing.
func TestLinksOutliveAKill(t *testing.T) {
	if !trial.Long() {
		t.Skip("the long form alone links enough to be saved: LEXSEM_LONG=1")
	}
	t.Parallel()
	const n, dim = 30_000, 8
	dir := t.TempDir()
	o := Options{Dim: dim}
	e, err := open(t.Context(), dir, nil, o, 1000)
	if err != nil {
		t.Fatal(err)
	}
	docs := ready(rand.New(rand.NewPCG(23, 24)), n, dim)
	for at := 0; at < n; at += 5000 {
		put(t, e, docs[at:at+5000]...)
	}
	flushed(t, e)
	crashed(t, e)
	if e, err = open(t.Context(), dir, nil, o, 1000); err != nil {
		t.Fatal(err)
	}
	if left := unlinked(e); left > n/2 {
		t.Errorf("%d of %d are to be linked again", left, n)
	}
	whole(t, e, "killed")
	closed(t, e)
}

// TestShortProcessesFinishAGraph: what a process has linked is saved by Close though nothing else has changed, so that a graph
// is finished by processes of which none lives as long as that takes.
func TestShortProcessesFinishAGraph(t *testing.T) {
	t.Parallel()
	const n, dim, some = 4000, 64, 300
	dir := t.TempDir()
	o := Options{Dim: dim}
	begin := func() *Engine {
		t.Helper()
		e, err := open(t.Context(), dir, nil, o, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := begin()
	put(t, e, ready(rand.New(rand.NewPCG(27, 28)), n, dim)...)
	busy(t, e, "graph")
	closed(t, e)
	e = begin()
	before := unlinked(e)
	if before <= some {
		t.Fatalf("%d of %d wait: the graph is there too soon", before, n)
	}
	for until := time.Now().Add(20 * time.Second); unlinked(e) > before-some; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d of %d still wait", unlinked(e), before)
		}
	}
	closed(t, e)
	e = begin()
	if left := unlinked(e); left > before-some {
		t.Errorf("%d of %d wait again", left, before)
	}
	flushed(t, e)
	var saved []time.Time
	for range 2 {
		if err := e.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "derived", "hnsw-int8.snap"))
		if err != nil {
			t.Fatal(err)
		}
		saved = append(saved, info.ModTime())
	}
	if !saved[0].Equal(saved[1]) {
		t.Error("links that are saved are saved again")
	}
	closed(t, e)
}

// TestTailIsLinked: what commits add beside a graph is found at once, and the
// maintainer links it; it outlives Close.
func TestTailIsLinked(t *testing.T) {
	t.Parallel()
	const dim = 64
	dir, enc := t.TempDir(), encoder.NewHash(dim)
	docs := ready(rand.New(rand.NewPCG(21, 22)), 6000, dim)
	e, err := open(t.Context(), dir, enc, Options{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	found := func(d Document) {
		t.Helper()
		r, err := e.Search(t.Context(), Query{Vector: d.Vector, K: 1, Mode: ModeDense})
		if err != nil || len(r.Hits) != 1 || r.Hits[0].ID != d.ID {
			t.Fatalf("%s is not found: %+v, %v", d.ID, r, err)
		}
	}
	put(t, e, docs[:1500]...)
	flushed(t, e)
	seen, n := false, 1500
	for ; n < 5500 && !seen; n += 1000 {
		put(t, e, docs[n:n+1000]...)
		seen = unlinked(e) > 0
		found(docs[n+999])
	}
	if !seen {
		t.Error("commits link by themselves")
	}
	closed(t, e)
	if e, err = open(t.Context(), dir, enc, Options{}, 1000); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; i += 97 {
		found(docs[i])
	}
	put(t, e, docs[n:]...)
	flushed(t, e)
	if left := unlinked(e); left != 0 {
		t.Errorf("%d are not linked after Flush", left)
	}
	for i := range docs {
		if i%97 == 0 {
			found(docs[i])
		}
	}
	whole(t, e, "linked")
	closed(t, e)
}

// TestCommitsBesideLongWork: what small commits change while a graph grows and local
// bridges are built is in both afterwards.
func TestCommitsBesideLongWork(t *testing.T) {
	t.Parallel()
	var beside map[string]int
	for range 5 { // the work may end between two commits
		if beside = commitsBesideLongWork(t); beside["graph"] > 0 && beside["local bridges"] > 0 {
			return
		}
	}
	t.Errorf("commits beside %v: too few to tell anything", beside)
}

// commitsBesideLongWork returns how many commits came beside each task of the maintainer.
func commitsBesideLongWork(t *testing.T) map[string]int {
	o := Options{NoSync: true, Local: true, ChunkTokens: 60}
	e := opened(t, t.TempDir(), o, 900)
	defer closed(t, e)
	r := rand.New(rand.NewPCG(15, 16))
	docs := map[string]Document{}
	first := madeDocs(r, 0, 1500)
	for _, d := range first {
		docs[d.ID] = d
	}
	put(t, e, first...)
	beside := map[string]int{}
	// The graph would wait for the end of so many commits.
	hurry, calm := context.WithCancel(t.Context())
	var flushes sync.WaitGroup
	flushes.Go(func() {
		for e.Flush(hurry) == nil {
		}
	})
	defer flushes.Wait()
	defer calm()
	for n := 0; ; n++ {
		if n == 20_000 {
			t.Fatalf("commits beside %v: the maintainer never catches up", beside)
		}
		task := e.db.Maintenance().Task
		beside[task]++
		i := r.IntN(1800)
		id := fmt.Sprint("d", i)
		if _, there := docs[id]; there && n%3 == 0 {
			delete(docs, id)
			removed(t, e, id)
		} else {
			docs[id] = made(r, i)
			put(t, e, docs[id])
		}
		ref := e.db.Acquire()
		done := ref.Value.Local != nil && ref.Value.Vectors.Kind == "hnsw-int8"
		if ref.Release(); done && unlinked(e) < 300 {
			break
		}
	}
	calm()
	flushes.Wait()
	flushed(t, e)
	likeFresh(t, "beside long work", e, o, docs)
	localFollows(t, e, "beside long work", 3)
	if s, err := e.Stats(t.Context()); err != nil || s.Index != "hnsw-int8" || s.Documents != len(docs) {
		t.Fatalf("%+v, %v", s, err)
	}
	return beside
}

// TestBatchThatEndsWhatItBegins: a version that one call both makes and replaces was
// never there, in memory, after a replay and after reopening.
func TestBatchThatEndsWhatItBegins(t *testing.T) {
	dir := t.TempDir()
	o := Options{NoSync: true, Local: true, ChunkTokens: 60}
	e := opened(t, dir, o, autoHNSW)
	r := rand.New(rand.NewPCG(17, 18))
	docs := map[string]Document{}
	batch := func(ids ...int) {
		var b []Document
		for _, i := range ids {
			d := made(r, i)
			docs[d.ID] = d
			b = append(b, d)
		}
		put(t, e, b...)
	}
	check := func(when string) {
		t.Helper()
		likeFresh(t, when, e, o, docs)
		localFollows(t, e, when, 1)
		ref := e.db.Acquire()
		defer ref.Release()
		if s := ref.Value; s.Vectors.Len() != s.Chunks() || s.Live.Len() != len(docs) {
			t.Fatalf("%s: %d vectors of %d chunks, %d live of %d", when, s.Vectors.Len(), s.Chunks(), s.Live.Len(), len(docs))
		}
	}
	batch(1, 7, 2, 7, 7, 1)
	batch(7, 3, 7, 3)
	check("at once")
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	batch(14, 1, 14, 7, 7, 14)
	crashed(t, e)
	e = opened(t, dir, o, autoHNSW)
	check("replayed")
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	check("reopened")
	closed(t, e)
}

// TestWhatFailsLeavesNothing: a commit that is given up at any moment leaves no
// vector in the index.
func TestWhatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"flat-int8", "hnsw-int8"} {
		e := opened(t, t.TempDir(), Options{NoSync: true, ChunkTokens: 60, Index: kind}, autoHNSW)
		r := rand.New(rand.NewPCG(19, 20))
		docs := map[string]Document{}
		for _, d := range madeDocs(r, 0, 50) {
			docs[d.ID] = d
			put(t, e, d)
		}
		failed := 0
		for n := 0; ; n++ {
			next := madeDocs(r, 40, 60)
			if _, err := e.Upsert(lookedAt(t.Context(), n), next); err == nil {
				for _, d := range next {
					docs[d.ID] = d
				}
				break
			}
			failed++
			flushed(t, e) // the call does not wait for what is undone
			if s := e.db.Present(); s.Vectors.Len() != s.Chunks() {
				t.Fatalf("%s: %d vectors of %d chunks after a commit that failed", kind, s.Vectors.Len(), s.Chunks())
			}
		}
		if failed < 30 {
			t.Fatalf("only %d commits failed", failed)
		}
		likeFresh(t, kind, e, Options{ChunkTokens: 60, NoSync: true}, docs)
		closed(t, e)
	}
}
