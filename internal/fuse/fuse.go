// Package fuse changes a query vector by logits and a shift (Eq. 9), with the gradients that a fit needs. [Fuse] is the
// forward pass that queries and training share, and [Bound] limits its logits. docs/method.md has the equations.
package fuse

import "math"

// Bound divides the logits z = W·w + b [d] by the smallest number ≥ 1 that makes their standard
// deviation over the d components at most spread. It returns the reciprocal of that number. A
// spread of 0 means no bound. The bound limits how far q ⊙ exp(z) can turn from q.
func Bound(z []float64, spread float64) (gain float64) {
	if spread == 0 {
		return 1
	}
	n := float64(len(z))
	var mean, ss float64
	for _, x := range z {
		mean += x / n
	}
	for _, x := range z {
		ss += (x - mean) * (x - mean) / n
	}
	deviation := math.Sqrt(ss)
	if !(deviation > spread) {
		return 1
	}
	gain = spread / deviation
	for i := range z {
		z[i] *= gain
	}
	return gain
}

// BoundGrad is the backward pass of Bound for a gain below 1. dz is the gradient of a loss with
// respect to the bounded logits z, and becomes the gradient with respect to the logits before
// Bound. dz must sum to 0, as that of FuseGrad does.
//
//	u = (z − mean(z)) / spread,   dz ← gain (dz − (dz·u/d) u)
func BoundGrad(dz []float32, z []float64, spread, gain float64) {
	n := float64(len(z))
	var mean, dot float64
	for _, x := range z {
		mean += x / n
	}
	for i, x := range z {
		dot += float64(dz[i]) * (x - mean) / spread / n
	}
	for i, x := range z {
		dz[i] = float32(gain * (float64(dz[i]) - dot*(x-mean)/spread))
	}
}

// Fuse is the forward pass that queries and training share (Eq. 9, and the additive parts):
//
//	mid = norm(q ⊙ exp(z))        which equals norm(q ⊙ softmax(z))
//	out = norm(mid + shift)
//
// It returns ‖mid + shift‖, which FuseGrad needs. All slices have length d. out and mid may be the
// same slice; neither may overlap q. z is overwritten. A nil z or shift stands for zeros. If all z
// are equal, mid is q bit for bit. If shift is nil or cancels mid, out is mid bit for bit. The
// result is finite for any finite arguments.
func Fuse(out, mid, q []float32, z []float64, shift []float32) float64 {
	scale(mid, q, z)
	if shift == nil {
		copy(out, mid)
		return 1
	}
	var ss float64
	for i, x := range mid {
		v := float64(x) + float64(shift[i])
		ss += v * v
	}
	if ss < 1e-12 { // mid = −shift: there is no direction left to normalise
		copy(out, mid)
		return 1
	}
	norm := math.Sqrt(ss)
	f := 1 / norm
	for i, x := range mid {
		out[i] = float32((float64(x) + float64(shift[i])) * f)
	}
	return norm
}

// scale writes norm(q ⊙ exp(z)) into mid and overwrites z. It subtracts the largest exponent of a
// component that is not zero, so the product never underflows as a whole.
func scale(mid, q []float32, z []float64) {
	top, flat := math.Inf(-1), true
	for i, x := range z {
		flat = flat && x == z[0]
		if q[i] != 0 {
			top = max(top, x)
		}
	}
	if flat || math.IsInf(top, -1) {
		copy(mid, q)
		return
	}
	var ss float64
	for i, x := range z {
		var e float64
		if q[i] != 0 {
			e = float64(q[i]) * math.Exp(x-top)
		}
		z[i] = e
		ss += e * e
	}
	f := 1 / math.Sqrt(ss)
	for i, e := range z {
		mid[i] = float32(e * f)
	}
}

// FuseGrad is the backward pass of Fuse. dout is the gradient of a loss with respect to out; out,
// mid and norm are the results of Fuse. It writes the gradient with respect to z into dz, which
// may be dout.
//
//	dv = (dout − (dout·out) out) / norm
//	dz = (dv − (dv·mid) mid) ⊙ mid
func FuseGrad(dz, dout, out, mid []float32, norm float64) {
	var a, b, c float64
	for i, g := range dout {
		x, o, m := float64(g), float64(out[i]), float64(mid[i])
		a += x * o
		b += x * m
		c += o * m
	}
	b -= a * c // (dout − a·out)·mid
	f := 1 / norm
	for i, g := range dout {
		m := float64(mid[i])
		dz[i] = float32(f * (float64(g) - a*float64(out[i]) - b*m) * m)
	}
}

// Even is the unit vector [dim] with all components equal, so that q ⊙ q_lex is q_lex up to
// length.
func Even(dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(1 / math.Sqrt(float64(dim)))
	}
	return v
}
