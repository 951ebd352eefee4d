package vec

import "sync"

// Kernels names the kernels of this machine. Two machines with the same ones get the same bits.
func Kernels() string { return best.name + " " + best8.name + " " + int8Kernel }

// MatMulNT computes C = A·Bᵀ for row-major A [m×k], B [n×k], C [m×n]: the inner products of all rows
// of A with all rows of B. C must not overlap A or B. It runs in the calling goroutine; several
// goroutines may fill different rows of one C.
func MatMulNT(c, a, b []float32, m, n, k int) {
	c, a, b = c[:m*n], a[:m*k], b[:n*k]
	if m < 4 { // packing B would cost more than it saves
		for i := range m {
			DotRows(c[i*n:i*n+n], a[i*k:i*k+k], b)
		}
		return
	}
	gemm(best, c, n, view{a, k, 1}, view{b, 1, k}, m, n, k)
}

// MatMulNN computes C = A·B for row-major A [m×k], B [k×n], C [m×n], which must not overlap.
func MatMulNN(c, a, b []float32, m, n, k int) {
	c, a, b = c[:m*n], a[:m*k], b[:k*n]
	gemm(best, c, n, view{a, k, 1}, view{b, n, 1}, m, n, k)
}

// MatMulTN computes C = Aᵀ·B for row-major A [k×m], B [k×n], C [m×n], which must not overlap.
func MatMulTN(c, a, b []float32, m, n, k int) {
	c, a, b = c[:m*n], a[:k*m], b[:k*n]
	gemm(best, c, n, view{a, 1, m}, view{b, n, 1}, m, n, k)
}

// MatMulNTParallel is MatMulNT on the given number of goroutines. If m ≥ 4, the bits of the result do
// not depend on their number.
func MatMulNTParallel(c, a, b []float32, m, n, k, workers int) {
	if m < 4 {
		MatMulNT(c, a, b, m, n, k)
		return
	}
	split(c, view{a, k, 1}, view{b, 1, k}, m, n, k, workers)
}

// MatMulNNParallel is MatMulNN on the given number of goroutines, with the same bits.
func MatMulNNParallel(c, a, b []float32, m, n, k, workers int) {
	split(c, view{a, k, 1}, view{b, n, 1}, m, n, k, workers)
}

// split cuts the longer side of C into pieces of whole tiles, one a worker.
func split(c []float32, a, b view, m, n, k, workers int) {
	c, a.data, b.data = c[:m*n], a.data[:m*k], b.data[:n*k]
	long, tile := n, best.nr
	if m > n {
		long, tile = m, best.mr
	}
	tiles := (long + tile - 1) / tile
	workers = max(1, min(workers, tiles))
	var wg sync.WaitGroup
	for w := range workers {
		from, to := min(long, tiles*w/workers*tile), min(long, tiles*(w+1)/workers*tile)
		part := func() {
			if m > n {
				av := view{a.data[from*a.rs:], a.rs, a.cs}
				gemm(best, c[from*n:], n, av, b, to-from, n, k)
			} else {
				bv := view{b.data[from*b.cs:], b.rs, b.cs}
				gemm(best, c[from:], n, a, bv, m, to-from, k)
			}
		}
		if w == workers-1 {
			part()
			break
		}
		wg.Go(part)
	}
	wg.Wait()
}
