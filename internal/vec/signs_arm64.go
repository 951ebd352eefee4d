//go:build arm64 && !purego

package vec

const signKernel = "neon"

//go:noescape
func signScoresneon(dst *float32, codes, tables *byte, factors, offsets *float32, blocks, groups int, zero int32, scale float32)

func signTables([]byte, []int8) bool    { return false }
func firstAbove([]float32, float32) int { return 0 }

func signScores(dst []float32, codes, tables []byte, factors, offsets []float32, zero int32, scale float32) bool {
	signScoresneon(&dst[0], &codes[0], &tables[0], &factors[0], &offsets[0], len(dst)/SignLanes, len(tables)/16, zero, scale)
	return true
}
