package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// jsonOf is metadata as they are stored.
func jsonOf(t *testing.T, m map[string]any) string {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPatch: metadata are merged, filters follow at once, all else stays, and nothing
// is encoded.
func TestPatch(t *testing.T) {
	e, w := watch(t, engine.Options{ChunkTokens: 40})
	long := strings.Repeat(text(1)+". ", 30)
	add(t, e, []engine.Document{
		{ID: "a", Title: "Title", Text: text(1), Metadata: map[string]any{"keep": 1, "go": 2, "deep": map[string]any{"x": 1, "y": []int{1, 2}}}},
		{ID: "long", Text: long},
		{ID: "own", Text: "of its own", Vector: append(make([]float32, dim-1), 3)},
	})
	a, err := e.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	chunks := search(t, e, engine.Query{Text: long, K: 100, PerChunk: true, Mode: engine.ModeDense, Variant: engine.VariantNone}).Hits
	calls := w.calls.Load()
	n, err := e.Patch(t.Context(), []engine.Patch{
		{ID: "a", Metadata: map[string]any{"go": nil, "new": "v", "deep": map[string]any{"x": nil, "z": map[string]any{"no": nil, "yes": true}}}},
		{ID: "long", Metadata: map[string]any{"first": 1}},
		{ID: "long", Metadata: map[string]any{"first": nil, "second": 2}},
		{ID: "own", Metadata: nil},
	})
	if err != nil || n != 2 {
		t.Fatalf("%d documents, %v", n, err)
	}
	for id, want := range map[string]string{
		"a":    `{"deep":{"y":[1,2],"z":{"yes":true}},"keep":1,"new":"v"}`,
		"long": `{"second":2}`,
		"own":  `null`,
	} {
		d, err := e.Get(t.Context(), id)
		if err != nil || jsonOf(t, d.Metadata) != want {
			t.Errorf("%s has %s, %v, want %s", id, jsonOf(t, d.Metadata), err, want)
		}
	}
	now, err := e.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	now.Metadata, a.Metadata = nil, nil
	if !reflect.DeepEqual(now, a) {
		t.Errorf("%+v, was %+v", now, a)
	}
	if c := w.calls.Load(); c != calls {
		t.Errorf("%d calls of the encoder", c-calls)
	}
	after := search(t, e, engine.Query{Text: long, K: 100, PerChunk: true, Mode: engine.ModeDense, Variant: engine.VariantNone}).Hits
	if len(after) != len(chunks) || len(chunks) < 5 {
		t.Fatalf("%d chunks, were %d", len(after), len(chunks))
	}
	of := func(hits []engine.Hit) (s []string) {
		for _, h := range hits {
			s = append(s, fmt.Sprint(h.ID, h.Chunk, h.Start, h.End, h.Score))
		}
		slices.Sort(s)
		return s
	}
	if !slices.Equal(of(after), of(chunks)) {
		t.Errorf("%v, were %v", of(after), of(chunks))
	}
	for f, want := range map[string]int{"second = 2": 1, "new = \"v\"": 1, "go = 2": 0, "first = 1": 0, "deep.x exists": 0, "deep.z.yes = true": 1} {
		p, err := filter.Parse(f)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := e.Count(t.Context(), p); err != nil || n != want {
			t.Errorf("%s: %d, %v", f, n, err)
		}
	}
	if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestPatchIsAtomicAndDurable: of a call that fails nothing is stored, one that
// changes nothing makes no commit, and what was acknowledged is there after reopening.
func TestPatchIsAtomicAndDurable(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, engine.Options{})
	add(t, e, docs(0, 10))
	seq := search(t, e, engine.Query{Text: "x"}).Trace.Seq
	set := map[string]any{"set": true}
	for _, c := range []struct {
		bad  engine.Patch
		want error
	}{
		{engine.Patch{ID: "absent", Metadata: set}, engine.ErrNotFound},
		{engine.Patch{ID: "absent"}, engine.ErrNotFound},
		{engine.Patch{Metadata: set}, engine.ErrInvalid},
		{engine.Patch{ID: strings.Repeat("x", engine.MaxID+1), Metadata: set}, engine.ErrInvalid},
		{engine.Patch{ID: "d2", Metadata: map[string]any{"a": "\xff"}}, engine.ErrInvalid},
		{engine.Patch{ID: "d2", Metadata: map[string]any{"a": func() {}}}, engine.ErrInvalid},
	} {
		_, err := e.Patch(t.Context(), []engine.Patch{{ID: "d1", Metadata: set}, c.bad, {ID: "d3", Metadata: set}})
		var one *engine.DocumentError
		if !errors.Is(err, c.want) || !errors.As(err, &one) || one.Position != 1 || one.ID != c.bad.ID {
			t.Errorf("%.20q: %v", c.bad.ID, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Patch(ctx, []engine.Patch{{ID: "d1", Metadata: set}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, nothing := range [][]engine.Patch{nil, {{ID: "d1"}}, {{ID: "d1", Metadata: map[string]any{"n": 1, "absent": nil}}}, {{ID: "d1", Metadata: set}, {ID: "d1", Metadata: map[string]any{"set": nil}}}} {
		if n, err := e.Patch(t.Context(), nothing); n != 0 || err != nil {
			t.Errorf("%v: %d, %v", nothing, n, err)
		}
	}
	if n, err := e.Count(t.Context(), filter.Eq("set", true)); n != 0 || err != nil {
		t.Errorf("%d documents were patched by calls that failed or changed nothing, %v", n, err)
	}
	if now := search(t, e, engine.Query{Text: "x"}).Trace.Seq; now != seq {
		t.Errorf("commit %d, was %d", now, seq)
	}
	if n, err := e.Patch(t.Context(), []engine.Patch{{ID: "d4", Metadata: set}, {ID: "d5", Metadata: map[string]any{"n": nil}}}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Patch(t.Context(), []engine.Patch{{ID: "d1", Metadata: set}}); err != engine.ErrClosed {
		t.Errorf("closed: %v", err)
	}
	e = open(t, dir, engine.Options{})
	if n, err := e.Count(t.Context(), filter.Eq("set", true)); n != 1 || err != nil {
		t.Errorf("%d documents after reopening, %v", n, err)
	}
	if d, err := e.Get(t.Context(), "d5"); err != nil || d.Metadata != nil || d.Text != text(5) {
		t.Errorf("%+v, %v", d, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, engine.Options{ReadOnly: true})
	if _, err := e.Patch(t.Context(), []engine.Patch{{ID: "d1", Metadata: set}}); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
}
