package train

import (
	"math/rand/v2"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/visual"
)

// Hidden hides a third to two thirds of an image, cell by cell, and mirrors half of the images.
var Hidden = registerSampler(Sampler{
	Name:  "hidden",
	Media: encoder.MediaImages,
	Share: 0.4,
	Draw: func(r *rand.Rand, p *Passage) string {
		v := picture.View{Flip: r.IntN(2) == 0}
		for _, cell := range r.Perm(64)[:21+r.IntN(22)] {
			v.Hide |= 1 << cell
		}
		return visual.Part(p.Text, v)
	},
})
