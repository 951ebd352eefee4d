//go:build amd64 && !purego

package vec

import (
	"math/rand/v2"
	"testing"
)

// TestInt8Kernels compares every kernel that this machine has, not only the
// one in use, with the plain twin.
func TestInt8Kernels(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	type kernel func(out *[4]int32, q, a, b, c, d *int8, n int)
	ran := map[string]kernel{}
	if hasVNNI {
		ran["avx512-vnni"] = dotInt8x4vnni
	}
	if hasAVX2 {
		ran["avx2"] = dotInt8x4avx2
	}
	for name, f := range ran {
		for n := 16; n <= 400; n += 16 {
			q, a, b, c, d := randomInt8(r, n), randomInt8(r, n), randomInt8(r, n), randomInt8(r, n), randomInt8(r, n)
			var got, want [4]int32
			f(&got, &q[0], &a[0], &b[0], &c[0], &d[0], n)
			dotInt8x4Go(&want, q, a, b, c, d)
			if got != want {
				t.Fatalf("%s, %d codes: %v, want %v", name, n, got, want)
			}
		}
	}
	if len(ran) == 0 {
		t.Skip("NOT TESTED: the int8 kernels in assembly; this CPU has neither AVX2 nor AVX-512 VNNI: run on one that has")
	}
}

// TestInt4Kernels does so for codes of four bits.
func TestInt4Kernels(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	has := map[string]bool{"avx512-vnni": hasVNNI, "avx2": hasAVX2}
	for name, f := range map[string]int4Kernel{"avx512-vnni": dotInt4x4vnni, "avx2": dotInt4x4avx2} {
		if !has[name] {
			t.Logf("NOT TESTED: %s, which this CPU has not", name)
			continue
		}
		equalsInt4Go(t, r, name, f)
	}
}
