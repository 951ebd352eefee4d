//go:build !amd64 || purego

package vec

func axpyWide([]float64, float64, []float32) int                         { return 0 }
func narrow([]float32, []float64) int                                    { return 0 }
func subTile([]float64, int, []float64, int, []float64, int) (done bool) { return false }
