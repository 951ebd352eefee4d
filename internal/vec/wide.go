package vec

// Float64 arithmetic, for sums over many vectors and for inverses.

// AxpyWide adds f·x to y in place, in float64. x and y have equal length.
func AxpyWide(y []float64, f float64, x []float32) {
	x = x[:len(y)]
	for i := axpyWide(y, f, x); i < len(y); i++ {
		y[i] += f * float64(x[i])
	}
}

// Narrow rounds x to float32. x and dst have equal length.
func Narrow(dst []float32, x []float64) {
	x = x[:len(dst)]
	for i := narrow(dst, x); i < len(x); i++ {
		dst[i] = float32(x[i])
	}
}

// SubTile subtracts a matrix product from a tile of 4 rows and 8 columns: c[i·ldc+j] −= Σ_p
// a[i·lda+p]·b[p·8+j] for i < 4, j < 8, p < k. The bits of an element do not depend on its place in
// the tile.
func SubTile(c []float64, ldc int, a []float64, lda int, b []float64, k int) {
	if k == 0 {
		return
	}
	c, a, b = c[:3*ldc+8], a[:3*lda+k], b[:8*k]
	if !subTile(c, ldc, a, lda, b, k) {
		subTileGo(c, ldc, a, lda, b, k)
	}
}

// subTileGo is the plain Go form: half a row of sums in registers.
func subTileGo(c []float64, ldc int, a []float64, lda int, b []float64, k int) {
	for i := range 4 {
		row := a[i*lda : i*lda+k]
		for j := 0; j < 8; j += 4 {
			var s0, s1, s2, s3 float64
			for p, x := range row {
				t := (*[4]float64)(b[8*p+j:])
				s0 += x * t[0]
				s1 += x * t[1]
				s2 += x * t[2]
				s3 += x * t[3]
			}
			t := (*[4]float64)(c[i*ldc+j:])
			t[0] -= s0
			t[1] -= s1
			t[2] -= s2
			t[3] -= s3
		}
	}
}
