package train

import (
	"math/rand/v2"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/visual"
)

// Crop draws a rectangle of an image, 40 to 82 % of its width and of its height, mirrored half of
// the time.
var Crop = registerSampler(Sampler{
	Name:  "crop",
	Media: encoder.MediaImages,
	Share: 0.6,
	Draw: func(r *rand.Rand, p *Passage) string {
		v := picture.View{W: 400 + r.IntN(420), H: 400 + r.IntN(420), Flip: r.IntN(2) == 0}
		v.X, v.Y = r.IntN(1001-v.W), r.IntN(1001-v.H)
		return visual.Part(p.Text, v)
	},
})
