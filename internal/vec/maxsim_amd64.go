//go:build amd64 && !purego

package vec

//go:noescape
func unpackavx2(dst, src *byte, n, stride, bits int)

//go:noescape
func maxSimvnni(best *float32, q *int8, sums *int32, block, scales *byte, tokens, groups, part, bits int, top int32, unit float32)

//go:noescape
func maxSimavx2(best *float32, q *int8, sums *int32, block, scales *byte, quads, groups int, top int32, unit float32, step int)

//go:noescape
func maxlanesavx2(dst, best *float32, n int)

func maxLanes(dst, best []float32) bool {
	if hasAVX2 {
		maxlanesavx2(&dst[0], &best[0], len(dst))
	}
	return hasAVX2
}

// unpack processes the first bytes of src and returns their number.
func unpack(dst, src []byte, bits int) int {
	n := len(src) &^ 31
	if n == 0 || !hasAVX2 {
		return 0
	}
	unpackavx2(&dst[0], &src[0], n, len(src), bits)
	return n
}

// simStep returns how many products of two components AVX2 sums in 16 bits before it widens them: 8 of
// 2·15·127, or one of 2·255·63.
func simStep(bits int) int {
	if bits == 8 {
		return 1
	}
	return 8
}

func maxSim(best []float32, q []int8, sums []int32, s *Sim, groups int) bool {
	top := int32(1)<<s.Bits - 1
	switch {
	case hasVNNI:
		part, bits := groups, 8
		if s.Packed {
			part, bits = groups*s.Bits/8, s.Bits
		}
		if part*8 != groups*bits { // a part begins within a group
			return false
		}
		maxSimvnni(&best[0], &q[0], &sums[0], &s.Block[0], &s.Scales[0], len(sums), groups, part, bits, top, s.Unit)
	case hasAVX2 && !s.Packed:
		maxSimavx2(&best[0], &q[0], &sums[0], &s.Block[0], &s.Scales[0], len(sums)/SimTokens, groups, top, s.Unit, simStep(s.Bits))
	default:
		return false
	}
	return true
}
