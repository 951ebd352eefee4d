package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// withVectors makes documents that bring their vectors.
func withVectors(lo, n int) []engine.Document {
	d, v := docs(lo, lo+n), indextest.TextLike(n, dim, uint64(lo))
	for i := range d {
		d[i].Vector = v[i*dim : (i+1)*dim]
	}
	return d
}

// openLoose opens a database that is not closed at the end of the test, which
// would hang where Close does.
func openLoose(t *testing.T, dir string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), dir, hash(t), sparing(engine.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// closeBeside closes e while work runs: calls that come after it began get
// ErrClosed at once, and Close itself returns within three seconds and a quarter of
// slow, the time that such work takes here if it is let.
func closeBeside(t *testing.T, e *engine.Engine, slow time.Duration) {
	t.Helper()
	limit := 3*time.Second + slow/4
	start, closed := time.Now(), make(chan error, 1)
	go func() { closed <- e.Close() }()
	for begun := false; !begun; time.Sleep(time.Millisecond) {
		_, err := e.Get(t.Context(), "d1")
		if begun = err == engine.ErrClosed; time.Since(start) > time.Minute {
			t.Fatalf("Close has not begun: Get returns %v", err)
		}
	}
	for name, call := range map[string]func() error{
		"search":  func() error { _, err := e.Search(t.Context(), engine.Query{Text: "words"}); return err },
		"vector":  func() error { _, _, err := e.Vector(t.Context(), engine.Query{Text: "words"}); return err },
		"explain": func() error { _, err := e.Explain(t.Context(), engine.Query{Text: "words"}, "d1"); return err },
		"get":     func() error { _, err := e.Get(t.Context(), "d1"); return err },
		"stats":   func() error { _, err := e.Stats(t.Context()); return err },
		"verify":  func() error { _, err := e.Verify(t.Context(), nil); return err },
		"add":     func() error { _, err := e.Add(t.Context(), docs(1e6, 1e6+1)); return err },
		"delete":  func() error { _, err := e.Delete(t.Context(), []string{"d1"}); return err },
		"fit":     func() error { _, err := e.Fit(t.Context(), engine.FitOptions{}); return err },
	} {
		begun, answer := time.Now(), make(chan error, 1)
		go func() { answer <- call() }()
		select {
		case err := <-answer:
			if took := time.Since(begun); err != engine.ErrClosed || took > limit/2 {
				t.Errorf("%s after Close began: %v after %v, want ErrClosed at once", name, err, took)
			}
		case <-time.After(limit):
			t.Errorf("%s after Close began has not returned after %v", name, limit)
		}
		if t.Failed() {
			break
		}
	}
	select {
	case err := <-closed:
		if took := time.Since(start); err != nil || took > limit {
			t.Errorf("Close: %v after %v, want it within %v", err, took, limit)
		}
	case <-time.After(30*time.Second + 3*slow):
		stacks := make([]byte, 1<<18)
		t.Fatalf("Close does not return\n%s", stacks[:runtime.Stack(stacks, true)])
	}
}

// TestCloseDuringAdd: Close cancels a running Add, of which then nothing is
// stored, unless its commit was written: then all of it is, and Add says so.
func TestCloseDuringAdd(t *testing.T) {
	n := 8000
	if trial.Long() {
		n = 20_000
	}
	many := withVectors(100, n)
	other := openLoose(t, t.TempDir())
	start := time.Now()
	add(t, other, many)
	slow := time.Since(start)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, slow / 20, slow / 3} {
		dir := t.TempDir()
		e := openLoose(t, dir)
		add(t, e, docs(0, 100))
		added := make(chan error, 1)
		go func() {
			_, err := e.Add(t.Context(), many)
			added <- err
		}()
		time.Sleep(5*time.Millisecond + after)
		closeBeside(t, e, slow)
		err := <-added
		if err != nil && !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("closed after %v: Add: %v", after, err)
		}
		want := 100
		if err == nil {
			want += n
		}
		e = open(t, dir, engine.Options{})
		if s, statsErr := e.Stats(t.Context()); statsErr != nil || s.Documents != want {
			t.Fatalf("closed after %v: Add said %v, and %d documents are stored, want %d (%v)", after, err, s.Documents, want, statsErr)
		}
		if r := search(t, e, engine.Query{Text: text(7), K: 1}); r.Hits[0].ID != "d7" {
			t.Fatalf("closed after %v: %+v", after, r.Hits)
		}
	}
}

// TestCloseDuringFit: Close cancels a running fit, though its Progress calls the
// engine, and the database is as it was.
func TestCloseDuringFit(t *testing.T) {
	o := engine.FitOptions{QueriesPerPassage: 20, Epochs: 8}
	for _, stage := range []string{"encode queries", "fit"} {
		dir := t.TempDir()
		e := openLoose(t, dir)
		add(t, e, docs(0, 200))
		reached, fitted := make(chan struct{}), make(chan error, 1)
		mine, here := o, false
		mine.Progress = func(p engine.Progress) {
			if _, err := e.Stats(t.Context()); err != nil && err != engine.ErrClosed {
				t.Errorf("Stats within Progress: %v", err)
			}
			if !here && p.Stage == stage {
				here = true
				close(reached)
			}
		}
		go func() {
			_, err := e.Fit(t.Context(), mine)
			fitted <- err
		}()
		select {
		case <-reached:
		case err := <-fitted:
			t.Fatalf("the fit never was at %q: %v", stage, err)
		}
		closeBeside(t, e, 2*time.Second)
		if err := <-fitted; !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("stage %q: Fit: %v, want ErrClosed", stage, err)
		}
		e = open(t, dir, engine.Options{})
		if s, err := e.Stats(t.Context()); err != nil || s.Documents != 200 || len(s.Bridges) != 0 {
			t.Fatalf("stage %q: %+v, %v", stage, s, err)
		}
	}
}

// TestDeadlineEndsCollapse: folding near-duplicates, as everything, ends with its
// context; without a deadline all of them are found or folded.
func TestDeadlineEndsCollapse(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	const n = 3000
	d := withVectors(0, n)
	for i := range d {
		words := make([]string, 120)
		for w := range words {
			words[w] = fmt.Sprint("w", w)
			if (w*n+i*7919)%113 < i%20 {
				words[w] = fmt.Sprint("x", (i+w)%997)
			}
		}
		d[i].Text = strings.Join(words, " ")
	}
	add(t, e, d)
	q := engine.Query{Vector: d[0].Vector, K: engine.MaxK, Collapse: true, Variant: engine.VariantNone}
	plain := q
	plain.Collapse = false
	if r := search(t, e, plain); len(r.Hits) != n {
		t.Fatalf("%d hits", len(r.Hits))
	}
	for _, limit := range []time.Duration{time.Millisecond, 30 * time.Millisecond} {
		for again := 0; ; again++ {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			start := time.Now()
			_, err := e.Search(ctx, q)
			took := time.Since(start)
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a deadline of %v: %v", limit, err)
			}
			if took <= limit+50*time.Millisecond || err != nil && took <= limit+500*time.Millisecond {
				break
			}
			if again == 10 { // else others had the machine
				t.Errorf("a deadline of %v: %v after %v", limit, err, took)
				break
			}
		}
	}
	r := search(t, e, q)
	found := len(r.Hits)
	for _, h := range r.Hits {
		found += len(h.Duplicates)
	}
	if found != n || len(r.Hits) == n {
		t.Errorf("%d hits and with their duplicates %d, want %d", len(r.Hits), found, n)
	}
}
