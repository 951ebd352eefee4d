//go:build amd64 && !purego

package vec

//go:noescape
func dotInt4x4vnni(out *[4]int32, lo, hi, a, b, c, d *int8, n int)

//go:noescape
func dotInt4x4avx2(out *[4]int32, lo, hi, a, b, c, d *int8, n int)

//go:noescape
func dotInt4Atavx2(out *int32, lo, hi *int8, rows **int8, d, n int)

//go:noescape
func dotInt4Atvnni(out *int32, lo, hi *int8, rows **int8, d, n int)

//go:noescape
func unpackInt4avx2(lo, hi, src *int8, n int)

// unpackInt4 processes the first bytes and returns their number.
func unpackInt4(lo, hi, src []int8) int {
	n := len(src) &^ 31
	if n == 0 || !hasAVX2 {
		return 0
	}
	unpackInt4avx2(&lo[0], &hi[0], &src[0], n)
	return n
}

// dotInt4At reports whether it did the work.
func dotInt4At(out []int32, lo, hi []int8, rows []*int8) bool {
	switch {
	case len(rows) < 4 || len(lo) == 0:
		return false
	case hasVNNI:
		dotInt4Atvnni(&out[0], &lo[0], &hi[0], &rows[0], len(lo), len(rows))
	case hasAVX2 && len(lo)%32 == 0:
		dotInt4Atavx2(&out[0], &lo[0], &hi[0], &rows[0], len(lo), len(rows))
	default:
		return false
	}
	return true
}

// dotInt4x4 processes the first bytes and returns their number.
func dotInt4x4(out *[4]int32, lo, hi, a, b, c, d []int8) int {
	if hasVNNI && len(lo) > 0 {
		dotInt4x4vnni(out, &lo[0], &hi[0], &a[0], &b[0], &c[0], &d[0], len(lo))
		return len(lo)
	}
	n := len(lo) &^ 31
	if n == 0 || !hasAVX2 {
		return 0
	}
	dotInt4x4avx2(out, &lo[0], &hi[0], &a[0], &b[0], &c[0], &d[0], n)
	return n
}
