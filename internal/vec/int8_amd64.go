//go:build amd64 && !purego

package vec

import "golang.org/x/sys/cpu"

// hasVNNI: AVX-512 computes four int8 products for each lane in one instruction.
var hasVNNI = hasAVX512 && cpu.X86.HasAVX512VNNI && cpu.X86.HasBMI2

var int8Kernel = func() string {
	switch {
	case hasVNNI:
		return "avx512-vnni"
	case hasAVX2:
		return "avx2"
	}
	return "go"
}()

//go:noescape
func dotInt8x4vnni(out *[4]int32, q, a, b, c, d *int8, n int)

//go:noescape
func dotInt8Rowsvnni(out *int32, q, rows *int8, d, groups int)

//go:noescape
func dotInt8x4avx2(out *[4]int32, q, a, b, c, d *int8, n int)

//go:noescape
func dotInt8Rowsavx2(out *int32, q, rows *int8, d, groups int)

//go:noescape
func dotInt8Atavx2(out *int32, q *int8, rows **int8, d, n int)

//go:noescape
func dotInt8Atvnni(out *int32, q *int8, rows **int8, d, n int)

//go:noescape
func axpyInt8avx2(y *float32, f float32, x *int8, n int)

//go:noescape
func maxAbsavx2(x *float32, n int) float32

//go:noescape
func quantizeavx2(dst *int8, x *float32, f float32, n int)

// dotInt8x4 processes the first components and returns their number.
func dotInt8x4(out *[4]int32, q, a, b, c, d []int8) int {
	if hasVNNI && len(q) > 0 {
		dotInt8x4vnni(out, &q[0], &a[0], &b[0], &c[0], &d[0], len(q))
		return len(q)
	}
	n := len(q) &^ 15
	if n == 0 || !hasAVX2 {
		return 0
	}
	dotInt8x4avx2(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	return n
}

// dotInt8Rows processes the first rows and returns their number.
func dotInt8Rows(out []int32, q, rows []int8) int {
	n := len(out) &^ 3
	if n == 0 || len(q) == 0 {
		return 0
	}
	switch rows = rows[:n*len(q)]; {
	case hasVNNI:
		dotInt8Rowsvnni(&out[0], &q[0], &rows[0], len(q), n/4)
	case hasAVX2 && len(q)%16 == 0:
		dotInt8Rowsavx2(&out[0], &q[0], &rows[0], len(q), n/4)
	default:
		return 0
	}
	return n
}

// dotInt8At reports whether it did the work.
func dotInt8At(out []int32, q []int8, rows []*int8) bool {
	switch {
	case len(rows) < 4 || len(q) == 0:
		return false
	case hasVNNI:
		dotInt8Atvnni(&out[0], &q[0], &rows[0], len(q), len(rows))
	case hasAVX2 && len(q)%16 == 0:
		dotInt8Atavx2(&out[0], &q[0], &rows[0], len(q), len(rows))
	default:
		return false
	}
	return true
}

func axpyInt8(y []float32, f float32, x []int8) int {
	n := len(y) &^ 15
	if n == 0 || !hasAVX2 {
		return 0
	}
	axpyInt8avx2(&y[0], f, &x[0], n)
	return n
}

func maxAbs(x []float32) float32 {
	n := len(x) &^ 7
	if n == 0 || !hasAVX2 {
		return maxAbsGo(x)
	}
	return max(maxAbsavx2(&x[0], n), maxAbsGo(x[n:]))
}

func quantize(dst []int8, x []float32, f float32) int {
	n := len(x) &^ 31
	if n == 0 || !hasAVX2 {
		return 0
	}
	quantizeavx2(&dst[0], &x[0], f, n)
	return n
}
