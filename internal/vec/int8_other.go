//go:build !amd64 || purego

package vec

const int8Kernel = "go"

func dotInt8x4(*[4]int32, []int8, []int8, []int8, []int8, []int8) int { return 0 }
func axpyInt8([]float32, float32, []int8) int                         { return 0 }
func quantize([]int8, []float32, float32) int                         { return 0 }

func maxAbs(x []float32) float32 { return maxAbsGo(x) }
