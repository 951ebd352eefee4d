//go:build amd64 && !purego

package vec

//go:noescape
func axpyWideavx2(y *float64, f float64, x *float32, n int)

//go:noescape
func narrowavx2(dst *float32, x *float64, n int)

//go:noescape
func subTileavx2(c *float64, ldc int, a *float64, lda int, b *float64, k int)

// axpyWide processes the first components and returns their number.
func axpyWide(y []float64, f float64, x []float32) int {
	n := len(y) &^ 15
	if n == 0 || !hasAVX2 {
		return 0
	}
	axpyWideavx2(&y[0], f, &x[0], n)
	return n
}

func narrow(dst []float32, x []float64) int {
	n := len(x) &^ 7
	if n == 0 || !hasAVX2 {
		return 0
	}
	narrowavx2(&dst[0], &x[0], n)
	return n
}

func subTile(c []float64, ldc int, a []float64, lda int, b []float64, k int) (done bool) {
	if !hasAVX2 {
		return false
	}
	subTileavx2(&c[0], ldc, &a[0], lda, &b[0], k)
	return true
}
