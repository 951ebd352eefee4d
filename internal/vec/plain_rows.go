//go:build (!amd64 && !arm64) || purego

package vec

// What has assembly on amd64 and arm64.

const int8Kernel = "go"

// kernels8 are those this machine can run, best first.
var kernels8 = []*kernel8{kernel8Go}

func dot4(*[4]float32, []float32, []float32, []float32, []float32, []float32) int { return 0 }
func l2x4(*[4]float32, []float32, []float32, []float32, []float32, []float32) int { return 0 }
func dotInt8x4(*[4]int32, []int8, []int8, []int8, []int8, []int8) int             { return 0 }
