package train

import "math"

// adam is Adam (Kingma and Ba 2015) over the rows of a matrix of which each
// step touches a few: only their moments decay and only they move. The bias
// correction counts the steps of all rows, as sparse Adam does.
type adam struct {
	dim  int
	m, v []float32 // first and second moments [rows × dim]
}

const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
)

func newAdam(rows, dim int) *adam {
	return &adam{dim: dim, m: make([]float32, rows*dim), v: make([]float32, rows*dim)}
}

// apply moves row number r of w along its gradient g at step t ≥ 1. Different
// rows may be moved at the same time.
func (a *adam) apply(w []float32, r int, g []float32, t int, rate float64) {
	at := r * a.dim
	m, v, row := a.m[at:at+a.dim], a.v[at:at+a.dim], w[at:at+a.dim]
	c2 := math.Sqrt(1 - math.Pow(beta2, float64(t)))
	step := float32(rate * c2 / (1 - math.Pow(beta1, float64(t))))
	eps := float32(epsilon * c2)
	for i, x := range g {
		m[i] = beta1*m[i] + (1-beta1)*x
		v[i] = beta2*v[i] + (1-beta2)*x*x
		row[i] -= step * m[i] / (float32(math.Sqrt(float64(v[i]))) + eps)
	}
}
