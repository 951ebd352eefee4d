//go:build arm64 && !purego

package vec

//go:noescape
func dotInt4x4sdot(out *[4]int32, lo, hi, a, b, c, d *int8, n int)

//go:noescape
func dotInt4x4neon(out *[4]int32, lo, hi, a, b, c, d *int8, n int)

// dotInt4x4 processes the first bytes and returns their number.
func dotInt4x4(out *[4]int32, lo, hi, a, b, c, d []int8) int {
	n := len(lo) &^ 15
	switch {
	case n == 0:
	case hasDotprod:
		dotInt4x4sdot(out, &lo[0], &hi[0], &a[0], &b[0], &c[0], &d[0], n)
	default:
		dotInt4x4neon(out, &lo[0], &hi[0], &a[0], &b[0], &c[0], &d[0], n)
	}
	return n
}

func dotInt4At([]int32, []int8, []int8, []*int8) bool { return false }

func unpackInt4(lo, hi, src []int8) int { return 0 }
