package inverted_test

import (
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// TestHolds: a document has its own terms in their order, and no others, as edited
// and as opened from a file.
func TestHolds(t *testing.T) {
	x, err := inverted.NewWords(inverted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	terms := func(words ...string) (out []text.Term) {
		for _, w := range words {
			out = append(out, text.Term{Text: w})
		}
		return out
	}
	beside := []text.Term{{Text: "a"}, {Text: "b", Beside: true}}
	titled := []text.Term{{Text: "a", Title: true}, {Text: "b"}}
	e := x.Edit()
	for id, list := range map[uint64][]text.Term{1: terms("a", "b", "a"), 2: nil, 3: beside, 4: terms("gone"), 6: titled} {
		if err := e.Add(id, list); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := e.Remove([]uint64{4}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	x = e.Done()
	for range 2 {
		for _, c := range []struct {
			id    uint64
			terms []text.Term
			want  bool
		}{
			{1, terms("a", "b", "a"), true}, {1, terms("a", "a", "b"), false}, {1, terms("a", "b"), false}, {1, terms("a", "b", "a", "a"), false},
			{1, terms("a", "c", "a"), false}, {2, nil, true}, {2, terms("a"), false}, {3, beside, true}, {3, terms("a", "b"), false},
			{4, terms("gone"), false}, {5, nil, false}, {6, titled, true}, {6, terms("a", "b"), false}, {1, []text.Term{{Text: "a", Title: true}, {Text: "b"}, {Text: "a"}}, false},
		} {
			if got, err := x.Holds(c.id, c.terms); got != c.want || err != nil {
				t.Errorf("document %d, %v: %t, %v", c.id, c.terms, got, err)
			}
		}
		if x, err = open(inverted.Options{}, saved(t, x)); err != nil {
			t.Fatal(err)
		}
	}
}
