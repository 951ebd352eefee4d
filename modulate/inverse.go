package modulate

import "github.com/lexsem/lexsem/internal/vec"

// inverse is A⁻¹ = B − Σ_j c_j q_j q_jᵀ, where B is a symmetric matrix, or I/λ,
// and each term is the step of Sherman and Morrison (1950) that one change of A
// makes: (A + w·v·vᵀ)⁻¹ = A⁻¹ − w/(1 + w·vᵀu)·u·uᵀ with u = A⁻¹v. Kept one by
// one, the steps are Woodbury's identity with its capacitance matrix already
// factored. An inverse never changes; its successor may append behind its ends.
type inverse struct {
	lambda float64
	packed []float32 // B: its upper triangle, row by row; nil for I/λ
	check  func() error
	q      [][]float32
	c      []float64
}

// minDenominator is the least 1 + w·vᵀA⁻¹v of a step that can be trusted: a
// smaller one would multiply the rounding of float32 by its inverse.
const minDenominator = 1e-3

// solve writes A⁻¹·f to dst, which must not overlap f. Cost O(d²/2 + k·d)
// multiplications for k steps, and reading as much memory.
func (v *inverse) solve(dst, f []float32) error {
	if v.packed == nil {
		copy(dst, f)
		vec.Scale(dst, float32(1/v.lambda))
	} else {
		if v.check != nil {
			if err := v.check(); err != nil {
				return err
			}
		}
		clear(dst)
		mulPacked(dst, v.packed, f)
	}
	for j, q := range v.q {
		vec.Axpy(dst, -float32(v.c[j]*float64(vec.Dot(q, f))), q)
	}
	return nil
}

// mulPacked adds M·f to dst, where m is the upper triangle of a symmetric
// matrix M. Each number is read once.
func mulPacked(dst, m, f []float32) {
	for i, x := range f {
		row := m[:len(f)-i]
		m = m[len(row):]
		dst[i] += vec.Dot(row, f[i:])
		if len(row) > 1 {
			vec.Axpy(dst[i+1:], x, row[1:])
		}
	}
}

// step returns the inverse after a change of A. It reports false where that
// cannot be told to some digits.
func (v *inverse) step(c change) (inverse, bool, error) {
	next := *v
	if c.weight == 0 || vec.Norm(c.v) == 0 {
		return next, true, nil
	}
	u := make([]float32, len(c.v))
	if err := v.solve(u, c.v); err != nil {
		return next, false, err
	}
	den := 1 + c.weight*dot64(u, c.v)
	if !(den > minDenominator) || !vec.Finite(u) {
		return next, false, nil
	}
	next.q, next.c = append(v.q, u), append(v.c, c.weight/den)
	return next, true, nil
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
