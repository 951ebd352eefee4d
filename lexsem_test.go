package lexsem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/lexsem/lexsem"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func Example() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	db := must(lexsem.Open(ctx, filepath.Join(dir, "notes.db"), lexsem.Options{Model: "hash"})) // leave the model out for a real one
	defer db.Close()
	if err := db.Add(ctx,
		lexsem.Document{ID: "keys", Text: "Rotate the signing keys with keyctl rotate."},
		lexsem.Document{ID: "ferry", Text: "The ferry to the island leaves at noon."},
	); err != nil {
		panic(err)
	}
	res := must(db.Search(ctx, "keyctl rotate"))
	fmt.Println(res.Hits[0].ID, res.Hits[0].Text)
	// Output: keys Rotate the signing keys with keyctl rotate.
}

// counted is an encoder that counts how often it is closed.
type counted struct {
	encoder.Encoder
	closed *int
}

func (c counted) Close() error { *c.closed++; return c.Encoder.Close() }

// TestOpen: a database is opened with its own model, with one by name, with an encoder, and
// without one where it holds vectors alone.
func TestOpen(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "db")
	reopen := func(want string, o ...lexsem.Options) {
		t.Helper()
		db, err := lexsem.Open(ctx, dir, o...)
		if err != nil {
			t.Fatal(err)
		}
		s, err := db.Stats(ctx)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if s.Encoder.Model != want {
			t.Errorf("opened with the model %q, want %q", s.Encoder.Model, want)
		}
	}
	reopen("hash-32", lexsem.Options{Model: "hash-32"})
	reopen("hash-32")
	reopen("hash-32", lexsem.Options{Encoder: encoder.NewHash(32)})
	if _, err := lexsem.Open(ctx, dir, lexsem.Options{Model: "hash-64"}); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("with another model: %v", err)
	}
	dir = filepath.Join(t.TempDir(), "vectors")
	reopen("", lexsem.Options{Engine: engine.Options{Dim: 8}})
	reopen("")
	if _, err := lexsem.Open(ctx, dir, lexsem.Options{}, lexsem.Options{}); !errors.Is(err, lexsem.ErrInvalid) {
		t.Errorf("with two Options: %v", err)
	}
}

// TestWhoClosesTheEncoder: Close closes an encoder that Open opened, also where opening fails, and
// no encoder of the caller's.
func TestWhoClosesTheEncoder(t *testing.T) {
	ctx, dir, closed := t.Context(), filepath.Join(t.TempDir(), "db"), 0
	enc := counted{encoder.NewHash(32), &closed}
	own := lexsem.Options{Engine: engine.Options{OpenEncoder: func(context.Context, encoder.Fingerprint) (encoder.Encoder, error) { return enc, nil }}}
	for _, c := range []struct {
		o    lexsem.Options
		want int
	}{{own, 1}, {lexsem.Options{Encoder: enc}, 0}} {
		closed = 0
		if err := must(lexsem.Open(ctx, dir, c.o)).Close(); err != nil || closed != c.want {
			t.Errorf("closed %d times, want %d; %v", closed, c.want, err)
		}
	}
	closed = 0
	other := own
	other.Engine.Metric = "dot"
	if _, err := lexsem.Open(ctx, dir, other); err == nil || closed != 1 {
		t.Errorf("where opening fails: closed %d times, %v", closed, err)
	}
}

