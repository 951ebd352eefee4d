//go:build amd64 && !purego

package vec

//go:noescape
func dotInt4x4vnni(out *[4]int32, lo, hi, a, b, c, d *int8, n int)

//go:noescape
func dotInt4x4avx2(out *[4]int32, lo, hi, a, b, c, d *int8, n int)

// dotInt4x4 does the first bytes and returns how many.
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
