//go:build amd64 && !purego

package vec

import (
	"math/rand/v2"
	"testing"
)

// TestMaxSimKernels compares every kernel that this machine has, not only the
// one in use, with the plain twin.
func TestMaxSimKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	if !hasAVX2 {
		t.Skip("NOT TESTED: the kernels of late interaction in assembly; this CPU has neither AVX2 nor AVX-512 VNNI: run on one that has")
	}
	for _, bits := range []int{2, 4, 8} {
		for groups := 1; groups <= MaxInt8Dim/256; groups = groups*5/4 + 1 {
			tokens := SimTokens * (1 + groups%9)
			q, sums, s := simInput(r, tokens, groups, bits)
			if groups%3 == 0 { // the largest sums there are
				clear(sums)
				for i := range q {
					q[i] = int8(SimTop(bits))
					sums[i/(4*groups)] += int32(q[i])
				}
				for i := range s.Block {
					s.Block[i] = byte(1<<bits - 1)
				}
			}
			want := make([]float32, tokens*SimLanes)
			maxSimGo(want, q, sums, s, groups)
			got := map[string][]float32{"avx2": make([]float32, len(want))}
			maxSimavx2(&got["avx2"][0], &q[0], &sums[0], &s.Block[0], &s.Scales[0], tokens/SimTokens, groups, 1<<bits-1, s.Unit, simStep(bits))
			if hasVNNI {
				got["avx512-vnni"] = make([]float32, len(want))
				maxSimvnni(&got["avx512-vnni"][0], &q[0], &sums[0], &s.Block[0], &s.Scales[0], tokens, groups, groups, 8, 1<<bits-1, s.Unit)
				if groups*bits%8 == 0 {
					p := packed(s)
					got["avx512-vnni, packed"] = make([]float32, len(want))
					maxSimvnni(&got["avx512-vnni, packed"][0], &q[0], &sums[0], &p.Block[0], &s.Scales[0], tokens, groups, groups*bits/8, bits, 1<<bits-1, s.Unit)
				}
			}
			for name, numbers := range got {
				for i := range want {
					if numbers[i] != want[i] {
						t.Fatalf("%s, %d bits, %d groups, place %d: %g, want %g", name, bits, groups, i, numbers[i], want[i])
					}
				}
			}
		}
	}
}

func BenchmarkMaxSimAVX2(b *testing.B) {
	if !hasAVX2 {
		b.Skip("no AVX2")
	}
	q, sums, s := simInput(rand.New(rand.NewPCG(1, 1)), 12, 24, 4)
	best := make([]float32, 12*SimLanes)
	for b.Loop() {
		maxSimavx2(&best[0], &q[0], &sums[0], &s.Block[0], &s.Scales[0], 3, 24, 15, s.Unit, 8)
	}
}
