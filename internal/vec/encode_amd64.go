//go:build amd64 && !purego

package vec

//go:noescape
func addGELUavx512(c *float32, ldc, rows int, bias *float32, n int)

//go:noescape
func addGELUavx2(c *float32, ldc, rows int, bias *float32, n int)

//go:noescape
func addNormavx2(dst, a, b, c, scale, shift *float32, eps float32, n int)

// addGELU processes the first columns and returns their number.
func addGELU(c []float32, ldc, rows int, bias []float32) int {
	n := len(bias) &^ 7
	switch {
	case hasAVX512 && len(bias) >= 16:
		n = len(bias) &^ 15
		addGELUavx512(&c[0], ldc, rows, &bias[0], n)
	case hasAVX2 && n > 0:
		addGELUavx2(&c[0], ldc, rows, &bias[0], n)
	default:
		return 0
	}
	return n
}

// addNorm reports whether it did the work.
func addNorm(dst, a, b, c, scale, shift []float32, eps float32) bool {
	if !hasAVX2 || len(dst)%8 != 0 {
		return false
	}
	addNormavx2(&dst[0], &a[0], &b[0], &c[0], &scale[0], &shift[0], eps, len(dst))
	return true
}
