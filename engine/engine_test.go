package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/repair"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/store"
)

const dim = 64

// open opens a database that the test closes. What would be made a second after opening is there at once: last bits of
// scores would change between two searches.
func open(t *testing.T, dir string, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), dir, hash(t), sparing(o))
	if err == nil && !o.ReadOnly {
		err = e.Flush(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// sparing are options with the least memory of the store, with which what it takes to open
// goes, where they say nothing of memory.
func sparing(o engine.Options) engine.Options {
	if o.MemoryMiB == 0 && o.MaxMemoryMiB == 0 {
		o.MemoryMiB = engine.LeastMiB
	}
	return o
}

func hash(t testing.TB) encoder.Encoder {
	t.Helper()
	return encoder.NewHash(dim)
}

// text makes a text whose words depend on i, a few of them shared by many.
func text(i int) string {
	return fmt.Sprintf("unit%d speaks of topic%d and of matter%d in a long sentence about item%d", i, i%7, i%31, i*i%1009)
}

func docs(lo, hi int) []engine.Document {
	var d []engine.Document
	for i := lo; i < hi; i++ {
		d = append(d, engine.Document{ID: fmt.Sprint("d", i), Text: text(i), Metadata: map[string]any{"n": i}})
	}
	return d
}

func add(t *testing.T, e *engine.Engine, d []engine.Document) engine.AddResult {
	t.Helper()
	r, err := e.Add(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func search(t *testing.T, e *engine.Engine, q engine.Query) engine.Result {
	t.Helper()
	r, err := e.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ids(r engine.Result) []string {
	var s []string
	for _, h := range r.Hits {
		s = append(s, h.ID)
	}
	return s
}

func TestAddSearchGetDelete(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	if r := add(t, e, docs(0, 100)); r.Added != 100 || r.Replaced != 0 || r.Seq == 0 {
		t.Fatalf("add: %+v", r)
	}
	r := search(t, e, engine.Query{Text: text(42), K: 3})
	if r.Hits[0].ID != "d42" || len(r.Hits) != 3 || r.Hits[0].Rank != 1 || r.Hits[0].Text != text(42) {
		t.Fatalf("search: %+v", r.Hits)
	}
	if r.Trace.Variant != "rlr" || r.Trace.Index != "flat-int8" || r.Trace.Lexical == 0 || len(r.Trace.Steps) != 6 || r.Trace.Mode != "hybrid" {
		t.Fatalf("trace: %+v", r.Trace)
	}
	if n, ok := r.Hits[0].Metadata["n"].(json.Number); !ok || n.String() != "42" {
		t.Fatalf("metadata: %#v", r.Hits[0].Metadata)
	}
	d, err := e.Get(t.Context(), "d42")
	if err != nil || d.Text != text(42) || len(d.Vector) != dim {
		t.Fatalf("get: %+v, %v", d, err)
	}
	if n, err := e.Delete(t.Context(), []string{"d42", "absent"}); n != 1 || err != nil {
		t.Fatalf("delete: %d, %v", n, err)
	}
	if _, err := e.Get(t.Context(), "d42"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("get of a deleted document: %v", err)
	}
	if got := ids(search(t, e, engine.Query{Text: text(42), K: 100})); len(got) != 99 || slices.Contains(got, "d42") {
		t.Fatalf("%d hits after the delete", len(got))
	}
}

func TestPlainScoresAreCosines(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 50))
	r := search(t, e, engine.Query{Text: text(7), Mode: engine.ModeDense, Variant: engine.VariantNone, K: 50})
	for _, h := range r.Hits {
		if math.Abs(float64(h.Score-h.Cosine)) > 1e-6 {
			t.Fatalf("%s: score %v, cosine %v", h.ID, h.Score, h.Cosine)
		}
	}
	if r.Trace.Turned < 0.9999 {
		t.Fatalf("the plain query turned: %v", r.Trace.Turned)
	}
}

func TestVectorIsWhatSearchLooksFor(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 60))
	v, trace, err := e.Vector(t.Context(), engine.Query{Text: text(8)})
	if err != nil || trace.Variant != "rlr" || len(v) != dim {
		t.Fatalf("%d dimensions, %+v, %v", len(v), trace, err)
	}
	want := search(t, e, engine.Query{Text: text(8), Mode: engine.ModeDense, Variant: "rlr"})
	got := search(t, e, engine.Query{Vector: v, Variant: engine.VariantNone})
	if !slices.Equal(ids(got), ids(want)) {
		t.Fatalf("%v by vector, %v by text", ids(got), ids(want))
	}
}

func TestUpsertReplaces(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 20))
	d := docs(20, 22)
	d[0].ID = "d3"
	r, err := e.Upsert(t.Context(), d)
	if err != nil || r.Added != 1 || r.Replaced != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := search(t, e, engine.Query{Text: text(20), K: 1}); got.Hits[0].ID != "d3" {
		t.Fatalf("the new text is found as %s", got.Hits[0].ID)
	}
	if got := ids(search(t, e, engine.Query{Text: text(3), K: 100})); len(got) != 21 {
		t.Fatalf("%d documents, want 21", len(got))
	}
	// The last of two documents with one id stays.
	if _, err := e.Upsert(t.Context(), []engine.Document{{ID: "twice", Text: "first words"}, {ID: "twice", Text: "second words"}}); err != nil {
		t.Fatal(err)
	}
	if d, err := e.Get(t.Context(), "twice"); err != nil || d.Text != "second words" {
		t.Fatalf("%+v, %v", d, err)
	}
}

