//go:build !amd64 || purego

package vec

// Functions with assembly only on amd64.

func dot(a, b []float32) float32 { return dotGo(a, b) }

func axpyWide([]float64, float64, []float32) int { return 0 }
func narrow([]float32, []float64) int            { return 0 }
func axpyInt8([]float32, float32, []int8) int    { return 0 }
func quantize([]int8, []float32, float32) int    { return 0 }

func addNorm(dst, a, b, c, scale, shift []float32, eps float32) bool     { return false }
func subTile([]float64, int, []float64, int, []float64, int) (done bool) { return false }

func maxAbs(x []float32) float32   { return maxAbsGo(x) }
func largest(x []float32) float32  { return largestGo(x) }
func scale(x []float32, f float32) { scaleGo(x, f) }

func quantizeU8([]uint8, []float32, float32, int32) int { return 0 }
func bounds(x []float32) (lo, hi float32, finite bool)  { return boundsGo(x) }
