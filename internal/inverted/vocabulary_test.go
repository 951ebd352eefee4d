package inverted_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// checkVocabulary compares what an index tells of its terms with the model.
func (m model) checkVocabulary(t *testing.T, r *rand.Rand, x *inverted.Words, vocab int) {
	t.Helper()
	having := func(word string) (ids []uint64) {
		for id, d := range m.docs {
			if slices.ContainsFunc(d, func(t text.Term) bool { return t.Text == word }) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	numbers := map[string]int{}
	for n := range x.Terms() {
		if _, twice := numbers[x.Term(n)]; twice {
			t.Fatalf("term %q is there twice", x.Term(n))
		}
		numbers[x.Term(n)] = n
	}
	for range 8 {
		word := zipf(r, vocab)
		ids := having(word)
		n, ok := x.Find(word)
		if ok != (len(ids) > 0) {
			t.Fatalf("%q of %d documents is found: %v", word, len(ids), ok)
		}
		if !ok {
			continue
		}
		if n != numbers[word] || x.DF(n) != len(ids) {
			t.Fatalf("%q is term %d in %d documents, want %d in %d", word, n, x.DF(n), numbers[word], len(ids))
		}
		most := 1 + r.IntN(len(ids)+2)
		some, err := x.Some(n, most)
		if err != nil || len(some) != min(most, len(ids)) {
			t.Fatalf("%d of %d documents with %q, most %d: %v", len(some), len(ids), word, most, err)
		}
		for i, id := range some {
			if !slices.Contains(ids, id) || slices.Contains(some[:i], id) {
				t.Fatalf("document %d has no %q, or is there twice", id, word)
			}
		}
		other := zipf(r, vocab)
		o, ok := x.Find(other)
		if !ok {
			continue
		}
		both := slices.ContainsFunc(ids, func(id uint64) bool { return slices.Contains(having(other), id) })
		rarer := min(x.DF(n), x.DF(o))
		for _, most := range []int{1, rarer, rarer + 1} {
			found, all, err := x.Together(t.Context(), n, o, most)
			if err != nil || all != (rarer <= most) || found && !both || all && found != both {
				t.Fatalf("%q and %q together: %v, all %v, most %d of %d; want %v: %v", word, other, found, all, most, rarer, both, err)
			}
		}
	}
}

func TestNumbering(t *testing.T) {
	x := newWords(t, small)
	e := x.Edit()
	for i := range uint64(9) {
		if err := e.Add(i, terms("w0", fmt.Sprint("w", i))); err != nil {
			t.Fatal(err)
		}
	}
	next := e.Done()
	if next.Numbering() != x.Numbering() {
		t.Error("an edit numbers anew")
	}
	if c := compacted(t, next); c.Numbering() == next.Numbering() {
		t.Error("a compaction keeps numbers")
	}
	if newWords(t, small).Numbering() == x.Numbering() {
		t.Error("two indexes have one numbering")
	}
}

func TestTogetherEndsWithItsContext(t *testing.T) {
	m := model{docs: map[uint64][]text.Term{1: terms("a", "b"), 2: terms("b", "a")}}
	x := m.fresh(t, small)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, _ := x.Find("a")
	b, _ := x.Find("b")
	if _, _, err := x.Together(ctx, a, b, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
