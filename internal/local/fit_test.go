package local

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
)

// A matrix that rounding has spoilt gets ten times the ridge until it can be inverted.
func TestRidgeIsRaised(t *testing.T) {
	const n = 9
	a := make([]float32, n*n)
	for i := range n {
		a[i*n+i] = 1
	}
	a[7*n+8], a[8*n+7] = 2, 2 // eigenvalues 3 and −1
	got, err := ridgeInverse(ctx, a, n, 0.15)
	if err != nil {
		t.Fatal(err)
	}
	// With 1.5 the corner is 2.5 and 2, its inverse 2.5 and −2 over 2.25.
	for i := range n {
		for j := range n {
			want := 0.0
			switch {
			case i == j && i < 7:
				want = 1 / 2.5
			case i == j:
				want = 2.5 / 2.25
			case i+j == 15:
				want = -2 / 2.25
			}
			if !(math.Abs(float64(got[i*n+j])-want) < 1e-6) {
				t.Errorf("%d, %d is %v, not %v", i, j, got[i*n+j], want)
			}
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := ridgeInverse(cancelled, a, n, 0.15); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Tokens stand in order, those with a row first, and the passages of each in theirs,
// however large the vocabulary.
func TestTokensInOrder(t *testing.T) {
	const d, n = 3, 60
	members, want := make([]member, n), map[uint32][]uint32{}
	for i := range members {
		tokens := []uint32{300, 1 << 20, uint32(n - i), uint32(i%20) << 8, uint32(i) << 24}
		slices.Sort(tokens)
		members[i] = member{uint64(i), slices.Compact(tokens)}
		for _, t := range members[i].tokens {
			want[t] = append(want[t], uint32(i))
		}
	}
	c := &cell{}
	c.enter(members, make([]float32, n*d), d, 3)
	rows := len(c.rowScale)
	if rows != 20 || len(c.tokens) != len(want) || !slices.IsSorted(c.tokens[:rows]) || !slices.IsSorted(c.tokens[rows:]) {
		t.Fatalf("%d tokens, of which %d have rows: %v", len(c.tokens), rows, c.tokens)
	}
	for i, token := range c.tokens {
		if got := c.slots[c.starts[i]:c.starts[i+1]]; !slices.Equal(got, want[token]) || (i < rows) != (len(got) >= 3 && len(got) < n) {
			t.Errorf("token %d of passages %v, not %v", token, got, want[token])
		}
	}
}
