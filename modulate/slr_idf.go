package modulate

import (
	"math"

	"github.com/lexsem/lexsem/internal/ridge"
)

// The variant slr-idf is SLR (Eq. 5) with each token weighted by its idf in the corpus:
//
//	w_t = log(1 + idf_t/idf_max · 1[t occurs in the query])
//
// idf_t is that of RLR and changes with the corpus. idf_max is the idf of a token that no passage
// has, so no weight exceeds SLR's log 2.
var _ = Register(Variant{
	Name: "slr-idf",
	Kind: Multiplicative,

	ReadsSums: true,
	Weigh:     func(p Parts) (Weigher, error) { return rarity{p.Sums}, nil },
})

type rarity struct{ sums *ridge.Sums }

func (r rarity) Weigh(dst Lexical, in Input) Lexical {
	at := len(dst.IDs)
	dst.IDs = in.Tokens.Lexical(dst.IDs)
	n := r.sums.Len()
	most := ridge.IDF(n, 0)
	for _, t := range dst.IDs[at:] {
		dst.Weights = append(dst.Weights, float32(math.Log1p(r.sums.IDF(t)/most)))
	}
	return dst
}
