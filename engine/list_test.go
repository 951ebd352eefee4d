package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// all collects a walk.
func all(t *testing.T, e *engine.Engine, f engine.Filter) (ds []engine.Document) {
	t.Helper()
	for d, err := range e.All(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		ds = append(ds, d)
	}
	return ds
}

func idsOf(ds []engine.Document) (ids []string) {
	for _, d := range ds {
		ids = append(ids, d.ID)
	}
	return ids
}

func TestAll(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	if got := all(t, e, engine.Filter{}); len(got) != 0 {
		t.Fatalf("%v in an empty database", idsOf(got))
	}
	var ds []engine.Document
	for i := range 20 {
		ds = append(ds, engine.Document{ID: fmt.Sprint(i), Title: "t", Text: fmt.Sprint("text ", i), Metadata: map[string]any{"third": i % 3}})
	}
	ds[7].Text = strings.Repeat("A sentence of some length. ", 400)
	if _, err := e.Add(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Upsert(t.Context(), []engine.Document{{ID: "3", Text: "new", Metadata: map[string]any{"third": 0}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Delete(t.Context(), []string{"0", "9"}); err != nil {
		t.Fatal(err)
	}
	got := all(t, e, engine.Filter{})
	if want := strings.Fields("1 2 4 5 6 7 8 10 11 12 13 14 15 16 17 18 19 3"); !slices.Equal(idsOf(got), want) {
		t.Fatalf("%v, want %v", idsOf(got), want)
	}
	for _, d := range got {
		if want, err := e.Get(t.Context(), d.ID); err != nil || !reflect.DeepEqual(d, want) {
			t.Errorf("%+v, Get has %+v, %v", d, want, err)
		}
	}
	f := filter.Eq("third", 0)
	if got, want := idsOf(all(t, e, f)), strings.Fields("6 12 15 18 3"); !slices.Equal(got, want) {
		t.Errorf("%v meet the filter, want %v", got, want)
	}
	for _, c := range []struct {
		f    engine.Filter
		want int
	}{{engine.Filter{}, 18}, {f, 5}, {filter.Eq("third", 4), 0}} {
		if n, err := e.Count(t.Context(), c.f); err != nil || n != c.want {
			t.Errorf("%v: %d, want %d (%v)", c.f, n, c.want, err)
		}
	}
}

// A walk sees the commit at which it began, whatever is written meanwhile, and by
// the loop itself.
func TestAllIsOneState(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	if _, err := e.Add(t.Context(), docs(0, 10)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for d, err := range e.All(t.Context(), engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if _, err := e.Delete(t.Context(), []string{"d5", "d6"}); err != nil {
				t.Fatal(err)
			}
		}
		if d.ID != fmt.Sprint("d", n) {
			t.Fatalf("document %d is %q", n, d.ID)
		}
		if _, err := e.Add(t.Context(), docs(100+n, 101+n)); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 10 {
		t.Errorf("%d documents, want 10", n)
	}
}

func TestAllEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e, err := engine.Open(ctx, t.TempDir(), encoder.NewHash(dim), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Add(ctx, docs(0, 10)); err != nil {
		t.Fatal(err)
	}
	last := func(ctx context.Context, f engine.Filter, body func(n int)) (n int, err error) {
		for _, err := range e.All(ctx, f) {
			if err != nil {
				return n, err
			}
			n++
			body(n)
		}
		return n, nil
	}
	if n, err := last(ctx, filter.Eq("a", make(chan int)), func(int) {}); n != 0 || !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("bad filter: %d, %v", n, err)
	}
	if n, err := e.Count(ctx, filter.Eq("a", make(chan int))); n != 0 || !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("bad filter: %d, %v", n, err)
	}
	if n, err := last(ctx, engine.Filter{}, func(n int) {
		if n == 4 {
			cancel()
		}
	}); n != 4 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", n, err)
	}
	if n, err := last(t.Context(), engine.Filter{}, func(n int) {
		if n == 3 {
			if err := e.Close(); err != nil { // does not wait for the loop
				t.Fatal(err)
			}
		}
	}); n != 3 || !errors.Is(err, engine.ErrClosed) {
		t.Errorf("closed: %d, %v", n, err)
	}
	if n, err := last(t.Context(), engine.Filter{}, func(int) {}); n != 0 || !errors.Is(err, engine.ErrClosed) {
		t.Errorf("begun closed: %d, %v", n, err)
	}
	if _, err := e.Count(t.Context(), engine.Filter{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("count: %v", err)
	}
}
