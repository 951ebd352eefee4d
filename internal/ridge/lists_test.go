package ridge

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLists holds passages to their postings: kept ones have their tokens in any
// order and number, and none has more, fewer or others.
func TestLists(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	const d, vocab = 8, 5000
	g := newGrowing(d, vocab)
	for range 60 {
		g.add(randomPassage(r, d, vocab))
	}
	gone := g.all[7]
	g.remove(7)
	for _, next := range []func() (*Sums, error){
		func() (*Sums, error) { return g.Compacted(t.Context()) },
		func() (*Sums, error) { return opened(g.Sums, saved(t, g.Sums)) },
		nil,
	} {
		holds, err := g.Lists(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range g.all {
			list := slices.Clone(p.tokens)
			slices.Reverse(list)
			if !holds(p.id, append(list, list...)) {
				t.Fatalf("passage %d lacks its own tokens", p.id)
			}
			other := int32(0)
			for slices.Contains(list, other) {
				other++
			}
			for what, wrong := range map[string][]int32{
				"fewer": distinctTokens(list)[1:], "more": append(slices.Clone(list), other),
				"others": append(distinctTokens(list)[1:], other), "impossible": append(slices.Clone(list), vocab), "below": append(slices.Clone(list), -1),
			} {
				if holds(p.id, wrong) {
					t.Fatalf("passage %d has %s tokens", p.id, what)
				}
			}
		}
		if holds(gone.id, gone.tokens) || holds(1<<30, nil) {
			t.Fatal("a passage that is not there has tokens")
		}
		if next == nil {
			break
		}
		if g.Sums, err = next(); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Lists(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
}

func distinctTokens(list []int32) []int32 {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