// TestVerbs: Add never replaces, Upsert does, and Search takes a string or a Query.
func TestVerbs(t *testing.T) {
	ctx := t.Context()
	db := must(lexsem.Open(ctx, t.TempDir(), lexsem.Options{Model: "hash-32"}))
	defer db.Close()
	a := lexsem.Document{ID: "a", Text: "one", Metadata: map[string]any{"year": 1999}}
	if err := db.Add(ctx, a); err != nil {
		t.Fatal(err)
	}
	if err := db.Add(ctx, lexsem.Document{ID: "b", Text: "one"}, a); !errors.Is(err, lexsem.ErrExists) {
		t.Errorf("adding an id again: %v", err)
	}
	if err := db.Upsert(ctx, lexsem.Document{ID: "a", Text: "two", Metadata: map[string]any{"year": 2024}}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []any{"two", lexsem.Query{Text: "two", Filter: filter.Gt("year", 2000)}} {
		if res, err := db.Search(ctx, q); err != nil || len(res.Hits) != 1 || res.Hits[0].ID != "a" {
			t.Errorf("%v: %+v, %v", q, res.Hits, err)
		}
	}
	for _, q := range []any{nil, 7, &lexsem.Query{}} {
		if _, err := db.Search(ctx, q); !errors.Is(err, lexsem.ErrInvalid) {
			t.Errorf("%v: %v", q, err)
		}
	}
}

// TestMemory: databases in memory are apart from each other, do what others do, and leave no file.
func TestMemory(t *testing.T) {
	ctx, temp := t.Context(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	enc := lexsem.Options{Encoder: encoder.NewHash(64)}
	a, b := must(lexsem.Memory(ctx, enc)), must(lexsem.Memory(ctx, enc))
	var docs []lexsem.Document
	for i := range 300 {
		docs = append(docs, lexsem.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("text %d of the harbour, gate %d", i, i%7)})
	}
	if err := a.Upsert(ctx, docs...); err != nil {
		t.Fatal(err)
	}
	must(a.Delete(ctx, []string{"17"}))
	if got := must(a.Search(ctx, "gate harbour text 18")).Hits; got[0].ID != "18" {
		t.Error(got[0])
	}
	if got := must(b.Search(ctx, "harbour")).Hits; len(got) > 0 {
		t.Error(got)
	}
	must(a.Fit(ctx, engine.FitOptions{Variant: "slr", Seed: 1}))
	if err := errors.Join(a.Flush(ctx), a.Compact(ctx)); err != nil {
		t.Error(err)
	}
	if r, err := a.Verify(ctx, nil); err != nil || len(r.Problems) > 0 {
		t.Error(r, err)
	}
	if _, err := a.Reembed(ctx, encoder.NewHash(8), engine.Options{}); !errors.Is(err, lexsem.ErrInvalid) {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "backup")
	must(a.Backup(ctx, file))
	want := must(a.Search(ctx, lexsem.Query{Text: "gate 3", K: 20})).Hits
	if err := errors.Join(a.Close(), b.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	if left := must(os.ReadDir(temp)); len(left) > 0 {
		t.Error(left)
	}

	dir := filepath.Join(t.TempDir(), "restored")
	saved := must(os.Open(file))
	defer saved.Close()
	must(archive.Restore(ctx, dir, saved, archive.RestoreOptions{}))
	db := must(lexsem.Open(ctx, dir, enc))
	defer db.Close()
	if got := must(db.Search(ctx, lexsem.Query{Text: "gate 3", K: 20})).Hits; !reflect.DeepEqual(got, want) {
		t.Errorf("restored: %v, want %v", got, want)
	}
}

// TestMemoryRefuses names what a database in memory cannot be.
func TestMemoryRefuses(t *testing.T) {
	enc := encoder.NewHash(8)
	for what, open := range map[string]func() error{
		"a folder": func() error {
			_, err := engine.Open(t.Context(), "d", enc, engine.Options{InMemory: true})
			return err
		},
		"reading only": func() error {
			_, err := lexsem.Memory(t.Context(), lexsem.Options{Encoder: enc, Engine: engine.Options{ReadOnly: true}})
			return err
		},
		"one that exists": func() error {
			_, err := lexsem.Memory(t.Context(), lexsem.Options{Encoder: enc, Engine: engine.Options{MustExist: true}})
			return err
		},
		"two options": func() error {
			_, err := lexsem.Memory(t.Context(), lexsem.Options{}, lexsem.Options{})
			return err
		},
	} {
		if err := open(); !errors.Is(err, lexsem.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat("d"); !errors.Is(err, os.ErrNotExist) {
		t.Error("a folder was made")
	}
}

// BenchmarkMemory opens and closes an empty database in memory.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		db, err := lexsem.Memory(b.Context(), lexsem.Options{Encoder: encoder.NewHash(64)})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSmallDatabase: a small database stores its vectors once and no sums of RLR, finds the same after it was opened again, by a reader
// and by a writer, and closing it unchanged writes nothing.
func TestSmallDatabase(t *testing.T) {
	ctx := t.Context()
	for i, kind := range []string{"", "flat-int8", ""} {
		dir, dim, n := filepath.Join(t.TempDir(), "db"), 128, 60
		if i == 2 {
			dim, n = 384, 300 // whose factor is made after it was opened
		}
		open := func(o engine.Options) *engine.Engine {
			o.Index = kind
			e, err := engine.Open(ctx, dir, encoder.NewHash(dim), o)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		answers := func(e *engine.Engine) (all []string) {
			for i := range 5 {
				for _, mode := range []string{engine.ModeDense, engine.ModeHybrid} {
					res, err := e.Search(ctx, engine.Query{Text: fmt.Sprintf("keys of room %d", i), Mode: mode})
					if err != nil || len(res.Hits) == 0 {
						t.Fatalf("%d hits, %v", len(res.Hits), err)
					}
					for _, h := range res.Hits {
						all = append(all, fmt.Sprintf("%s %.5f %.4f", h.ID, h.Cosine, h.Score))
					}
				}
			}
			proof, err := e.Verify(ctx, nil)
			if err != nil || len(proof.Problems) > 0 {
				t.Fatalf("%+v, %v", proof, err)
			}
			return all
		}
		e := open(engine.Options{})
		var docs []engine.Document
		for i := range n {
			docs = append(docs, engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("Room %d has the keys of room %d, and door %d.", i, i%7, i*i)})
		}
		if _, err := e.Add(ctx, docs); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Delete(ctx, []string{"7"}); err != nil {
			t.Fatal(err)
		}
		if err := e.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		want := answers(e)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		files := func() map[string]string {
			all := map[string]string{}
			for _, f := range must(os.ReadDir(filepath.Join(dir, "derived"))) {
				all[f.Name()] = must(f.Info()).ModTime().String()
			}
			return all
		}
		saved := files()
		for _, kind := range []string{"flat-int8", "sums"} {
			if _, there := saved[kind+".snap"]; there || len(saved) < 3 {
				t.Fatalf("index %q: saved are %v", kind, saved)
			}
		}
		for _, o := range []engine.Options{{ReadOnly: true}, {}} {
			e := open(o)
			if got := answers(e); !reflect.DeepEqual(got, want) {
				t.Errorf("index %q: %v, want %v", kind, got, want)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if again := files(); !reflect.DeepEqual(again, saved) {
			t.Errorf("index %q: closing it unchanged writes %v over %v", kind, again, saved)
		}
	}
}
