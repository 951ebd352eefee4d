package late

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/lexsem/lexsem/internal/vec"
)

// minStates is the minimum number of states for fitting a basis.
const minStates = 2

// FitBasis computes the mean of states [n × dim] and rank directions that span those in which they vary most; rank 0
// means DefaultRank, and it is at most dim. Some ten thousand states of random passages, without special
// tokens, are enough. On one machine the result depends only on the states. ErrOptions, ErrLength for fewer
// than two states, ErrNotFinite. Cost n·dim²/2 plus some 20·dim²·rank; memory 24·dim².
func FitBasis(states []float32, dim, rank int) (*Basis, error) {
	rank = cmp.Or(rank, DefaultRank)
	if dim < 1 || dim > MaxDim || rank < 0 || rank > MaxRank {
		return nil, fmt.Errorf("%w: %d directions of %d dimensions; use up to %d of up to %d", ErrOptions, rank, dim, MaxRank, MaxDim)
	}
	rank = min(rank, dim)
	n := len(states) / dim
	if n < minStates || n*dim != len(states) {
		return nil, fmt.Errorf("%w: a basis needs two or more states of %d numbers; got %d numbers", ErrLength, dim, len(states))
	}
	if !vec.Finite(states) {
		return nil, ErrNotFinite
	}
	mean := make([]float64, dim)
	for i := range n {
		vec.AxpyWide(mean, 1/float64(n), states[i*dim:(i+1)*dim])
	}
	center := make([]float32, dim)
	for i, x := range mean {
		center[i] = float32(x)
	}
	cov := covariance(states, center, n, dim)
	for _, x := range cov {
		if x-x != 0 {
			return nil, fmt.Errorf("%w: they are so long that their variance is not", ErrNotFinite)
		}
	}
	axes := make([]float32, rank*dim)
	leading(axes, cov, dim, rank)
	axes = turned(axes, dim, rank)
	round(center)
	round(axes)
	return newBasis(center, axes, dim, rank, true), nil
}

// turned rotates the axes within the space that they span, by a fixed matrix. All axes then have about the same variance.
// The principal directions have very different variances, and codes of two bits would lose more with them.
func turned(axes []float32, dim, rank int) []float32 {
	r := rand.New(rand.NewPCG(23, 1))
	q := make([]float64, rank*rank)
	for i := range q {
		q[i] = r.NormFloat64()
	}
	orthonormal(q, rank, rank)
	out := make([]float32, len(axes))
	for i := range rank {
		for j := range rank {
			vec.Axpy(out[i*dim:(i+1)*dim], float32(q[i*rank+j]), axes[j*dim:(j+1)*dim])
		}
	}
	return out
}

// covariance is the covariance of the states [n × dim] around center, summed in float32 within blocks and in float64
// over them.
func covariance(states, center []float32, n, dim int) []float64 {
	const rows = 256
	block, part := make([]float32, rows*dim), make([]float32, dim*dim)
	sum := make([]float64, dim*dim)
	for from := 0; from < n; from += rows {
		m := min(rows, n-from)
		copy(block, states[from*dim:(from+m)*dim])
		for i := range m {
			vec.Axpy(block[i*dim:(i+1)*dim], -1, center)
		}
		vec.MatMulTN(part, block[:m*dim], block[:m*dim], dim, dim, m)
		vec.AxpyWide(sum, 1/float64(n), part)
	}
	return sum
}

const (
	beside     = 32   // directions that are iterated beyond those asked for
	iterations = 30   // at most
	still      = 1e-4 // the variance that is kept grows by less than this share: done; of real states 1e-6 keeps the same to six digits
)

