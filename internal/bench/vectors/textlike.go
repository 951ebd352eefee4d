package vectors

import (
	"math"
	"math/rand/v2"
)

// TextLike makes n base vectors and nq held-out queries that are distributed like the vectors of a
// text encoder: unit length, clusters of Zipf-like sizes, and a common mean. Each vector is
//
//	norm( mean + centre_c + subspace_c · z + 0.30 · e )
//
// The mean is common to all. The centres lie in a latent space of 96 dimensions that all clusters
// share. Each of 500 clusters (fewer below 10,000 vectors) has a subspace of 30 dimensions with
// falling spectrum. The noise e is isotropic, of unit expected length; queries have noise 0.35. With n
// = 100,000 and dim = 384 the cosine of a query is 0.83 to its nearest vector, 0.79 to the 10th, 0.61
// to the 100th and 0.08 ± 0.09 to a random one.
//
// Equal arguments give equal vectors. Made vectors are easier than text: use them to compare indexes,
// not for absolute figures. Cost O(n·dim).
func TextLike(n, nq, dim int, seed uint64) (base, queries *Set) {
	m := NewCollection(n, dim, seed)
	return m.Draw(n, Stored), m.Draw(nq, Asked)
}

// Collection draws vectors of one collection in batches.
type Collection struct {
	dim        int
	rng        *rand.Rand
	centres    []float32 // a row a cluster, mean included
	subspaces  []float32 // subspace rows a cluster
	cumulative []float64 // sizes of the clusters, summed up
}

const subspace = 30

// The noise of vectors and of queries.
const (
	Stored = 0.30
	Asked  = 0.35
)

// NewCollection makes the collection from which n vectors are drawn.
func NewCollection(n, dim int, seed uint64) *Collection {
	const latentDim = 96
	rng := rand.New(rand.NewPCG(seed, 0x7e47))
	gauss := func(rows, cols int, scale float64) []float32 {
		m := make([]float32, rows*cols)
		for i := range m {
			m[i] = float32(rng.NormFloat64() * scale / math.Sqrt(float64(cols)))
		}
		return m
	}
	clusters := max(1, min(500, n/20))
	latent := gauss(latentDim, dim, 1)
	mean := gauss(1, dim, 0.25)
	m := &Collection{dim: dim, rng: rng, centres: make([]float32, clusters*dim), cumulative: make([]float64, clusters)}
	m.subspaces = gauss(clusters*subspace, dim, 1)
	total := 0.0
	for c := range clusters {
		centre := m.centres[c*dim : (c+1)*dim]
		copy(centre, mean)
		for l := range latentDim {
			add(centre, float32(rng.NormFloat64()*0.72/math.Sqrt(latentDim)), latent[l*dim:(l+1)*dim])
		}
		for s := range subspace { // falling spectrum
			row := m.subspaces[(c*subspace+s)*dim : (c*subspace+s+1)*dim]
			for i := range row {
				row[i] *= float32(0.9 * math.Pow(float64(s+1), -0.75))
			}
		}
		total += 1 / math.Pow(float64(c+2), 0.8)
		m.cumulative[c] = total
	}
	return m
}

// Another returns the same collection, from which other vectors are drawn.
func (m *Collection) Another(seed uint64) *Collection {
	other := *m
	other.rng = rand.New(rand.NewPCG(seed, 0x7e47))
	return &other
}

// Draw makes the next count vectors.
func (m *Collection) Draw(count int, noise float64) *Set {
	dim := m.dim
	v := &Set{Dim: dim, Data: make([]float32, count*dim)}
	for i := range count {
		u, c := m.rng.Float64()*m.cumulative[len(m.cumulative)-1], 0
		for m.cumulative[c] < u {
			c++
		}
		x := v.Row(i)
		copy(x, m.centres[c*dim:(c+1)*dim])
		for s := range subspace {
			add(x, float32(m.rng.NormFloat64()*0.4), m.subspaces[(c*subspace+s)*dim:(c*subspace+s+1)*dim])
		}
		for j := range x {
			x[j] += float32(m.rng.NormFloat64() * noise / math.Sqrt(float64(dim)))
		}
		Normalize(x)
	}
	return v
}

func add(y []float32, f float32, x []float32) {
	for i := range y {
		y[i] += f * x[i]
	}
}

// Normalize scales a to unit length and reports whether it has a direction.
func Normalize(a []float32) bool {
	var s float64
	for _, x := range a {
		s += float64(x) * float64(x)
	}
	if s == 0 {
		return false
	}
	f := 1 / math.Sqrt(s)
	for i, x := range a {
		a[i] = float32(float64(x) * f)
	}
	return true
}
