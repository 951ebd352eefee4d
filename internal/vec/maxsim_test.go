package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// simInput is a query and a block, of any numbers that there may be.
func simInput(r *rand.Rand, tokens, groups, bits int) (q []int8, sums []int32, s *Sim) {
	most := SimTop(bits)
	q, sums = make([]int8, 4*tokens*groups), make([]int32, tokens)
	for i := range q {
		q[i] = int8(r.IntN(2*most+1) - most)
		switch r.IntN(8) {
		case 0:
			q[i] = int8(most)
		case 1:
			q[i] = int8(-most)
		}
		sums[i/(4*groups)] += int32(q[i])
	}
	s = &Sim{Block: make([]byte, 4*SimLanes*groups), Scales: make([]byte, 2*SimLanes), Unit: 2 / 65535., Bits: bits}
	for i := range s.Block {
		s.Block[i] = byte(r.IntN(1 << bits))
		if r.IntN(4) == 0 {
			s.Block[i] = byte(1<<bits - 1)
		}
	}
	for i := range s.Scales {
		s.Scales[i] = byte(r.IntN(256))
	}
	return q, sums, s
}

// plainSim is the definition.
func plainSim(q []int8, s *Sim, t, j, groups int) float32 {
	var sum int32
	for i := range 4 * groups {
		c := int32(s.Block[(i/4*SimLanes+j)*4+i%4])
		sum += int32(q[4*t*groups+i]) * (2*c - (1<<s.Bits - 1))
	}
	return float32(sum) * (s.Unit * float32(uint16(s.Scales[2*j])|uint16(s.Scales[2*j+1])<<8))
}

// packed is s with its components as UnpackCodes takes them.
func packed(s *Sim) *Sim {
	out := *s
	if s.Bits == 8 {
		return &out
	}
	n := len(s.Block) * s.Bits / 8
	out.Block, out.Packed = make([]byte, n), true
	for i, c := range s.Block {
		out.Block[i%n] |= c << (i / n * s.Bits)
	}
	return &out
}

func TestMaxSim(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, bits := range []int{2, 4, 8} {
		for groups := 1; groups < 60; groups++ {
			for _, tokens := range []int{4, 8, 12, 16, 28} {
				q, sums, s := simInput(r, tokens, groups, bits)
				given := s
				if groups%2 == 0 || tokens == 12 {
					given = packed(s)
				}
				best := make([]float32, tokens*SimLanes+1)
				for i := range best {
					best[i] = float32(math.Inf(-1))
					if i%3 == 0 {
						best[i] = float32(r.NormFloat64() * 1000)
					}
				}
				before := append([]float32(nil), best...)
				MaxSim(best, q, sums, given)
				for i := range tokens * SimLanes {
					want := max(before[i], plainSim(q, s, i/SimLanes, i%SimLanes, groups))
					if best[i] != want {
						t.Fatalf("%d bits, %d groups, token %d, code %d: %g, want %g", bits, groups, i/SimLanes, i%SimLanes, best[i], want)
					}
				}
				if best[len(best)-1] != before[len(before)-1] {
					t.Fatal("wrote behind best")
				}
			}
		}
	}
}

// TestMaxLanes: the greatest number may stand in any lane, and be negative.
func TestMaxLanes(t *testing.T) {
	for n := range 2 * SimLanes {
		best, want := make([]float32, n*SimLanes), make([]float32, n)
		for i := range best {
			best[i] = -float32(2 + i%7)
		}
		for i := range want {
			want[i] = -1 / float32(i+1)
			best[i*SimLanes+(i+n)%SimLanes] = want[i]
		}
		got := make([]float32, n)
		if MaxLanes(got, best); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestUnpackCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for n := range 200 {
		for _, bits := range []int{2, 4} {
			src := make([]byte, n)
			for i := range src {
				src[i] = byte(r.IntN(256))
			}
			dst := make([]byte, n*8/bits+1)
			dst[len(dst)-1] = 77
			UnpackCodes(dst[:len(dst)-1], src, bits)
			for i, got := range dst[:len(dst)-1] {
				if want := src[i%n] >> (i / n * bits) & (1<<bits - 1); got != want {
					t.Fatalf("component %d of %d bytes of %d bits: %d, want %d", i, n, bits, got, want)
				}
			}
			if dst[len(dst)-1] != 77 {
				t.Fatal("wrote behind dst")
			}
		}
	}
}

// FuzzMaxSim holds the kernels to the plain twin on any codes.
func FuzzMaxSim(f *testing.F) {
	f.Add(uint64(1), uint8(24), uint8(3), uint8(1))
	f.Add(uint64(2), uint8(255), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, seed uint64, groups, quads, bits uint8) {
		tokens, n := SimTokens*(1+int(quads)%8), 1+int(groups)
		q, sums, s := simInput(rand.New(rand.NewPCG(seed, 1)), tokens, n, 2<<(bits%3))
		got, want := make([]float32, tokens*SimLanes), make([]float32, tokens*SimLanes)
		MaxSim(got, q, sums, packed(s))
		maxSimGo(want, q, sums, s, n)
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%d bits, %d groups, place %d: %g, want %g", s.Bits, n, i, got[i], want[i])
			}
		}
	})
}

func BenchmarkMaxSim(b *testing.B) {
	q, sums, s := simInput(rand.New(rand.NewPCG(1, 1)), 12, 24, 4)
	best := make([]float32, 12*SimLanes)
	for name, s := range map[string]*Sim{"block": s, "packed": packed(s)} {
		b.Run(name+"/"+int8Kernel, func(b *testing.B) {
			for b.Loop() {
				given := *s
				MaxSim(best, q, sums, &given)
			}
		})
	}
	src := make([]byte, len(s.Block)/2)
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			UnpackCodes(s.Block, src, 4)
		}
	})
}
