package modulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/fuse"
)

// The lexical side alone is norm(softmax(W·w + b)), with the w of the whole stack, and a query
// without tokens gets equal components.
func TestAlone(t *testing.T) {
	for _, name := range []string{"slr", "llr", "clr", "clr-softmax+slr"} {
		r := rand.New(rand.NewPCG(3, 4))
		s, err := ParseStack(name)
		if err != nil {
			t.Fatal(err)
		}
		p := lawParts(t, r, name, 0.2)
		p.Alone = true
		m, b := build(t, name, p), weigh(t, s, p)
		for range 30 {
			in := fullInput(r, lawDim, lawVocab, randomTokens(r, lawVocab, 1+r.IntN(12)))
			want := p.Weights.Projection.Factors(nil, b.Weigh(Lexical{}, in))
			var ss float64
			for _, x := range want {
				ss += float64(x) * float64(x)
			}
			for i := range want {
				want[i] /= float32(math.Sqrt(ss))
			}
			if d := maxDiff(m.Modulate(nil, in), want); d > 1e-5 {
				t.Fatalf("%s: off by %g", name, d)
			}
			in.Tokens = tokens()
			in.Hidden = make([]float32, 2*lawDim)
			if got := m.Modulate(nil, in); !same(got, fuse.Even(lawDim)) {
				t.Fatalf("%s: without tokens %v", name, got)
			}
			in.Dense = in.Dense[1:]
			if got := m.Modulate(nil, in); !same(got, in.Dense) {
				t.Fatalf("%s: a vector of another length became %v", name, got)
			}
		}
	}
	for _, name := range []string{"rlr", "whiten", "rlr+slr"} {
		p := lawParts(t, rand.New(rand.NewPCG(3, 4)), name, 1)
		p.Alone = true
		if _, err := NewStack(name, p); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