func TestAddIsAllOrNothing(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 5))
	deep := map[string]any{}
	for range 20_000 {
		deep = map[string]any{"in": deep}
	}
	nan := make([]float32, dim)
	nan[0] = float32(math.NaN())
	for name, bad := range map[string]engine.Document{
		"no id":           {Text: "x"},
		"long id":         {ID: strings.Repeat("x", engine.MaxID+1), Text: "x"},
		"stored":          {ID: "d3", Text: "x"},
		"no text":         {ID: "new", Text: " \t\n"},
		"wrong dimension": {ID: "new", Vector: make([]float32, dim+1)},
		"zero vector":     {ID: "new", Vector: make([]float32, dim)},
		"NaN":             {ID: "new", Vector: nan},
		"metadata":        {ID: "new", Text: "x", Metadata: map[string]any{"f": math.Inf(1)}},
		"deep metadata":   {ID: "new", Text: "x", Metadata: deep},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.Add(t.Context(), append(docs(5, 8), bad))
			var de *engine.DocumentError
			if !errors.As(err, &de) || de.Position != 3 {
				t.Fatalf("got %v", err)
			}
			if !errors.Is(err, engine.ErrInvalid) && !errors.Is(err, engine.ErrExists) {
				t.Fatalf("untyped: %v", err)
			}
			if s, _ := e.Stats(t.Context()); s.Documents != 5 {
				t.Fatalf("%d documents stored", s.Documents)
			}
		})
	}
}

// TestBadIDs asks for ids that no document can have.
func TestBadIDs(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 2))
	for _, id := range []string{"", strings.Repeat("x", engine.MaxID+1)} {
		_, get := e.Get(t.Context(), id)
		_, explain := e.Explain(t.Context(), engine.Query{Text: "x"}, id)
		_, del := e.Delete(t.Context(), []string{"d1", id})
		for _, err := range []error{get, explain, del} {
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("id of %d bytes: %v", len(id), err)
			}
		}
	}
	if n, err := e.Count(t.Context(), engine.Filter{}); n != 2 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
}

func TestBadQueries(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	if r := search(t, e, engine.Query{Text: "anything"}); len(r.Hits) != 0 {
		t.Fatalf("hits in an empty database: %v", r.Hits)
	}
	add(t, e, docs(0, 5))
	for name, q := range map[string]engine.Query{
		"empty":           {},
		"blank":           {Text: " \n"},
		"long":            {Text: strings.Repeat("x", engine.MaxQuery+1)},
		"negative k":      {Text: "x", K: -1},
		"huge k":          {Text: "x", K: engine.MaxK + 1},
		"negative ef":     {Text: "x", Ef: -1},
		"unknown variant": {Text: "x", Variant: "nonsense"},
		"wrong dimension": {Vector: []float32{1}},
		"zero vector":     {Vector: make([]float32, dim)},
		"unknown mode":    {Text: "x", Mode: "magic"},
		"unknown fusion":  {Text: "x", Fusion: fusion.Options{Kind: "magic"}},
		"huge beta":       {Text: "x", Fusion: fusion.Options{Beta: 1001}},
		"beta of NaN":     {Text: "x", Fusion: fusion.Options{Beta: math.NaN()}},
		"lexical vector":  {Vector: make([]float32, dim), Mode: engine.ModeLexical},
	} {
		if _, err := e.Search(t.Context(), q); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := e.Search(t.Context(), engine.Query{Text: "x", Variant: "slr"}); !errors.Is(err, engine.ErrNotFitted) {
		t.Errorf("unfitted variant: %v", err)
	}
	for _, text := range []string{"\x00", "\xff\xfe", strings.Repeat("x", engine.MaxQuery), "𝔘𝔫𝔦", "\ufeffbom"} {
		if _, err := e.Search(t.Context(), engine.Query{Text: text}); err != nil {
			t.Errorf("query %.20q: %v", text, err)
		}
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "hnsw-int8"} {
		dir := t.TempDir()
		e := open(t, dir, engine.Options{Index: kind})
		add(t, e, docs(0, 300))
		if _, err := e.Delete(t.Context(), []string{"d1", "d2"}); err != nil {
			t.Fatal(err)
		}
		want := search(t, e, engine.Query{Text: text(9), K: 5})
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Search(t.Context(), engine.Query{Text: "x"}); !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("search after close: %v", err)
		}
		e = open(t, dir, engine.Options{Index: kind})
		got := search(t, e, engine.Query{Text: text(9), K: 5})
		if !slices.Equal(ids(got), ids(want)) {
			t.Fatalf("%q: %v after reopening, %v before", kind, ids(got), ids(want))
		}
		for i := range got.Hits {
			if d := math.Abs(float64(got.Hits[i].Score - want.Hits[i].Score)); d > 1e-5 {
				t.Fatalf("score moved by %v", d)
			}
		}
		if s, err := e.Stats(t.Context()); err != nil || s.Documents != 298 {
			t.Fatalf("%+v, %v", s, err)
		}
	}
}

