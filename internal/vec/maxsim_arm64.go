//go:build arm64 && !purego

package vec

//go:noescape
func maxSimsdot(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, flip uint64, zero int32, unit float32)

//go:noescape
func maxSimneon(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, flip uint64, zero int32, unit float32)

func unpack(dst, src []byte, bits int) int { return 0 }

// signed turns components into signed bytes: a mask that flips the highest bits of eight-bit
// components, and the value that then stands for zero, in halves. 2c − 255 is 2·(c − 128) + 1.
func signed(bits int) (flip uint64, zero int32) {
	if bits == 8 {
		return 0x80, 1
	}
	return 0, 1 - 1<<bits
}

func maxLanes(dst, best []float32) bool { return false }

func maxSim(best []float32, q []int8, sums []int32, s *Sim, groups int) bool {
	if s.Packed {
		return false
	}
	run := maxSimneon
	if hasDotprod {
		run = maxSimsdot
	}
	flip, zero := signed(s.Bits)
	run(&best[0], &q[0], &sums[0], &s.Block[0], &s.Scales[0], len(sums)/SimTokens, groups, flip, zero, s.Unit)
	return true
}
