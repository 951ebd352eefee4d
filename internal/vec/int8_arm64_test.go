//go:build arm64 && !purego

package vec

import (
	"math/rand/v2"
	"testing"
)

// TestInt8Kernels compares every kernel that this machine has, not only the
// one in use, with the plain twin.
func TestInt8Kernels(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for name, f := range map[string]func(out *[4]int32, q, a, b, c, d *int8, n int){"neon-dotprod": dotInt8x4sdot, "neon": dotInt8x4neon} {
		if name == "neon-dotprod" && !hasDotprod {
			t.Log("this CPU has no SDOT")
			continue
		}
		for n := 16; n <= 400; n += 16 {
			q, a, b, c, d := randomCodes(r, n), randomCodes(r, n), randomCodes(r, n), randomCodes(r, n), randomCodes(r, n)
			var got, want [4]int32
			f(&got, &q[0], &a[0], &b[0], &c[0], &d[0], n)
			dotInt8x4Go(&want, q, a, b, c, d)
			if got != want {
				t.Fatalf("%s, %d codes: %v, want %v", name, n, got, want)
			}
		}
	}
}

// TestInt4Kernels does so for codes of four bits.
func TestInt4Kernels(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for name, f := range map[string]int4Kernel{"neon-dotprod": dotInt4x4sdot, "neon": dotInt4x4neon} {
		if name == "neon-dotprod" && !hasDotprod {
			t.Log("this CPU has no SDOT")
			continue
		}
		equalsInt4Go(t, r, name, f)
	}
}
