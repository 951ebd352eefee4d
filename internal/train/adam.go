package train

import "math"

// adam is Adam (Kingma and Ba 2015) over the rows of a matrix, with a learning rate that
// falls linearly to zero; each step uses only a few rows.
//
// A row without a gradient continues to move by its momentum. For a rare token this is
// most of its movement: a single gradient moves its row by 0.1/√0.001 ≈ 3 rates at once
// and by some 30 in total. Sparse Adam omits this and so learns rare tokens, which
// distinguish passages, too slowly. Here each row stores the step of its last update, and
// settle makes up for the steps since then at once: a zero gradient only scales both
// moments, so these steps are together one move along m/√v. The path equals that of Adam
// on the whole matrix, at the cost of only the rows in use.
type adam struct {
	dim   int
	rate  float64   // at the first step
	total int       // steps in all
	m, v  []float32 // first and second moments [rows × dim]
	last  []int32   // [rows] the step each row stands at, 0 before its first
}

const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
	tail    = 200 // steps after which 0.9ⁿ no longer moves a float32
)

func newAdam(rows, dim, total int, rate float64) *adam {
	return &adam{
		dim: dim, rate: rate, total: total,
		m: make([]float32, rows*dim), v: make([]float32, rows*dim), last: make([]int32, rows),
	}
}

// size is the factor of m/√v at step t ≥ 1: the learning rate with both bias corrections.
func (a *adam) size(t int) float64 {
	rate := a.rate * (1 - float64(t-1)/float64(a.total))
	return rate * math.Sqrt(1-math.Pow(beta2, float64(t))) / (1 - math.Pow(beta1, float64(t)))
}

// settle moves row r of w through all steps up to t in which it had no gradient.
// Different rows may be settled at the same time.
func (a *adam) settle(w []float32, r, t int) {
	since := int(a.last[r])
	a.last[r] = int32(t)
	if since == 0 || since >= t {
		return
	}
	var sum float64
	f := 1.0
	for j := since + 1; j <= min(t, since+tail); j++ {
		f *= beta1 / math.Sqrt(beta2)
		sum += f * a.size(j)
	}
	step := float32(sum)
	decay1 := float32(math.Pow(beta1, float64(t-since)))
	decay2 := float32(math.Pow(beta2, float64(t-since)))
	m, v, row := a.row(w, r)
	for i := range row {
		row[i] -= step * m[i] / (float32(math.Sqrt(float64(v[i]))) + epsilon)
		m[i] *= decay1
		v[i] *= decay2
	}
}

// apply makes step t with gradient g for row r of w, which must be settled up to t−1.
// Different rows may be moved at the same time.
func (a *adam) apply(w []float32, r int, g []float32, t int) {
	a.last[r] = int32(t)
	step := float32(a.size(t))
	m, v, row := a.row(w, r)
	for i, x := range g {
		m[i] = beta1*m[i] + (1-beta1)*x
		v[i] = beta2*v[i] + (1-beta2)*x*x
		row[i] -= step * m[i] / (float32(math.Sqrt(float64(v[i]))) + epsilon)
	}
}

func (a *adam) row(w []float32, r int) (m, v, row []float32) {
	i, j := r*a.dim, (r+1)*a.dim
	return a.m[i:j], a.v[i:j], w[i:j]
}
