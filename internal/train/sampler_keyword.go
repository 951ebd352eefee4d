package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Keyword draws three to eight content words of a passage without replacement, each with a
// probability proportional to its idf, in random order and in the passage's spelling. A passage
// with fewer content words gives all of them.
var Keyword = registerSampler(Sampler{
	Name:  "keyword",
	Share: 0.45,
	Draw: func(r *rand.Rand, p *Passage) string {
		k := min(3+r.IntN(6), len(p.Content))
		if k == 0 {
			return ""
		}
		// The k largest of u^(1/weight) are such a draw (Efraimidis and
		// Spirakis 2006); its logarithm orders alike.
		type key struct {
			at int
			by float64
		}
		keys := make([]key, len(p.Content))
		for i, w := range p.IDF {
			keys[i] = key{i, math.Log(1-r.Float64()) / w}
		}
		slices.SortFunc(keys, func(a, b key) int {
			if a.by != b.by {
				if a.by > b.by {
					return -1
				}
				return 1
			}
			return a.at - b.at
		})
		keys = keys[:k]
		r.Shuffle(k, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		words := make([]string, k)
		for i, key := range keys {
			w := p.Content[key.at]
			words[i] = p.Text[w.Start:w.End]
		}
		return strings.Join(words, " ")
	},
})
