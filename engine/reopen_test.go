package engine_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// allScores are those of all documents for some queries in every mode; those of local
// bridges, whose cells depend on when they were built, stand apart.
func allScores(t *testing.T, e *engine.Engine) (closed, local map[string]float32) {
	t.Helper()
	closed, local = map[string]float32{}, map[string]float32{}
	for _, i := range []int{1, 42, 77} {
		for _, q := range []engine.Query{
			{Mode: engine.ModeDense, Variant: engine.VariantNone}, {Mode: engine.ModeDense, Variant: "rlr"}, {Mode: engine.ModeLexical}, {},
			{Mode: engine.ModeDense, Variant: engine.VariantLocal},
		} {
			q.Text, q.K = text(i), 1000
			for _, h := range search(t, e, q).Hits {
				into := closed
				if q.Variant == engine.VariantLocal {
					into = local
				}
				into[fmt.Sprint(i, q.Mode, q.Variant, h.ID)] = h.Score
			}
		}
	}
	return closed, local
}

func near(a, b map[string]float32) bool {
	for k, x := range a {
		if y, ok := b[k]; !ok || math.Abs(float64(x-y)) > 1e-4 {
			return false
		}
	}
	return len(a) == len(b)
}

// TestReopening: a database is opened by its snapshots, as it was closed and a few
// commits behind; where one of them is missing, damaged, or of another history, it
// is made anew, and says so. The answers are the same every time.
func TestReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log bytes.Buffer
	o := engine.Options{Local: true, NoSync: true, MemoryMiB: sparing(engine.Options{}).MemoryMiB, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	reopen := func(e *engine.Engine) *engine.Engine {
		t.Helper()
		if e != nil {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		log.Reset()
		e, err := engine.Open(t.Context(), dir, hash(t), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := reopen(nil)
	add(t, e, docs(0, 250))
	if _, err := e.Delete(t.Context(), []string{"d3", "d90"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Upsert(t.Context(), docs(10, 20)); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, wantLocal := allScores(t, e)
	same := func(when string) {
		t.Helper()
		got, local := allScores(t, e)
		if !near(got, want) || !near(local, wantLocal) && !strings.HasPrefix(when, "local") {
			t.Fatalf("%s: other answers", when)
		}
		wantLocal = local
		if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
			t.Fatalf("%s: %+v, %v", when, v, err)
		}
	}
	e = reopen(e)
	if log.Len() > 0 {
		t.Fatalf("opened as closed: %s", &log)
	}
	same("as closed")
	files, err := filepath.Glob(filepath.Join(dir, "derived", "*.snap"))
	if err != nil || len(files) != 6 {
		t.Fatalf("snapshots %v, %v", files, err)
	}
	for _, f := range files {
		whole, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for what, damage := range map[string]func() error{
			"missing": func() error { return os.Remove(f) },
			"cut":     func() error { return os.WriteFile(f, whole[:len(whole)/2], 0o644) },
			"header":  func() error { return os.WriteFile(f, append([]byte{whole[0] ^ 1}, whole[1:]...), 0o644) },
		} {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			if e, err = engine.Open(t.Context(), dir, hash(t), o); err != nil {
				t.Fatal(err)
			}
			if err := e.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			same(filepath.Base(f) + " " + what)
		}
	}
	e = reopen(e)
	if log.Len() > 0 {
		t.Fatalf("opened after repairs: %s", &log)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOtherHistory: snapshots of a history that went another way from a copy are not
// used, though the database, the number of the commit and all counts are the same.
func TestOtherHistory(t *testing.T) {
	a, b := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	e := open(t, a, engine.Options{})
	add(t, e, docs(0, 50))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(b, os.DirFS(a)); err != nil {
		t.Fatal(err)
	}
	for dir, word := range map[string]string{a: "walrus", b: "tortoise"} {
		e, err := engine.Open(t.Context(), dir, hash(t), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Add(t.Context(), []engine.Document{{ID: "new", Text: "a text about the " + word}}); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// b keeps its records and gets the derived state of a.
	if err := os.RemoveAll(filepath.Join(b, "derived")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(b, "derived"), os.DirFS(filepath.Join(a, "derived"))); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	e = open(t, b, engine.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "history") {
		t.Errorf("nothing is said of another history: %s", &log)
	}
	for word, want := range map[string]int{"tortoise": 1, "walrus": 0} {
		if r := search(t, e, engine.Query{Text: word, Mode: engine.ModeLexical}); len(r.Hits) != want {
			t.Errorf("%s finds %d documents, want %d", word, len(r.Hits), want)
		}
	}
}
