//go:build (!amd64 && !arm64) || purego

package vec

// Functions with assembly on amd64 and arm64.

const int8Kernel = "go"

// kernels8 are the kernels that this machine can run, best first.
var kernels8 = []*kernel8{kernel8Go}

// kernels are the kernels that this machine can run, best first.
var kernels = []*kernel{kernelGo}

func axpy([]float32, float32, []float32) int                 { return 0 }
func exp(dst, x []float32, shift, f float32) (int, float64)  { return 0, 0 }
func addGELU(c []float32, ldc, rows int, bias []float32) int { return 0 }

func dot4(*[4]float32, []float32, []float32, []float32, []float32, []float32) int { return 0 }
func l2x4(*[4]float32, []float32, []float32, []float32, []float32, []float32) int { return 0 }
func dotAxpy4(*[4]float32, []float32, *[4]float32, []float32, []float32, []float32, []float32, []float32) int {
	return 0
}
func dotInt8x4(*[4]int32, []int8, []int8, []int8, []int8, []int8) int         { return 0 }
func dotInt8Rows([]int32, []int8, []int8) int                                 { return 0 }
func dotInt4x4(*[4]int32, []int8, []int8, []int8, []int8, []int8, []int8) int { return 0 }
func dotInt8At([]int32, []int8, []*int8) bool                                 { return false }
func dotInt4At([]int32, []int8, []int8, []*int8) bool                         { return false }
func unpackInt4(lo, hi, src []int8) int                                       { return 0 }

func unpack(dst, src []byte, bits int) int { return 0 }
func maxLanes(dst, best []float32) bool    { return false }

func maxSim(best []float32, q []int8, sums []int32, s *Sim, groups int) bool { return false }

const signKernel = "go"

func signTables([]byte, []int8) bool    { return false }
func firstAbove([]float32, float32) int { return 0 }

func signScores(dst []float32, codes, tables []byte, factors, offsets []float32, zero int32, scale float32) bool {
	return false
}
