package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestIDs: a view has the ids of its own commit, in the order of bytes, whatever was written since and is being written.
func TestIDs(t *testing.T) {
	s := open(t, t.TempDir(), small)
	odd := []string{"\x00", "a", "a\x00", "a\x00b", "\xff", "\xff\xff", "é"}
	var docs []*Document
	want := slices.Clone(odd)
	for i, id := range odd {
		docs = append(docs, doc(id, i))
	}
	for i := range 600 {
		docs = append(docs, doc(fmt.Sprint("d", i), i))
		want = append(want, fmt.Sprint("d", i))
	}
	add(t, s, docs...)
	slices.Sort(want)
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	b := begin(t, s)
	for _, id := range []string{"a", "d7", "d599"} {
		if _, _, err := b.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Put(ctx, doc("d8", 9)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(ctx, doc("d8new", 9)); err != nil {
		t.Fatal(err)
	}
	check := func(v *View, want []string) {
		t.Helper()
		for _, r := range [][2]string{{"", ""}, {"d", "e"}, {"d10", "d2"}, {"d7", "d7\x00"}, {"a", "a\x00"}, {"\xff", "\xff\x00"}, {"d599", ""}, {"\xff", ""}, {"x", "d"}, {"", "\x00"}, {"", "\x00\x00"}, {"none", "none\x00"}, {"d8new", "d8new\x00"}} {
			var in, got []string
			for _, id := range want {
				if id >= r[0] && (r[1] == "" || id < r[1]) {
					in = append(in, id)
				}
			}
			err := v.IDs(ctx, r[0], r[1], func(id string, ord uint64) error {
				got = append(got, id)
				if d, err := v.Text(t.Context(), ord); err != nil || d.ID != id {
					return fmt.Errorf("version %d of %q: %v, %w", ord, id, d, err)
				}
				return nil
			})
			if err != nil || !slices.Equal(got, in) {
				t.Errorf("%q: %q, %v; want %q", r, got, err, in)
			}
		}
	}
	check(v, want)
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	check(v, want)
	now, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	want = slices.DeleteFunc(append(want, "d8new"), func(id string) bool { return id == "a" || id == "d7" || id == "d599" })
	slices.Sort(want)
	check(now, want)
	enough := errors.New("enough")
	n := 0
	if err := now.IDs(ctx, "", "", func(string, uint64) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("%v after %d", err, n)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, below := range []string{"", "a\x00"} {
		if err := now.IDs(ended, "a", below, func(string, uint64) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("ended, to %q: %v", below, err)
		}
	}
}
