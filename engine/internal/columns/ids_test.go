package columns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/fault"
)

// ordinals are the ordinals of documents by their ids.
type ordinals map[string]uint64

func (s ordinals) ids(ctx context.Context, from, below string, fn func(id string, ord uint64) error) error {
	for _, id := range slices.Sorted(maps.Keys(s)) {
		if id < from || below != "" && id >= below {
			continue
		}
		if err := errors.Join(ctx.Err(), fn(id, s[id])); err != nil {
			return err
		}
	}
	return nil
}

// TestMatchIDs: a filter on id is answered by the ids of its commit, beside conditions on metadata, also where an answer
// is kept and brought up to date.
func TestMatchIDs(t *testing.T) {
	filters := []filter.Filter{
		filter.Eq("id", "a7"), filter.Not(filter.Eq("id", "a7")), filter.In("id", "a1", "none", "b3"), filter.Prefix("id", "a1"), filter.Prefix("id", "\x7f"), filter.Gt("id", "a90"),
		filter.Range("id", "a2", "a3"), filter.And(filter.Prefix("id", "b"), filter.Eq("even", true)), filter.Or(filter.Eq("id", "\x7f"), filter.Eq("even", false)), filter.Exists("id"),
		filter.Eq("metadata.id", "own"),
	}
	now, docs, there := New(), map[string]map[string]any{}, ordinals{}
	check := func() {
		t.Helper()
		for _, f := range filters {
			m, err := now.Match(t.Context(), f, there.ids)
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			n := 0
			for id, doc := range docs {
				want, err := f.MatchDocument(id, doc)
				if err != nil {
					t.Fatal(err)
				}
				if want {
					n++
				}
				if m.Allow(there[id]) != want {
					t.Errorf("%s on %q: %v", f, id, !want)
				}
			}
			if m.Len() != n {
				t.Errorf("%s: %d, want %d", f, m.Len(), n)
			}
		}
	}
	next := uint64(1)
	put := func(e *Edit, id string, doc map[string]any) {
		if old, ok := there[id]; ok {
			e.Remove(old)
		}
		if err := e.Add(next, encode(t, doc)); err != nil {
			t.Fatal(err)
		}
		there[id], docs[id] = next, doc
		next++
	}
	for round := range 4 {
		e := now.Edit()
		for i := range 100 {
			put(e, fmt.Sprint("ab"[i%2:i%2+1], i*(round+1)), map[string]any{"even": i%4 == 0, "round": round})
		}
		put(e, []string{"\x7f", "\x7f\x80", "\x80", "\xff"}[round], map[string]any{"id": "own"})
		e.Remove(there["a6"])
		delete(there, "a6")
		delete(docs, "a6")
		now = e.Done()
		check()
	}
	if _, err := now.Match(t.Context(), filter.Eq("id", "never asked"), nil); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("without ids: %v", err)
	}
	broken := errors.New("broken")
	if _, err := now.Match(t.Context(), filter.Lt("id", "x"), func(context.Context, string, string, func(string, uint64) error) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("an error of the ids: %v", err)
	}
	// A document that the columns do not have is damage, not a document that does not match.
	there["a1x"] = next + 5
	if _, err := now.Match(t.Context(), filter.Prefix("id", "a1x"), there.ids); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an id without a row: %v", err)
	}
}
