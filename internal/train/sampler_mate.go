package train

import (
	"math/rand/v2"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/visual"
)

// Mate draws another image of the same label; half of them are mirrored.
var Mate = registerSampler(Sampler{
	Name:   "mate",
	Media:  encoder.MediaImages,
	Labels: true,
	Share:  4,
	Draw: func(r *rand.Rand, p *Passage) string {
		if len(p.Mates) == 0 {
			return ""
		}
		return visual.Part(p.Mates[r.IntN(len(p.Mates))], picture.View{Flip: r.IntN(2) == 0})
	},
})
