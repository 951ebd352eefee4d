package vec

import "math"

// The operations of a text encoder's layers between their matrix products.

// AddRows adds row, of length n, to each row of c. The rows of c are ldc ≥ n apart.
func AddRows(c []float32, ldc, rows int, row []float32) {
	for i := range rows {
		Axpy(c[i*ldc:i*ldc+len(row)], 1, row)
	}
}

// AddGELURows replaces each element x of the rows of c by y·Φ(y), with y = x + bias and Φ the normal
// distribution function: the exact GELU, not its tanh approximation. The rows of c are ldc ≥ len(bias)
// apart. The error is below 2e-7·|y|. NaN stays NaN.
func AddGELURows(c []float32, ldc, rows int, bias []float32) {
	n := len(bias)
	if n == 0 || rows == 0 {
		return
	}
	c = c[:(rows-1)*ldc+n]
	done := addGELU(c, ldc, rows, bias)
	for i := range rows {
		row := c[i*ldc : i*ldc+n]
		for j := done; j < n; j++ {
			row[j] = gelu(row[j] + bias[j])
		}
	}
}

// geluLimit is the end of the range of Φ: beyond it, float32 has only 0 and 1.
const geluLimit = 4 * math.Sqrt2

// geluPoly is (Φ(x) − ½)/x on |x| ≤ geluLimit as a polynomial of x²/16 − 1: the
// first 16 terms of its Chebyshev series, lowest power first.
var geluPoly = [16]float32{0.124992073, -0.062429104, 0.0465549678, -0.0380824246, 0.0318774767, -0.0264060292, 0.0213006716, -0.0162685197,
	0.0112003386, -0.00765886158, 0.00607704697, -0.00356590655, 0.000601253123, -0.000380756537, 0.00106147723, -0.000485363416}

// gelu is the plain Go form of the kernels.
func gelu(x float32) float32 {
	t := min(max(x, -geluLimit), geluLimit)
	u := t*t*(1.0/16) - 1
	p := geluPoly[15]
	for i := 14; i >= 0; i-- {
		p = p*u + geluPoly[i]
	}
	return x * (0.5 + t*p)
}

// AddNorm writes the layer normalisation of a + b + c into dst: minus the mean, divided by √(variance
// + eps), times scale, plus shift. dst may be any of the inputs. All have dst's length. Sums are in
// float32.
func AddNorm(dst, a, b, c, scale, shift []float32, eps float32) {
	n := len(dst)
	if n == 0 {
		return
	}
	a, b, c, scale, shift = a[:n], b[:n], c[:n], scale[:n], shift[:n]
	if !addNorm(dst, a, b, c, scale, shift, eps) {
		addNormGo(dst, a, b, c, scale, shift, eps)
	}
}

func addNormGo(dst, a, b, c, scale, shift []float32, eps float32) {
	var sum, squares float32
	for i := range dst {
		y := a[i] + b[i] + c[i]
		dst[i] = y
		sum += y
	}
	mean := sum / float32(len(dst))
	for _, y := range dst {
		squares += (y - mean) * (y - mean)
	}
	f := 1 / float32(math.Sqrt(float64(squares/float32(len(dst))+eps)))
	for i, y := range dst {
		dst[i] = (y-mean)*f*scale[i] + shift[i]
	}
}
