package ridge

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
)

// looked is a context that counts the looks at it, and ends at one of them.
type looked struct {
	context.Context
	looks, end int
}

func (l *looked) Err() error {
	if l.looks++; l.looks > l.end {
		return context.Canceled
	}
	return nil
}

// TestEditObeysItsContext: one call of an Edit looks at its context as often as its work
// asks for, however much it is given, and ends at any of these looks without a trace.
func TestEditObeysItsContext(t *testing.T) {
	const d, vocab, n = 512, 30, 600
	r := rand.New(rand.NewPCG(7, 1))
	g := newGrowing(d, vocab)
	for range 10 {
		var ps []passage
		for range n / 10 {
			ps = append(ps, randomPassage(r, d, vocab))
		}
		g.add(ps...)
	}
	g.settle(t)
	qs := someQuestions(r, d, vocab, 5)
	before := answers(t, g.Sums, qs)
	var more []passage
	for range n {
		more = append(more, randomPassage(r, d, vocab))
	}
	moreIDs, moreXs, moreTokens := g.take(more)
	var ids []uint64
	var xs [][]float32
	var tokens [][]int32
	for _, p := range g.all {
		ids, xs, tokens = append(ids, p.id), append(xs, p.x), append(tokens, p.tokens)
	}
	for _, c := range []struct {
		name  string
		least int // looks: a number for each 2²¹ multiplications, and for eight steps of the inverse
		do    func(e *Edit) error
	}{
		{"add", 3, func(e *Edit) error { return e.AddAll(moreIDs, moreXs, moreTokens) }},
		{"remove", 3, func(e *Edit) error { return e.RemoveAll(ids, xs, tokens) }},
		{"steps", 8, func(e *Edit) error {
			if err := e.RemoveAll(ids[:64], xs[:64], tokens[:64]); err != nil {
				return err
			}
			_, err := e.Done()
			return err
		}},
	} {
		all := &looked{t.Context(), 0, 1 << 30}
		if err := c.do(g.Edit().Obey(all)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if all.looks < c.least {
			t.Errorf("%s looks at its context %d times, not %d", c.name, all.looks, c.least)
		}
		for end := range all.looks {
			if err := c.do(g.Edit().Obey(&looked{t.Context(), 0, end})); !errors.Is(err, context.Canceled) {
				t.Errorf("%s cancelled at look %d: %v", c.name, end, err)
			}
		}
		if after := answers(t, g.Sums, qs); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: what was cancelled has changed the sums before it", c.name)
		}
	}
}