// TestDamagedSnapshots: whatever happens to derived files, no search gives a wrong
// answer. Damage that opening sees is repaired then; what lies deeper is found by the
// search that reads it, which gets ErrCorrupt and has the part made anew, or by Verify.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := engine.Options{Local: true}
	e := open(t, dir, o)
	add(t, e, docs(0, 200))
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	queries := []engine.Query{
		{Text: text(50), K: 10}, {Text: text(50), K: 10, Mode: engine.ModeDense, Variant: "rlr"},
		{Text: text(50), K: 10, Mode: engine.ModeDense, Variant: engine.VariantLocal}, {Text: text(50), K: 10, Filter: filter.Lt("n", 60)},
	}
	var want [][]string
	for _, q := range queries {
		want = append(want, ids(search(t, e, q)))
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "derived", "*.snap"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%v, %v", files, err)
	}
	for i, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		damages := map[string][]byte{"empty": {}, "half": raw[:len(raw)/2]}
		for _, at := range []int{0, 9, 4096, len(raw) / 3, len(raw) / 2, len(raw) - 1} {
			b := slices.Clone(raw)
			b[min(at, len(b)-1)] ^= 0x10
			damages[fmt.Sprint("bit at ", at)] = b
		}
		for j, name := range slices.Sorted(maps.Keys(damages)) {
			// The short form tries half of the pairs.
			if !trial.Long() && j%2 != i%2 {
				continue
			}
			b := damages[name]
			// Not written to in place: what is mapped stays as it is.
			if err := errors.Join(os.Remove(f), os.WriteFile(f, b, 0o644)); err != nil {
				t.Fatal(err)
			}
			e := open(t, dir, o)
			if err := e.Flush(t.Context()); err != nil && !errors.Is(err, engine.ErrCorrupt) {
				t.Fatalf("%s, %s: %v", filepath.Base(f), name, err)
			}
			met := false
			for i, q := range queries {
				r, err := e.Search(t.Context(), q)
				for tries := 0; errors.Is(err, engine.ErrCorrupt) && tries < 5; tries++ {
					met = true
					if err := e.Flush(t.Context()); err != nil {
						t.Fatalf("%s, %s: %v", filepath.Base(f), name, err)
					}
					r, err = e.Search(t.Context(), q)
				}
				if err != nil || !slices.Equal(ids(r), want[i]) {
					t.Fatalf("%s, %s, query %d: %v, %v, want %v", filepath.Base(f), name, i, ids(r), err, want[i])
				}
			}
			v, err := e.Verify(t.Context(), nil)
			if err := errors.Join(err, e.Close()); err != nil {
				t.Fatalf("%s, %s: %v", filepath.Base(f), name, err)
			}
			now, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			switch damaged := slices.Equal(now, b); {
			case damaged && len(v.Problems) == 0:
				t.Fatalf("%s, %s: neither repaired nor found by Verify, met %v", filepath.Base(f), name, met)
			case !damaged && len(v.Problems) > 0:
				t.Fatalf("%s, %s: repaired, and yet %v", filepath.Base(f), name, v.Problems)
			}
		}
		if err := errors.Join(os.Remove(f), os.WriteFile(f, raw, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOtherEncoderIsRefused(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, engine.Options{})
	add(t, e, docs(0, 3))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := engine.Open(t.Context(), dir, encoder.NewHash(2*dim), engine.Options{})
	if !errors.Is(err, encoder.ErrMismatch) {
		t.Fatalf("got %v", err)
	}
	// Without an encoder: reading, deleting and searching by vector work.
	e, err = engine.Open(t.Context(), dir, nil, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	d, err := e.Get(t.Context(), "d1")
	if err != nil {
		t.Fatal(err)
	}
	if r := search(t, e, engine.Query{Vector: d.Vector, K: 1}); r.Hits[0].ID != "d1" {
		t.Fatalf("%+v", r.Hits)
	}
	if _, err := e.Search(t.Context(), engine.Query{Text: "x"}); !errors.Is(err, engine.ErrNoEncoder) {
		t.Fatalf("got %v", err)
	}
	if r := search(t, e, engine.Query{Text: "unit2", Mode: engine.ModeLexical}); len(r.Hits) != 1 || r.Hits[0].ID != "d2" {
		t.Fatalf("lexical search without an encoder: %+v", r.Hits)
	}
	if _, err := e.Add(t.Context(), docs(5, 6)); !errors.Is(err, engine.ErrNoEncoder) {
		t.Fatalf("got %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := engine.Open(t.Context(), filepath.Join(dir, "none"), hash(t), engine.Options{MustExist: true}); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Fatal("a folder was made")
	}
	if _, err := engine.Open(t.Context(), dir, hash(t), engine.Options{Index: "magic", MemoryMiB: -1}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "memory") {
		t.Fatalf("got %v", err)
	}
	t.Chdir(t.TempDir())
	for _, o := range []engine.Options{{}, {MustExist: true}, {ReadOnly: true}} {
		if _, err := engine.Open(t.Context(), "", hash(t), o); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "InMemory") {
			t.Fatalf("no folder: %v", err)
		}
	}
	var backup bytes.Buffer
	if _, err := open(t, t.TempDir(), engine.Options{}).BackupTo(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"Reembed": func() error { _, err := engine.Reembed(t.Context(), "", hash(t), engine.Options{}); return err },
		"Restore": func() error {
			_, err := archive.Restore(t.Context(), "", &backup, archive.RestoreOptions{})
			return err
		},
		"repair":  func() error { _, err := repair.Run(t.Context(), "", "new", nil, engine.Options{}); return err },
		"Remove":  func() error { return store.Folder("").Remove() },
		"Salvage": func() error { _, err := store.Folder(dir).Salvage(t.Context(), "", store.SalvageOptions{}); return err },
	} {
		if err := f(); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "no folder") {
			t.Errorf("%s without a folder: %v", name, err)
		}
	}
	if made, err := os.ReadDir("."); err != nil || len(made) > 0 {
		t.Fatalf("%v was made where no folder was named, %v", made, err)
	}
	e := open(t, dir, engine.Options{})
	if _, err := engine.Open(t.Context(), dir, hash(t), engine.Options{}); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	_ = e
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, engine.Options{})
	add(t, e, docs(0, 30))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	a := open(t, dir, engine.Options{ReadOnly: true})
	b := open(t, dir, engine.Options{ReadOnly: true})
	for _, e := range []*engine.Engine{a, b} {
		if r := search(t, e, engine.Query{Text: text(4), K: 1}); r.Hits[0].ID != "d4" {
			t.Fatalf("%+v", r.Hits)
		}
		if _, err := e.Upsert(t.Context(), docs(0, 1)); !errors.Is(err, engine.ErrReadOnly) {
			t.Fatalf("got %v", err)
		}
		if _, err := e.Fit(t.Context(), engine.FitOptions{}); !errors.Is(err, engine.ErrReadOnly) {
			t.Fatalf("got %v", err)
		}
	}
}

func TestCancelledAddStoresNothing(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Add(ctx, docs(0, 10)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if s, _ := e.Stats(t.Context()); s.Documents != 0 {
		t.Fatalf("%d documents", s.Documents)
	}
	add(t, e, docs(0, 10)) // the writer's slot is free again
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{index.KindFlatInt8, index.KindHNSWInt8} {
		e := open(t, t.TempDir(), engine.Options{Index: kind})
		if r, err := e.Verify(t.Context(), nil); err != nil || r.Sampled != 0 || r.SelfRecall != 1 {
			t.Fatalf("%s, without documents: %+v, %v", kind, r, err)
		}
		add(t, e, docs(0, 400))
		if _, err := e.Delete(t.Context(), []string{"d7", "d8", "d9"}); err != nil {
			t.Fatal(err)
		}
		r, err := e.Verify(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Problems) > 0 || r.Documents != 397 || r.Sampled != 397 || r.SelfRecall != 1 || r.Unreachable != 0 {
			t.Fatalf("%s: %+v", kind, r)
		}
	}
}
