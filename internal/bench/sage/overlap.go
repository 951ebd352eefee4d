package sage

import (
	"context"
	"slices"
)

// Jaccard is the number of common distinct tokens of two texts, divided by the number of all.
var _ = register(similarity{
	Name: "jaccard", Doc: "distinct tokens in common, divided by all distinct tokens",
	Prepare: func(_ context.Context, _ env, texts []string) (scorer, error) {
		sets := tokenize(texts)
		for i := range sets {
			sets[i] = slices.Compact(sorted(sets[i]))
		}
		return pairwise(func(a, b int) float64 {
			common := overlap(sets[a], sets[b])
			if all := len(sets[a]) + len(sets[b]) - common; all > 0 {
				return float64(common) / float64(all)
			}
			return 1
		}), nil
	},
})

// ROUGE is the mean of the F-measures of ROUGE-1 and ROUGE-2 (Lin 2004), which count common tokens and
// token pairs.
var _ = register(similarity{
	Name: "rouge", Doc: "mean F-measure of ROUGE-1 and ROUGE-2 over tokens",
	Prepare: func(_ context.Context, _ env, texts []string) (scorer, error) {
		return newRouge(tokenize(texts)), nil
	},
})

func newRouge(tokens [][]int32) scorer {
	ones, twos := make([][]int32, len(tokens)), make([][]int64, len(tokens))
	for i, t := range tokens {
		ones[i] = sorted(t)
		for j := 1; j < len(t); j++ {
			twos[i] = append(twos[i], int64(t[j-1])<<32|int64(t[j]))
		}
		twos[i] = sorted(twos[i])
	}
	return pairwise(func(a, b int) float64 {
		return (fMeasure(overlap(ones[a], ones[b]), len(ones[a]), len(ones[b])) +
			fMeasure(overlap(twos[a], twos[b]), len(twos[a]), len(twos[b]))) / 2
	})
}

// fMeasure is the F measure of the number in common; 0 if a side is empty.
func fMeasure(common, a, b int) float64 {
	if common == 0 {
		return 0
	}
	return 2 * float64(common) / float64(a+b)
}

// pairwise is a measure that depends on two texts only.
type pairwise func(a, b int) float64

func (f pairwise) Against(candidates []int) func(dst []float64, query int) {
	return func(dst []float64, query int) {
		for i, at := range candidates {
			dst[i] = f(query, at)
		}
	}
}
