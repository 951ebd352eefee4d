package inverted_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// TestHaving: a phrase, a word and a prefix find what a walk over all documents finds, as edited, as opened from a
// file, and edited again; what was removed is not found.
func TestHaving(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 9))
	x, err := inverted.NewWords(inverted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	docs := map[uint64][]text.Term{}
	edit := func(lo, hi uint64) {
		t.Helper()
		e := x.Edit()
		for id := lo; id < hi; id++ {
			var terms []text.Term
			for range r.IntN(12) {
				terms = append(terms, text.Term{Text: fmt.Sprint("w", r.IntN(14)), Beside: r.IntN(5) == 0})
			}
			docs[id] = terms
			if err := e.Add(id, terms); err != nil {
				t.Fatal(err)
			}
		}
		gone := lo + uint64(r.IntN(int(hi-lo)))
		delete(docs, gone)
		if _, err := e.Remove([]uint64{gone}); err != nil {
			t.Fatal(err)
		}
		x = e.Done()
	}
	check := func() {
		t.Helper()
		for range 300 {
			var phrase []text.Term
			var words []string
			for range 1 + r.IntN(3) {
				phrase = append(phrase, text.Term{Text: fmt.Sprint("w", r.IntN(15))})
				words = append(words, phrase[len(phrase)-1].Text)
				if r.IntN(4) == 0 {
					phrase = append(phrase, text.Term{Text: "left out", Beside: true})
				}
			}
			same(t, docs, fmt.Sprint(words), func(has []text.Term) bool {
				var order, all []string
				for _, h := range has {
					if all = append(all, h.Text); !h.Beside {
						order = append(order, h.Text)
					}
				}
				if len(words) == 1 {
					return slices.Contains(all, words[0])
				}
				return strings.Contains(" "+strings.Join(order, " ")+" ", " "+strings.Join(words, " ")+" ")
			}, func() ([]uint64, error) { return x.Having(t.Context(), nil, phrase) })
		}
		for _, prefix := range []string{"w1", "w", "w13", "v", "w130"} {
			same(t, docs, prefix, func(has []text.Term) bool {
				return slices.ContainsFunc(has, func(h text.Term) bool { return strings.HasPrefix(h.Text, prefix) })
			}, func() ([]uint64, error) {
				terms, err := x.Prefixed(t.Context(), prefix)
				if err != nil {
					return nil, err
				}
				return x.HavingAny(t.Context(), nil, terms)
			})
		}
		if got, err := x.Prefixed(t.Context(), "w"); err != nil || len(got) < 3 || !slices.IsSortedFunc(got, func(a, b int) int { return x.DF(b) - x.DF(a) }) {
			t.Errorf("the words, the most frequent first: %v, %v", got, err)
		}
	}
	edit(0, 400)
	check()
	if x, err = open(inverted.Options{}, saved(t, x)); err != nil {
		t.Fatal(err)
	}
	check()
	edit(300, 700)
	check()
	if got, err := x.Having(t.Context(), nil, nil); len(got) > 0 || err != nil {
		t.Errorf("no word is found in %v, %v", got, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := x.Having(ended, nil, []text.Term{{Text: "w1"}}); err == nil {
		t.Error("an ended call goes on")
	}
}

func same(t *testing.T, docs map[uint64][]text.Term, what string, has func([]text.Term) bool, find func() ([]uint64, error)) {
	t.Helper()
	got, err := find()
	if err != nil {
		t.Fatal(err)
	}
	var want []uint64
	for id, terms := range docs {
		if has(terms) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Fatalf("%s: in %v, want %v", what, got, want)
	}
}
