// Package indextest tests indexes. Start with [Suite]: it tests that an index, of this module or another,
// satisfies the contract of index.Index. [TextLike] and [TextLikeQueries] make vectors with clusters like
// those of texts, for measuring indexes.
package indextest

import (
	"math"
	"math/rand/v2"
)

// TextLike returns n unit vectors of the given dimension (row-major, n·dim long), distributed like the
// embeddings of a text collection. Equal arguments give equal vectors, and a longer set begins with
// the shorter one.
//
// The model has 500 topics of Zipf-like sizes (weight (rank+1)^-1). Topic centres are drawn in a
// latent space of 96 dimensions that all topics share. Each topic has its own space of 30 dimensions
// in which its texts spread, the i-th with standard deviation ~ (i+1)^-0.5. A vector is the sum of
// four parts, scaled to length 1: a common mean, the topic's centre, the position in the topic, and
// noise of length 0.30 in all dimensions. The common mean makes the cosine of random pairs slightly
// positive, as in sentence encoders.
//
// The clusters make an index hop from one to the next, and the low intrinsic dimension makes near
// neighbours near. Uniform random vectors lack both. The vectors are still easier than real text; see
// docs/results/index-speed.md.
func TextLike(n, dim int, seed uint64) []float32 {
	return newModel(dim, seed).draw(n, 0, textNoise)
}

// TextLikeQueries returns n more vectors of the collection of TextLike for the same dimension and
// seed. None of them is in the collection. Their noise is slightly larger (0.35).
func TextLikeQueries(n, dim int, seed uint64) []float32 {
	return newModel(dim, seed).draw(n, 1, queryNoise)
}

const (
	topics     = 500
	latentDim  = 96
	spreadDim  = 30
	meanLength = 0.27
	centre     = 0.74
	spread     = 0.55
	textNoise  = 0.30
	queryNoise = 0.35
)

type model struct {
	dim     int
	seed    uint64
	mean    []float32
	centres [][]float32
	spaces  [][]float32 // spreadDim rows of dim each
	sizes   []float64   // cumulated
}

func newModel(dim int, seed uint64) *model {
	r := rand.New(rand.NewPCG(seed, 0x6d6f64656c))
	m := &model{dim: dim, seed: seed, mean: direction(r, dim, meanLength)}
	latent := make([][]float32, min(latentDim, dim))
	for i := range latent {
		latent[i] = direction(r, dim, 1)
	}
	sum := 0.0
	for t := range topics {
		c := make([]float32, dim)
		for _, l := range latent {
			addScaled(c, float32(r.NormFloat64()), l)
		}
		scale(c, centre)
		m.centres = append(m.centres, c)
		space, total := make([]float32, 0, spreadDim*dim), 0.0
		for i := range spreadDim {
			total += 1 / float64(i+1)
		}
		for i := range spreadDim {
			space = append(space, direction(r, dim, spread/math.Sqrt(total*float64(i+1)))...)
		}
		m.spaces = append(m.spaces, space)
		sum += math.Pow(float64(t+1), -1)
		m.sizes = append(m.sizes, sum)
	}
	return m
}

func (m *model) draw(n int, stream uint64, noise float64) []float32 {
	r := rand.New(rand.NewPCG(m.seed, 0x64726177+stream))
	out := make([]float32, n*m.dim)
	for i := range n {
		v := out[i*m.dim : (i+1)*m.dim]
		t, x := 0, r.Float64()*m.sizes[topics-1]
		for m.sizes[t] < x {
			t++
		}
		copy(v, m.mean)
		addScaled(v, 1, m.centres[t])
		for j := range spreadDim {
			addScaled(v, float32(r.NormFloat64()), m.spaces[t][j*m.dim:(j+1)*m.dim])
		}
		for j := range v {
			v[j] += float32(r.NormFloat64() * noise / math.Sqrt(float64(m.dim)))
		}
		scale(v, 1)
	}
	return out
}

// direction is a random vector of the given length.
func direction(r *rand.Rand, dim int, length float64) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	scale(v, length)
	return v
}

func addScaled(dst []float32, f float32, v []float32) {
	for i, x := range v {
		dst[i] += f * x
	}
}

// scale scales v to the given length.
func scale(v []float32, length float64) {
	s := 0.0
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	if s == 0 {
		return
	}
	f := float32(length / math.Sqrt(s))
	for i := range v {
		v[i] *= f
	}
}
