package ridge

import (
	"context"
	"errors"
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// ErrIndefinite: the matrix given to Invert is not positive definite.
var ErrIndefinite = errors.New("not positive definite")

// Invert replaces the symmetric positive definite matrix a [d × d] by its inverse. It reads and
// writes the upper triangle. Rows are ld numbers apart, ld is a multiple of 8, a has ld rows, and
// everything beyond d is 0. It sweeps blocks of columns (Goodnight 1979), the symmetric form of
// the Gauss–Jordan method. For a block K, with U the columns of K and P the inverse of their pivot
// a_KK,
//
//	a_ij −= U_i·P·U_jᵀ,  a_iK = U_i·P,  a_KK = −P
//
// and after all blocks a holds −a⁻¹. Errors: ErrIndefinite; that of ctx, within some milliseconds.
// After an error the content of a is undefined. It uses one goroutine. Cost d³ multiplications and
// additions.
func Invert(ctx context.Context, a []float64, d, ld int) error {
	const most = 128
	p := make([]float64, most*most)
	left := make([]float64, ld*most)  // U by rows, then −U·P
	right := make([]float64, ld*most) // P by panels of 8 columns, then U·P by panels of 8 rows
	out := make([]float64, ld*most)
	for from := 0; from < d; from += most {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := min(most, d-from)
		if err := invertPivot(p, a[from*ld+from:], k, ld); err != nil {
			return err
		}
		k8 := (k + 7) &^ 7
		u := left[:ld*k]
		clear(u)
		for i := range from {
			copy(u[i*k:(i+1)*k], a[i*ld+from:])
		}
		for c := range k {
			for i, x := range a[(from+c)*ld+from+k : (from+c)*ld+d] {
				u[(from+k+i)*k+c] = x
			}
		}
		// out = −U·P [ld × k8]
		panel := right[:k8*k]
		clear(panel)
		for r := range k {
			for c := range k {
				panel[c/8*8*k+r*8+c%8] = p[r*k+c]
			}
		}
		v := out[:ld*k8]
		clear(v)
		for i := 0; i < ld; i += 4 {
			if i%128 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			for j := 0; j < k8; j += 8 {
				vec.SubTile(v[i*k8+j:], k8, u[i*k:], k, panel[j*k:], k)
			}
		}
		// a −= U·(U·P)ᵀ
		panel = right[:ld*k]
		for i := range ld {
			for c := range k {
				panel[i/8*8*k+c*8+i%8] = -v[i*k8+c]
			}
		}
		const rows = 32
		for i0 := 0; i0 < ld; i0 += rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			end := min(ld, i0+rows)
			for j := i0; j < ld; j += 8 {
				for i := i0; i < min(end, j+8); i += 4 {
					vec.SubTile(a[i*ld+j:], ld, u[i*k:], k, panel[j*k:], k)
				}
			}
		}
		for i := range from {
			for c := range k {
				a[i*ld+from+c] = -v[i*k8+c]
			}
		}
		for c := range k {
			for i := from + k; i < d; i++ {
				a[(from+c)*ld+i] = -v[i*k8+c]
			}
			for r := range c + 1 {
				a[(from+r)*ld+from+c] = -p[r*k+c]
			}
		}
	}
	for i := range d {
		row := a[i*ld+i : i*ld+d]
		for j := range row {
			row[j] = -row[j]
		}
	}
	return nil
}

// invertPivot writes the inverse of the k × k corner of a to p [k × k], by Cholesky: a = LLᵀ, and
// the inverse is L⁻ᵀL⁻¹.
func invertPivot(p, a []float64, k, ld int) error {
	l := make([]float64, k*k)
	for i := range k {
		for j := range i + 1 {
			sum := a[j*ld+i]
			for c, x := range l[i*k : i*k+j] {
				sum -= x * l[j*k+c]
			}
			if i > j {
				l[i*k+j] = sum / l[j*k+j]
				continue
			}
			if !(sum > 0) || math.IsInf(sum, 0) {
				return ErrIndefinite
			}
			l[i*k+i] = math.Sqrt(sum)
		}
	}
	m := make([]float64, k*k) // L⁻¹, by rows
	for i := range k {
		row := m[i*k : (i+1)*k]
		for c, x := range l[i*k : i*k+i] {
			for j, y := range m[c*k : c*k+c+1] {
				row[j] -= x * y
			}
		}
		row[i] = 1
		f := 1 / l[i*k+i]
		for j := range row[:i+1] {
			row[j] *= f
		}
	}
	clear(p[:k*k])
	for c := range k { // Σ_c m_ci·m_cj
		row := m[c*k : c*k+c+1]
		for i, x := range row {
			to := p[i*k : i*k+c+1]
			for j, y := range row {
				to[j] += x * y
			}
		}
	}
	return nil
}
