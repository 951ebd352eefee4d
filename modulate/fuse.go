package modulate

import "math"

// Bound divides the logits z = W·w + b by a number, of at least 1, that leaves
// their standard deviation over the dimensions at most spread, and returns its
// reciprocal; a spread of 0 is no bound. It bounds how far q ⊙ exp(z) can turn
// from q: a softmax whose temperature rises with what the tokens ask for, so
// that many of them, or a few learned by heart, cannot overrule the dense
// vector. Equal z stay as they are.
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

// BoundGrad is the backward pass of Bound where it returned a gain below 1: dz
// is the gradient of a loss with respect to the bounded logits z and becomes
// that with respect to the logits before. dz sums to 0, as FuseGrad's does.
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

// Fuse is the forward pass that queries and training share (Eq. 9 and the
// stacking of additive parts):
//
//	mid = norm(q ⊙ exp(z))        which equals norm(q ⊙ softmax(z))
//	out = norm(mid + shift)
//
// It returns ‖mid + shift‖, which FuseGrad needs. All slices have length d;
// out and mid may be the same slice, but neither may overlap q. z is
// overwritten. z == nil stands for zeros, and so does shift == nil. Where all
// z are equal mid is q bit for bit, and where shift is nil, or cancels mid,
// out is mid bit for bit. Finite for any finite arguments.
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

// scale writes norm(q ⊙ exp(z)) into mid and spoils z. The largest exponent
// taken off is that of a component that is not zero, so the product never
// underflows as a whole.
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

// FuseGrad is the backward pass of Fuse: given the gradient dout of a loss
// with respect to out, and out, mid and the norm that Fuse made, it writes the
// gradient with respect to z into dz, which may be dout.
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
