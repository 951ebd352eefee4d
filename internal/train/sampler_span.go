package train

import (
	"math"
	"math/rand/v2"
)

// Span draws a contiguous window of 6 to 48 words of the text. The logarithm of its length is
// uniform, so half of the windows have at most 17 words. A passage of fewer than six words is
// used whole.
var Span = registerSampler(Sampler{
	Name:  "span",
	Share: 0.55,
	Draw: func(r *rand.Rand, p *Passage) string {
		n := len(p.Words)
		if n == 0 {
			return ""
		}
		size := min(n, int(6*math.Exp(r.Float64()*math.Log(49.0/6))))
		return p.window(r.IntN(n-size+1), size)
	},
})

// window is the text of size words from word at on.
func (p *Passage) window(at, size int) string {
	return p.Text[p.Words[at].Start:p.Words[at+size-1].End]
}
