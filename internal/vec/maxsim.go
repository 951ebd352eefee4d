package vec

// Late interaction: codes of token states, 16 side by side, against the tokens of
// a query. See index/late.

// SimLanes is how many codes stand side by side.
const SimLanes = 16

// UnpackCodes writes the components in src, of 2, 4 or 8 bits, to dst, a byte each:
// len(dst) = len(src)·8/bits. Those in the lowest bits of all bytes come first, then
// those above them.
func UnpackCodes(dst, src []byte, bits int) {
	dst = dst[:len(src)*8/bits]
	unpackGo(dst, src, bits, 0)
}

// unpackGo is the plain twin; it begins at byte from of src.
func unpackGo(dst, src []byte, bits, from int) {
	n, mask := len(src), byte(1<<bits-1)
	for part := range 8 / bits {
		to := dst[part*n : part*n+n]
		for i := from; i < n; i++ {
			to[i] = src[i] >> (part * bits) & mask
		}
	}
}

// MaxSim raises best[t·SimLanes+j] to scales[j]·Σ (2·block−top)·q_t where that is more: for each
// token t of the query, of len(sums), and each code j, with top = 2^bits−1. q has the tokens one after another, of
// whole groups of four components; sums are those of their components. block has the codes unpacked: group by group, in
// each the four components of all codes. Components of q are in [-127, 127], with 8 bits in [-63, 63]; at most
// MaxInt8Dim/64 of them. best must not hold NaN. The same bits on every machine.
func MaxSim(best []float32, q []int8, sums []int32, block []byte, scales *[SimLanes]float32, bits int) {
	n := len(sums)
	if n == 0 {
		return
	}
	groups := len(q) / (4 * n)
	best, q, block = best[:n*SimLanes], q[:4*n*groups], block[:4*SimLanes*groups]
	maxSimGo(best, q, sums, block, scales, groups, int32(1)<<bits-1)
}

// maxSimGo is the plain twin.
func maxSimGo(best []float32, q []int8, sums []int32, block []byte, scales *[SimLanes]float32, groups int, top int32) {
	for t, sum := range sums {
		side, to := q[4*t*groups:4*(t+1)*groups], best[t*SimLanes:(t+1)*SimLanes]
		for j := range SimLanes {
			var dot int32
			for g := range groups {
				b, a := block[(g*SimLanes+j)*4:][:4], side[4*g:][:4]
				dot += int32(a[0])*int32(b[0]) + int32(a[1])*int32(b[1]) + int32(a[2])*int32(b[2]) + int32(a[3])*int32(b[3])
			}
			to[j] = max(to[j], float32(2*dot-top*sum)*scales[j])
		}
	}
}
