package modulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/fuse"
	"github.com/lexsem/lexsem/internal/ridge"
)

// more is a query with tokens behind it that nobody knows: in the vocabulary without a passage, and beyond it.
func more(r *rand.Rand, in Input, unknown int32, n int) Input {
	t := &in.Tokens
	t.IDs, t.Special, t.Offsets = slices.Clone(t.IDs), slices.Clone(t.Special), slices.Clone(t.Offsets)
	in.Hidden = slices.Clone(in.Hidden)
	for i := range n {
		id := []int32{lawVocab, -1}[i%2]
		if id *= int32(1 + 100*n + i); n == 1 {
			id = unknown
		}
		t.IDs, t.Special, t.Offsets = append(t.IDs, id), append(t.Special, false), append(t.Offsets, encoder.Span{})
		for range lawDim {
			in.Hidden = append(in.Hidden, float32(r.NormFloat64()))
		}
	}
	return in
}

// apart is the angle between two unit vectors, exact for small ones.
func apart(a, b []float32) float64 {
	var ss float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		ss += d * d
	}
	return 2 * math.Asin(min(1, math.Sqrt(ss)/2))
}

// TestLawReach: words that nobody knows never move a query further from its dense vector than what is known of it did,
// and nearer the more there are; they alone move nothing. Stacks of a fitted and an additive part are left out: the two
// may cancel each other. Whole variants read the states of all tokens.
func TestLawReach(t *testing.T) {
	const unknown = lawVocab - 1
	each(t, func(t *testing.T, r *rand.Rand, s Stack) {
		kinds := map[Kind]bool{}
		for _, v := range s.Parts() {
			if kinds[v.Kind] = true; v.Whole {
				return
			}
		}
		if len(kinds) > 1 {
			return
		}
		all := make([]passage, 40)
		for i := range all {
			all[i] = randomPassage(r, lawDim, lawVocab-1)
		}
		parts := lawParts(t, r, s.Name(), 1)
		parts.Sums = sumsOver(lawDim, lawVocab, all...)
		if w := parts.Weights.Projection; s.Fitted() {
			if s.ReadsSums() {
				start, err := s.Start(lawDim, lawVocab, 5, parts)
				if err != nil {
					t.Fatal(err)
				}
				parts.Weights.Heads = start.Heads
			}
			kept, err := NewProjection(lawDim, w.VocabSize())
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range w.Tokens() {
				if id%lawVocab == unknown {
					continue
				}
				if err := kept.Touch(id); err != nil {
					t.Fatal(err)
				}
				copy(kept.rows[len(kept.rows)-lawDim:], w.rows[w.Slot(id)*lawDim:])
			}
			parts.Weights.Projection = kept
		}
		m := build(t, s.Name(), parts)
		known, moved := 0, 0.0
		for range 50 {
			in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab-1, 1+r.IntN(9)))
			if slices.ContainsFunc(in.Tokens.Lexical(nil), func(t int32) bool { return parts.Sums.DF(t) == 0 }) {
				continue
			}
			known++
			far := apart(m.Modulate(nil, in), in.Dense)
			moved += far
			for _, n := range []int{1, 3, 20} {
				now := apart(m.Modulate(nil, more(r, in, unknown, n)), in.Dense)
				if !(now < far) && now > 1e-6 {
					t.Fatalf("%d more unknown words: %v from the dense vector, %v before", n, now, far)
				}
				if n == 20 && now > far/2 {
					t.Fatalf("of a query of which little is known the vector still moves by %v of %v", now, far)
				}
				in, far = more(r, in, unknown, n), now
			}
		}
		if known < 20 || moved < 0.5 {
			t.Fatalf("%d queries moved by %v in all", known, moved)
		}
		alone := fullInput(r, lawDim, lawVocab, tokens())
		alone = more(r, alone, unknown, 5)
		if !same(m.Modulate(nil, alone), alone.Dense) {
			t.Error("unknown words alone move the query")
		}
	})
}

// TestReachOfRLR holds the length of a shift to the share by idf, exactly α where all is known.
func TestReachOfRLR(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	all := make([]passage, 60)
	for i := range all {
		all[i] = randomPassage(r, lawDim, lawVocab-1)
	}
	sums := sumsOver(lawDim, lawVocab, all...)
	reg, err := newRLR(sums, RLROptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := fullInput(r, lawDim, lawVocab, tokens(5, 9, 11))
	whole := make([]float32, lawDim)
	if !reg.AddShift(whole, in) {
		t.Fatal("no shift")
	}
	known := 0.0
	for _, id := range []int32{5, 9, 11} {
		known += sums.IDF(id)
	}
	for n, share := range []float64{1, known / (known + ridge.IDF(sums.Len(), 0)), known / (known + 2*ridge.IDF(sums.Len(), 0))} {
		asked := in
		for i := range n {
			asked.Tokens.IDs, asked.Tokens.Special = append(slices.Clone(asked.Tokens.IDs), lawVocab+int32(i)), append(slices.Clone(asked.Tokens.Special), false)
		}
		want := make([]float32, lawDim)
		shift := slices.Clone(whole)
		for i := range shift {
			shift[i] *= float32(share)
		}
		fuse.Fuse(want, make([]float32, lawDim), in.Dense, nil, shift)
		got := reg.Modulate(nil, asked)
		if d := maxDiff(got, want); d > 1e-7 || n == 0 && !same(got, want) {
			t.Errorf("%d unknown words: %g from a shift of %v of its length", n, d, share)
		}
	}
}
