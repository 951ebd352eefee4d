package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

// endOf is a count of the documents of a walk, up to its error.
func endOf(walk iter.Seq2[engine.Document, error], body func(n int)) (n int, err error) {
	for _, err := range walk {
		if err != nil {
			return n, err
		}
		n++
		body(n)
	}
	return n, nil
}

// endings: a walk over ten documents or more ends with its context, with the database, and does not begin after either.
func endings(t *testing.T, e *engine.Engine, walk func(ctx context.Context) iter.Seq2[engine.Document, error]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n, err := endOf(walk(ctx), func(n int) {
		if n == 4 {
			cancel()
		}
	}); n != 4 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", n, err)
	}
	if n, err := endOf(walk(t.Context()), func(n int) {
		if n == 3 {
			if err := e.Close(); err != nil { // does not wait for the loop
				t.Fatal(err)
			}
		}
	}); n != 3 || !errors.Is(err, engine.ErrClosed) {
		t.Errorf("closed: %d, %v", n, err)
	}
	if n, err := endOf(walk(t.Context()), func(int) {}); n != 0 || !errors.Is(err, engine.ErrClosed) {
		t.Errorf("begun closed: %d, %v", n, err)
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
	if n, err := endOf(e.All(ctx, filter.Eq("a", make(chan int))), func(int) {}); n != 0 || !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("bad filter: %d, %v", n, err)
	}
	if n, err := e.Count(ctx, filter.Eq("a", make(chan int))); n != 0 || !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("bad filter: %d, %v", n, err)
	}
	endings(t, e, func(ctx context.Context) iter.Seq2[engine.Document, error] { return e.All(ctx, engine.Filter{}) })
	if _, err := e.Count(t.Context(), engine.Filter{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("count: %v", err)
	}
}

// pages reads a list page by page, each after the last id of the one before, and does what the test wants with each
// document that it reads.
func pages(t *testing.T, db engine.Database, f engine.Filter, size int, read func(id string)) (ids []string) {
	t.Helper()
	for after := ""; ; {
		n := 0
		for d, err := range db.List(t.Context(), f, after) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n > size {
				break
			}
			after = d.ID
			ids = append(ids, d.ID)
			read(d.ID)
		}
		if n <= size {
			return ids
		}
	}
}

// TestListPages: each document that is stored throughout is on one page, in the order of ids, whatever is written
// between and within the pages.
func TestListPages(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	ds := docs(0, 600) // more than are read and sorted at once
	even := 0          // of those whose ids begin with d1
	for i := range ds {
		ds[i].Metadata["even"] = i%2 == 0
		if i%2 == 0 && strings.HasPrefix(ds[i].ID, "d1") {
			even++
		}
	}
	odd := []string{"\x00", "\x00\x00", "a/b", "d", "d1\x00", "d1\xff", "\xff\xff", "é"}
	for _, id := range odd {
		ds = append(ds, engine.Document{ID: id, Text: text(1), Metadata: map[string]any{"even": true}})
	}
	add(t, e, ds)
	all := idsOf(ds)
	slices.Sort(all)
	none := func(string) {}
	for _, size := range []int{1, 7, 128, 1000} {
		if got := pages(t, e, engine.Filter{}, size, none); !slices.Equal(got, all) {
			t.Fatalf("pages of %d: %q, want %q", size, got, all)
		}
	}
	for d, err := range e.List(t.Context(), engine.Filter{}, "d12") {
		if want, gerr := e.Get(t.Context(), d.ID); err != nil || gerr != nil || d.ID != "d120" || !reflect.DeepEqual(d, want) {
			t.Errorf("after d12: %+v, %v", d, err)
		}
		break
	}
	want := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id <= "d298" })
	if got := pages(t, e, filter.Gt("id", "d298"), 2, none); !slices.Equal(got, want) {
		t.Errorf("by a filter: %q, want %q", got, want)
	}
	if got := pages(t, e, filter.And(filter.Eq("even", true), filter.Prefix("id", "d1")), 3, none); len(got) != even+2 {
		t.Errorf("by two fields: %d: %q", len(got), got)
	}
	// Each is changed as it is read, another one that was read is replaced, one comes and one goes.
	n := 0
	got := pages(t, e, engine.Filter{}, 10, func(id string) {
		if n++; n%4 != 0 {
			return
		}
		if _, err := e.Patch(t.Context(), []engine.Patch{{ID: id, Metadata: map[string]any{"seen": n}}}); err != nil {
			t.Fatal(err)
		}
		if n%12 == 0 {
			if _, err := e.Upsert(t.Context(), []engine.Document{{ID: all[n/2], Text: "replaced", Metadata: map[string]any{"even": true}}, {ID: fmt.Sprint("new", n), Text: "new"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Delete(t.Context(), []string{fmt.Sprint("new", n-24)}); err != nil {
				t.Fatal(err)
			}
		}
	})
	seen := map[string]int{}
	for _, id := range got {
		seen[id]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%q is listed %d times", id, n)
		}
	}
	for _, id := range all {
		if seen[id] != 1 {
			t.Errorf("%q is listed %d times", id, seen[id])
		}
	}
	if !slices.IsSorted(got) {
		t.Errorf("not in the order of ids: %q", got)
	}
	// One page is one commit: what its loop writes is not on it.
	for d, err := range e.List(t.Context(), engine.Filter{}, "d298") {
		if err != nil {
			t.Fatal(err)
		}
		if d.Metadata["later"] != nil || d.ID == "d2999" {
			t.Fatalf("%q was written by the loop", d.ID)
		}
		if d.ID == "d299" {
			if _, err := e.Upsert(t.Context(), []engine.Document{{ID: "d2999", Text: "x"}, {ID: "d3", Text: "x", Metadata: map[string]any{"later": 1}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestListEnds(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 600)) // more than are read and sorted at once
	for _, f := range []engine.Filter{{}, filter.Lt("n", 20)} {
		var want, got []string
		for d, err := range e.All(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			if d.ID > "d15" {
				want = append(want, d.ID)
			}
		}
		for d, err := range e.List(t.Context(), f, "d15") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d.ID)
		}
		if slices.Sort(want); len(want) < 10 || !slices.Equal(got, want) {
			t.Fatalf("%v: %d listed, want %d: %q", f, len(got), len(want), got)
		}
	}
	if n, err := endOf(e.List(t.Context(), filter.Eq("id", 7), ""), func(int) {}); n != 0 || !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("bad filter: %d, %v", n, err)
	}
	endings(t, e, func(ctx context.Context) iter.Seq2[engine.Document, error] { return e.List(ctx, engine.Filter{}, "") })
}
