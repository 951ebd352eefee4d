package ridge

import "github.com/lexsem/lexsem/internal/vec"

// inverse is A⁻¹ = B − Σ_j c_j q_j q_jᵀ, where B is a symmetric matrix, or I/λ. Each term
// is the step of Sherman and Morrison (1950) for one change of A: (A + w·v·vᵀ)⁻¹ = A⁻¹ −
// w/(1 + w·vᵀu)·u·uᵀ with u = A⁻¹v. Kept separately, the steps are Woodbury's identity
// with its capacitance matrix already factored. An inverse never changes; its successor
// may append after its ends.
type inverse struct {
	lambda float64
	packed []float32 // B: its upper triangle, row by row; nil for I/λ
	check  func() error
	q      [][]float32
	c      []float64
}

// minDenominator is the smallest 1 + w·vᵀA⁻¹v of a step that can be trusted: a smaller
// one would multiply the rounding of float32 by its inverse.
const minDenominator = 1e-3

// solve writes A⁻¹·f to dst, which must not overlap f. Cost O(d²/2 + k·d)
// multiplications for k steps, and reading as much memory.
func (v *inverse) solve(dst, f []float32) error {
	if err := v.mul([][]float32{dst}, [][]float32{f}); err != nil {
		return err
	}
	v.correct(dst, f)
	return nil
}

// mul writes B·f to each u. Each number of B is read from memory once.
func (v *inverse) mul(us, fs [][]float32) error {
	if v.packed == nil {
		for i, u := range us {
			copy(u, fs[i])
			vec.Scale(u, float32(1/v.lambda))
		}
		return nil
	}
	if v.check != nil {
		if err := v.check(); err != nil {
			return err
		}
	}
	for _, u := range us {
		clear(u)
	}
	m, d, i := v.packed, len(us[0]), 0
	for ; d-i >= 4; i += 4 { // four rows: a corner, and the columns after it, which they have in common
		n := d - i
		r0, r1, r2, r3 := m[:n], m[n:][:n-1], m[2*n-1:][:n-2], m[3*n-3:][:n-3]
		m = m[4*n-6:]
		for k, u := range us {
			f := fs[k][i:]
			u = u[i:]
			var dots [4]float32
			vec.DotAxpy4(&dots, u[4:], (*[4]float32)(f), f[4:], r0[4:], r1[3:], r2[2:], r3[1:])
			u[0] += dots[0] + r0[0]*f[0] + r0[1]*f[1] + r0[2]*f[2] + r0[3]*f[3]
			u[1] += dots[1] + r0[1]*f[0] + r1[0]*f[1] + r1[1]*f[2] + r1[2]*f[3]
			u[2] += dots[2] + r0[2]*f[0] + r1[1]*f[1] + r2[0]*f[2] + r2[1]*f[3]
			u[3] += dots[3] + r0[3]*f[0] + r1[2]*f[1] + r2[1]*f[2] + r3[0]*f[3]
		}
	}
	for ; i < d; i++ {
		row := m[:d-i]
		m = m[d-i:]
		for k, u := range us {
			f := fs[k][i:]
			u = u[i:]
			u[0] += vec.Dot(row, f)
			vec.Axpy(u[1:], f[0], row[1:])
		}
	}
	return nil
}

// correct turns B·f into A⁻¹·f.
func (v *inverse) correct(dst, f []float32) {
	for j, q := range v.q {
		vec.Axpy(dst, -float32(v.c[j]*float64(vec.Dot(q, f))), q)
	}
}

// step returns the inverse after a change of A; u must be B·v. It reports false if the
// result would be too inaccurate.
func (v *inverse) step(c change, u []float32) (inverse, bool) {
	next := *v
	if c.weight == 0 {
		return next, true
	}
	v.correct(u, c.v)
	den := 1 + c.weight*dot64(u, c.v)
	if !(den > minDenominator) || !vec.Finite(u) {
		return next, false
	}
	next.q, next.c = append(v.q, u), append(v.c, c.weight/den)
	return next, true
}

// matrix returns A⁻¹ [d × d].
func (v *inverse) matrix(d int) ([]float32, error) {
	if v.check != nil {
		if err := v.check(); err != nil {
			return nil, err
		}
	}
	a := make([]float32, d*d)
	m := v.packed
	for i := range d {
		if m == nil {
			a[i*d+i] = float32(1 / v.lambda)
			continue
		}
		copy(a[i*d+i:(i+1)*d], m)
		for j, x := range m[:d-i] {
			a[(i+j)*d+i] = x
		}
		m = m[d-i:]
	}
	for j, q := range v.q {
		for i, x := range q {
			vec.Axpy(a[i*d:(i+1)*d], -float32(v.c[j]*float64(x)), q)
		}
	}
	return a, nil
}

func dot64(a, b []float32) float64 {
	var sum float64
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}
