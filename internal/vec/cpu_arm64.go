//go:build arm64 && !purego

package vec

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// hasDotprod: SDOT computes four int8 products for each lane in one instruction. Every
// arm64 CPU has NEON itself.
var hasDotprod = cpu.ARM64.HasASIMDDP || runtime.GOOS == "darwin"

var int8Kernel = map[bool]string{true: "neon-dotprod", false: "neon"}[hasDotprod]

//go:noescape
func dot4neon(out *[4]float32, q, a, b, c, d *float32, n int)

//go:noescape
func l2x4neon(out *[4]float32, q, a, b, c, d *float32, n int)

//go:noescape
func dotInt8x4sdot(out *[4]int32, q, a, b, c, d *int8, n int)

//go:noescape
func dotInt8x4neon(out *[4]int32, q, a, b, c, d *int8, n int)

// dot4 processes the first components and returns their number.
func dot4(out *[4]float32, q, a, b, c, d []float32) int {
	n := len(q) &^ 7
	if n > 0 {
		dot4neon(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	}
	return n
}

func l2x4(out *[4]float32, q, a, b, c, d []float32) int {
	n := len(q) &^ 7
	if n > 0 {
		l2x4neon(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	}
	return n
}

func dotAxpy4(*[4]float32, []float32, *[4]float32, []float32, []float32, []float32, []float32, []float32) int {
	return 0
}

func dotInt8Rows([]int32, []int8, []int8) int { return 0 }

func dotInt8At([]int32, []int8, []*int8) bool { return false }

func dotInt8x4(out *[4]int32, q, a, b, c, d []int8) int {
	n := len(q) &^ 15
	switch {
	case n == 0:
	case hasDotprod:
		dotInt8x4sdot(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	default:
		dotInt8x4neon(out, &q[0], &a[0], &b[0], &c[0], &d[0], n)
	}
	return n
}
