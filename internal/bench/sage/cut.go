package sage

import (
	"fmt"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/parallel"
)

// cut reports, for a text as it is and with each share of filler at each place, whether
// the encoder cuts it off.
func (in input) cut(p bench.Passage) []bool {
	isCut := func(s string) bool { return in.enc.Tokenize(encoder.Passage, s).Truncated > 0 }
	out := []bool{isCut(p.Text())}
	for _, share := range insertion {
		for _, place := range places {
			out = append(out, isCut(in.inserted(p, share, place)))
		}
	}
	return out
}

// cuts calls cut for many texts.
func (in input) cuts(docs []bench.Passage) ([][]bool, error) {
	out := make([][]bool, len(docs))
	err := parallel.Each(in.ctx, len(docs), func(i int) error {
		out[i] = in.cut(docs[i])
		return nil
	})
	return out, err
}

// cutShares gives the share of cut texts for each kind of insertion.
func cutShares(cuts [][]bool) map[string]float64 {
	n := float64(len(cuts))
	out := map[string]float64{"as-is": 0, "any": 0}
	for _, share := range insertion {
		out[fmt.Sprint(share)] = 0
	}
	for _, c := range cuts {
		anyOne := 0.0
		for i, is := range c {
			if !is {
				continue
			}
			anyOne = 1
			if i == 0 {
				out["as-is"] += 1 / n
			} else {
				out[fmt.Sprint(insertion[(i-1)/len(places)])] += 1 / n / float64(len(places))
			}
		}
		out["any"] += anyOne / n
	}
	return out
}
