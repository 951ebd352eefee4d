package vec

// Late interaction: codes of token states, 16 in parallel, against the tokens of a query. Package
// internal/late describes them.

const (
	// SimLanes is the number of codes in a block.
	SimLanes = 16
	// SimTokens divides the number of query tokens, since kernels process that many at a time.
	SimTokens = 4
)

// SimTop returns the largest allowed component of a query for codes of the given number of bits. AVX2
// adds two products in 16 bits, which would overflow above 63 for codes of eight bits.
func SimTop(bits int) int {
	if bits == 8 {
		return 63
	}
	return 127
}

// UnpackCodes writes the components in src, of 2 or 4 bits, to dst, one byte each: len(dst) =
// len(src)·8/bits. The components in the lowest bits of all bytes come first, then those in the next
// bits.
func UnpackCodes(dst, src []byte, bits int) {
	dst = dst[:len(src)*8/bits]
	unpackGo(dst, src, bits, unpack(dst, src, bits))
}

// unpackGo is the plain Go form; it begins at byte from of src.
func unpackGo(dst, src []byte, bits, from int) {
	n, mask := len(src), byte(1<<bits-1)
	for part := range 8 / bits {
		to := dst[part*n : part*n+n]
		for i := from; i < n; i++ {
			to[i] = src[i] >> (part * bits) & mask
		}
	}
}

// Sim is a block of SimLanes codes.
type Sim struct {
	Block  []byte  // group by group, the four components of all codes in each, one byte each; or packed, see UnpackCodes
	Packed bool    // Block is packed
	Scales []byte  // two bytes a code, little-endian, in units of Unit
	Unit   float32 // above 0
	Bits   int     // 2, 4 or 8; a component c stands for 2c − (2^Bits − 1)

	room []byte // to unpack a block
}

// unpack sets Block to one byte per component.
func (s *Sim) unpack(groups int) {
	n := 4 * SimLanes * groups
	if cap(s.room) < n {
		s.room = make([]byte, n)
	}
	UnpackCodes(s.room[:n], s.Block[:n*s.Bits/8], s.Bits)
	s.Block, s.Packed = s.room[:n], false
}

// MaxSim raises best[t·SimLanes+j], for each query token t and each code j of the block, to
//
//	scale_j · Σ_i q_ti · (2c_ji − (2^Bits − 1))
//
// if that is larger. q has the tokens one after another, each in whole groups of four components. sums
// are the sums of their components. The number of tokens is a multiple of SimTokens. Components of q
// are in [-SimTop, SimTop], and a token has at most MaxInt8Dim/64 of them. best must not hold NaN. The
// result is the same on every machine. The call may unpack a packed block in s.
func MaxSim(best []float32, q []int8, sums []int32, s *Sim) {
	n := len(sums)
	if n == 0 {
		return
	}
	if n%SimTokens != 0 {
		panic("vec: tokens of a query in parts of SimTokens")
	}
	groups := len(q) / (4 * n)
	best, q = best[:n*SimLanes], q[:4*n*groups]
	s.Packed = s.Packed && s.Bits < 8
	size := 4 * SimLanes * groups
	if s.Packed {
		size = size * s.Bits / 8
	}
	_, _ = s.Block[:size], s.Scales[:2*SimLanes]
	if groups > 0 && maxSim(best, q, sums, s, groups) {
		return
	}
	if s.Packed {
		s.unpack(groups)
		if groups > 0 && maxSim(best, q, sums, s, groups) {
			return
		}
	}
	maxSimGo(best, q, sums, s, groups)
}

// MaxLanes sets dst[t], for each query token t, to the greatest of its SimLanes numbers in best.
func MaxLanes(dst, best []float32) {
	best = best[:len(dst)*SimLanes]
	if len(dst) == 0 || maxLanes(dst, best) {
		return
	}
	for t := range dst {
		dst[t] = largestGo(best[t*SimLanes : (t+1)*SimLanes])
	}
}

// maxSimGo is the plain Go form.
func maxSimGo(best []float32, q []int8, sums []int32, s *Sim, groups int) {
	var scales [SimLanes]float32
	for j := range scales {
		scales[j] = s.Unit * float32(uint16(s.Scales[2*j])|uint16(s.Scales[2*j+1])<<8)
	}
	top := int32(1)<<s.Bits - 1
	for t, sum := range sums {
		side, to := q[4*t*groups:4*(t+1)*groups], best[t*SimLanes:(t+1)*SimLanes]
		for j := range SimLanes {
			var dot int32
			for g := range groups {
				b, a := s.Block[(g*SimLanes+j)*4:][:4], side[4*g:][:4]
				dot += int32(a[0])*int32(b[0]) + int32(a[1])*int32(b[1]) + int32(a[2])*int32(b[2]) + int32(a[3])*int32(b[3])
			}
			to[j] = max(to[j], float32(2*dot-top*sum)*scales[j])
		}
	}
}
