//go:build amd64 && !purego

package vec

var signKernel = map[bool]string{true: "avx2", false: "go"}[hasAVX2]

//go:noescape
func signTablesavx2(tables *byte, codes *int8, pairs int)

//go:noescape
func signScoresavx2(dst *float32, codes, tables *byte, factors, offsets *float32, blocks, pairs int, zero int32, scale float32)

//go:noescape
func signScoresavx512(dst *float32, codes, tables *byte, factors, offsets *float32, blocks, pairs int, zero int32, scale float32)

//go:noescape
func firstAboveavx2(x *float32, bar float32, n int) int

func signTables(tables []byte, codes []int8) bool {
	if !hasAVX2 || len(codes) == 0 {
		return false
	}
	signTablesavx2(&tables[0], &codes[0], len(codes)/8)
	return true
}

func signScores(dst []float32, codes, tables []byte, factors, offsets []float32, zero int32, scale float32) bool {
	if !hasAVX2 {
		return false
	}
	if pairs := len(tables) / 32; hasAVX512 && pairs%2 == 0 {
		signScoresavx512(&dst[0], &codes[0], &tables[0], &factors[0], &offsets[0], len(dst)/SignLanes, pairs, zero, scale)
		return true
	}
	signScoresavx2(&dst[0], &codes[0], &tables[0], &factors[0], &offsets[0], len(dst)/SignLanes, len(tables)/32, zero, scale)
	return true
}

// firstAbove skips components up to bar at the front, and returns their number.
func firstAbove(x []float32, bar float32) int {
	n := len(x) &^ 31
	if n == 0 || !hasAVX2 {
		return 0
	}
	return firstAboveavx2(&x[0], bar, n)
}
