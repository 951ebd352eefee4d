//go:build arm64 && !purego

package vec

import (
	"math/rand/v2"
	"testing"
)

// TestMaxSimKernels compares every kernel that this machine has, not only the
// one in use, with the plain twin.
func TestMaxSimKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, bits := range []int{2, 4, 8} {
		for groups := 1; groups <= MaxInt8Dim/256; groups = groups*5/4 + 1 {
			const tokens = 8
			q, sums, s := simInput(r, tokens, groups, bits)
			want := make([]float32, tokens*SimLanes)
			maxSimGo(want, q, sums, s, groups)
			flip, zero := signed(bits)
			for name, run := range map[string]func(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, flip uint64, zero int32, unit float32){"neon": maxSimneon, "neon-dotprod": maxSimsdot} {
				if name == "neon-dotprod" && !hasDotprod {
					t.Log("this CPU has no SDOT")
					continue
				}
				got := make([]float32, len(want))
				run(&got[0], &q[0], &sums[0], &s.Block[0], &s.Scales[0], tokens/SimTokens, groups, flip, zero, s.Unit)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("%s, %d bits, %d groups, place %d: %g, want %g", name, bits, groups, i, got[i], want[i])
					}
				}
			}
		}
	}
}