// leading writes the rank leading eigenvectors of a [dim × dim], which is symmetric and positive semi-definite, to
// axes, one a row, the largest eigenvalue first. It uses subspace iteration (Rutishauser 1969): it multiplies by a
// twice and orthonormalises, until the space converges.
func leading(axes []float32, a []float64, dim, rank int) {
	wide := min(dim, rank+beside)
	narrow := make([]float32, dim*dim)
	vec.Narrow(narrow, a)
	r := rand.New(rand.NewPCG(17, 1))
	q := make([]float64, wide*dim) // rows are the directions
	for i := range q {
		q[i] = r.NormFloat64()
	}
	orthonormal(q, wide, dim)
	q32, y32 := make([]float32, wide*dim), make([]float32, wide*dim)
	product := func() { // y32 = q·a
		vec.Narrow(q32, q)
		vec.MatMulNT(y32, q32, narrow, wide, dim, dim)
	}
	kept := 0.0
	for range iterations {
		product()
		before := kept
		kept = 0
		for i := range min(rank, wide) {
			kept += float64(vec.Dot(q32[i*dim:(i+1)*dim], y32[i*dim:(i+1)*dim]))
		}
		vec.MatMulNT(q32, y32, narrow, wide, dim, dim) // once more: to make orthonormal costs ten times as much
		for i, y := range q32 {
			q[i] = float64(y)
		}
		orthonormal(q, wide, dim)
		if wide == dim || before > 0 && kept-before <= still*kept { // the space is all there is, or holds still
			break
		}
	}
	// The directions within the space, by the eigenvectors of q·a·qᵀ.
	product()
	y := make([]float64, wide*dim)
	for i, x := range y32 {
		y[i] = float64(x)
	}
	small := make([]float64, wide*wide)
	for i := range wide {
		for j := range i + 1 {
			s := dot(q[i*dim:(i+1)*dim], y[j*dim:(j+1)*dim])
			small[i*wide+j], small[j*wide+i] = s, s
		}
	}
	vectors, order := jacobi(small, wide)
	for i := range rank {
		row := make([]float64, dim)
		for j := range wide {
			f := vectors[j*wide+order[i]]
			for k, x := range q[j*dim : (j+1)*dim] {
				row[k] += f * x
			}
		}
		flip := 1.0
		largest := 0.0
		for _, x := range row { // of both signs the one whose largest number is positive
			if math.Abs(x) > largest {
				largest, flip = math.Abs(x), math.Copysign(1, x)
			}
		}
		for k, x := range row {
			axes[i*dim+k] = float32(flip * x)
		}
	}
}

// orthonormal makes the rows of q [n × dim] orthonormal, by Gram and Schmidt, and repeats the step if little of a row
// is left, to remove the errors of the subtraction. A row that depends linearly on those before it is replaced by one
// that does not.
func orthonormal(q []float64, n, dim int) {
	at := 0
	for i := range n {
		row := q[i*dim : (i+1)*dim]
		first := math.Sqrt(dot(row, row))
		for before := first; ; {
			for j := range i {
				other := q[j*dim : (j+1)*dim]
				s := dot(row, other)
				for k, x := range other {
					row[k] -= s * x
				}
			}
			after := math.Sqrt(dot(row, row))
			if after > 0.5*before {
				for k := range row {
					row[k] /= after
				}
				break
			}
			if before = after; !(after > 1e-10*first) {
				clear(row)
				row[at] = 1
				at++
				first, before = 1, 1
			}
		}
	}
}

// dot uses four independent sums.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	for len(x) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += v * y[i]
	}
	return s0 + s1 + (s2 + s3)
}

// jacobi returns the eigenvectors of the symmetric a [n × n], which it overwrites, as columns, and their order by
// falling eigenvalue. It rotates pairs of rows until all elements off the diagonal are 0 (Jacobi 1846).
func jacobi(a []float64, n int) (v []float64, order []int) {
	v = make([]float64, n*n) // by rows: row i is eigenvector i until the end
	for i := range n {
		v[i*n+i] = 1
	}
	var all float64
	for _, x := range a {
		all += x * x
	}
	for range 40 {
		var off float64
		for i := range n {
			for j := range i {
				off += a[i*n+j] * a[i*n+j]
			}
		}
		if off <= 1e-24*all {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				x := a[p*n+q]
				if x*x <= 1e-30*all/float64(n*n) {
					continue
				}
				theta := (a[q*n+q] - a[p*n+p]) / (2 * x)
				t := math.Copysign(1/(math.Abs(theta)+math.Sqrt(theta*theta+1)), theta)
				c := 1 / math.Sqrt(t*t+1)
				turn(a, v, n, p, q, c, t*c)
			}
		}
	}
	order = make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := 1; i < n; i++ { // few and nearly in order
		for j := i; j > 0 && a[order[j]*n+order[j]] > a[order[j-1]*n+order[j-1]]; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	out := make([]float64, n*n)
	for i := range n {
		for j := range n {
			out[j*n+i] = v[i*n+j]
		}
	}
	return out, order
}

// turn rotates rows and columns p and q of a, and rows p and q of v.
func turn(a, v []float64, n, p, q int, c, s float64) {
	rows := func(m []float64) {
		x, y := m[p*n:(p+1)*n], m[q*n:(q+1)*n]
		for k, u := range x {
			w := y[k]
			x[k], y[k] = c*u-s*w, s*u+c*w
		}
	}
	rows(a)
	for k := range n {
		u, w := a[k*n+p], a[k*n+q]
		a[k*n+p], a[k*n+q] = c*u-s*w, s*u+c*w
	}
	rows(v)
}
