package engine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/internal/late"
)

// tallied counts the passages that an encoder is asked for.
type tallied struct {
	encoder.Encoder
	passages atomic.Int64
}

func (t *tallied) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if role == encoder.Passage {
		t.passages.Add(int64(len(in)))
	}
	return t.Encoder.Encode(ctx, role, in, need)
}

// closeScores is a difference of scores that rounding to 4 bits leaves open.
const closeScores = 0.03

// TestTokenStatesFromCache: a database whose texts an earlier one has had encodes none of them,
// and is the same to the byte. Searches find what they find without a cache, in the same order.
func TestTokenStatesFromCache(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	docs := madeDocs(rand.New(rand.NewPCG(9, 1)), 0, 300)
	made := func(o Options) (*Engine, func() int64) {
		enc := &tallied{Encoder: encoder.NewHash(madeDim)}
		c, err := encoder.NewCache(enc, folder, encoder.CacheOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := open(t.Context(), t.TempDir(), c, o, autoHNSW)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			closed(t, e)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		put(t, e, docs...)
		flushed(t, e)
		return e, func() int64 { return enc.passages.Swap(0) }
	}
	first, asked := made(fineOptions)
	if n := asked(); n < 300 {
		t.Fatalf("%d passages encoded", n)
	}
	codedAll(t, "first", first)
	if n := asked(); n != 0 { // codedAll asks for every one
		t.Errorf("%d passages encoded to compare their codes", n)
	}
	second, asked := made(fineOptions)
	// Off, and given to it later.
	o := keptOptions
	o.TokenStates = TokenStatesOff
	_, lateAsked := made(o)
	if n, m := asked(), lateAsked(); n != 0 || m != 0 {
		t.Errorf("%d and %d passages encoded again", n, m)
	}
	codedAll(t, "second", second)
	if exportOf(t, first, archive.ExportOptions{Vectors: true}) != exportOf(t, second, archive.ExportOptions{Vectors: true}) {
		t.Error("vectors or token states differ")
	}
	sameOrder(t, second)
}

// sameOrder compares the codes of a database, which are of states from a cache, with those that the
// same bases make of fresh ones: a query finds the passages in the same order, but for those that are as close.
func sameOrder(t *testing.T, e *Engine) {
	t.Helper()
	bases := e.searchable()
	var kept, fresh [][]byte
	s := e.db.Present()
	for ord := range s.Live.All {
		d, err := s.View.Get(t.Context(), ord)
		if err != nil {
			t.Fatal(err)
		}
		out, err := encoder.NewHash(madeDim).Encode(t.Context(), encoder.Passage, e.passages(d), encoder.NeedHidden)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range d.Rows {
			c, err := late.Parse(r.Codes)
			if err != nil {
				t.Fatal(err)
			}
			b := bases[slices.IndexFunc(bases, func(b *late.Basis) bool { return b.ID() == c.Basis() })]
			codes, err := late.Coder{Basis: b, Bits: c.Bits()}.Encode(nil, out[i].Hidden, late.Skip(e.passages(d)[i].Text, out[i].Tokens))
			if err != nil {
				t.Fatal(err)
			}
			kept, fresh = append(kept, r.Codes), append(fresh, codes)
		}
	}
	for _, p := range tokenProbes {
		out, err := encoder.NewHash(madeDim).Encode(t.Context(), encoder.Query, encoder.Texts(p.Text), encoder.NeedHidden)
		if err != nil {
			t.Fatal(err)
		}
		q, err := late.NewQuery(out[0].Hidden, out[0].Tokens.Special, nil, bases...)
		if err != nil {
			t.Fatal(err)
		}
		got, want := make([]late.Match, len(kept)), make([]late.Match, len(kept))
		if err := errors.Join(q.ScoreAll(t.Context(), got, kept), q.ScoreAll(t.Context(), want, fresh)); err != nil {
			t.Fatal(err)
		}
		order := make([]int, len(got))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(got[b].Whole, got[a].Whole) })
		sum := 0.0
		for i := range got {
			sum += math.Abs(got[i].Whole - want[i].Whole)
		}
		if mean := sum / float64(len(got)); mean > closeScores/10 {
			t.Errorf("%q: scores differ by %v in the mean", p.Text, mean)
		}
		least := math.Inf(1) // of those before, by fresh states
		for rank, i := range order {
			if want[i].Whole > least+closeScores {
				t.Errorf("%q: passage %d stands at %d, behind one that fresh states score %v lower", p.Text, i, rank, want[i].Whole-least)
			}
			least = min(least, want[i].Whole)
		}
	}
}
