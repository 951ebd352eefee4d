package frame

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// TestPack: each text is in one batch, no batch is too large, and the longest texts come first.
func TestPack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		texts, total := make([]encoder.Output, r.IntN(60)), 0
		for i := range texts {
			texts[i].Tokens.IDs = make([]int32, r.IntN(90))
			total += len(texts[i].Tokens.IDs)
		}
		p := Packing{Tokens: 1 + r.IntN(200), Padded: r.IntN(2) == 0}
		limit := p.Tokens
		if !p.Padded && r.IntN(2) == 0 {
			p.Spread, p.Least = 1+r.IntN(4), 16
			limit = min(limit, max(p.Least, (total+p.Spread-1)/p.Spread))
		}
		var seen []int
		last := math.MaxInt
		for batch := range p.Pack(texts) {
			sum, longest := 0, 0
			for _, i := range batch {
				n := len(texts[i].Tokens.IDs)
				if n > last {
					t.Fatalf("a text of %d tokens comes after one of %d", n, last)
				}
				last = n
				sum, longest = sum+n, max(longest, n)
			}
			if p.Padded {
				sum = longest * len(batch)
			}
			if sum > limit && len(batch) > 1 && longest > 0 {
				t.Fatalf("%+v: a batch of %d texts has %d tokens, more than %d", p, len(batch), sum, limit)
			}
			seen = append(seen, batch...)
		}
		slices.Sort(seen)
		for i := range texts {
			if len(seen) != len(texts) || seen[i] != i {
				t.Fatalf("%+v: %d texts are packed as %v", p, len(texts), seen)
			}
		}
	}
}

// TestRun: no more batches than slots run at one time, and none begins after an error or the end of ctx.
func TestRun(t *testing.T) {
	batches := slices.Values([][]int{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}})
	var running, most, done atomic.Int64
	if err := NewSlots(2).Run(t.Context(), batches, func(context.Context, []int) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		done.Add(1)
		return nil
	}); err != nil || done.Load() != 8 || most.Load() > 2 {
		t.Errorf("%v, %d batches, %d at one time", err, done.Load(), most.Load())
	}

	failed := errors.New("failed")
	done.Store(0)
	err := NewSlots(1).Run(t.Context(), batches, func(context.Context, []int) error {
		if done.Add(1) == 3 {
			return failed
		}
		return nil
	})
	if !errors.Is(err, failed) || done.Load() != 3 {
		t.Errorf("%v after %d batches", err, done.Load())
	}

	ctx, cancel := context.WithCancel(t.Context())
	done.Store(0)
	err = NewSlots(1).Run(ctx, batches, func(context.Context, []int) error {
		if done.Add(1) == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || done.Load() != 3 {
		t.Errorf("%v after %d batches", err, done.Load())
	}
}

// fixed scores every pair alike.
type fixed float64

func (f fixed) Score(_ context.Context, scores []float64, _ []encoder.Output, _ [][]int32, batch []int) error {
	for _, i := range batch {
		scores[i] = float64(f)
	}
	return nil
}

func (fixed) Close() error { return nil }

// TestCrossNoScore: a model that gives no finite score is an error, not a place in an order.
func TestCrossNoScore(t *testing.T) {
	p, err := LoadPair(encoders.Crosses(t)["bert"], 0)
	if err != nil {
		t.Fatal(err)
	}
	unusable := errors.New("unusable model")
	for score, ok := range map[float64]bool{0: true, -3: true, math.NaN(): false, math.Inf(1): false, math.Inf(-1): false} {
		c := NewCross(p, fixed(score), Packing{Tokens: 64}, 2, unusable)
		got, err := c.Rerank(t.Context(), "a", []string{"b", "c"})
		if ok && (err != nil || !slices.Equal(got, []float64{score, score})) || !ok && !errors.Is(err, unusable) {
			t.Errorf("%v: %v, %v", score, got, err)
		}
	}
}
