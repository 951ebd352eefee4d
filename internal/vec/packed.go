package vec

// Packed is a matrix B copied into panels, for products with many matrices A. MatMulNT and MatMulNN
// copy B each time, which costs more than the product if A has few rows. The zero value is empty. Each
// Pack replaces the contents and reuses the memory. Memory: 4·n·k bytes, n rounded up to whole panels.
// Safe for concurrent multiplication.
type Packed struct {
	panels []float32
	n, k   int
}

// Then is called with each block of a product after it is computed, while it is still in a cache. The
// block has rows×w elements. Element (i, j) is c[i*ldc+j], which is column from+j of the product.
type Then func(c []float32, ldc, rows, from, w int)

// PackNT packs B [n×k] for products A·Bᵀ.
func (p *Packed) PackNT(b []float32, n, k int) { p.PackNTOf(b, k, n, k) }

// PackNTOf is PackNT for a B whose rows are ldb ≥ k apart.
func (p *Packed) PackNTOf(b []float32, ldb, n, k int) {
	p.pack(view{strided(b, ldb, n, k), 1, ldb}, n, k)
}

// PackNN packs B [k×n] for products A·B.
func (p *Packed) PackNN(b []float32, k, n int) { p.PackNNOf(b, n, k, n) }

// PackNNOf is PackNN for a B whose rows are ldb ≥ n apart.
func (p *Packed) PackNNOf(b []float32, ldb, k, n int) {
	p.pack(view{strided(b, ldb, k, n), ldb, 1}, n, k)
}

// strided is the part of x that a matrix of the given rows and columns needs, with rows ld apart. The
// kernels do not check the end of a slice.
func strided(x []float32, ld, rows, cols int) []float32 {
	if rows == 0 || cols == 0 {
		return nil
	}
	return x[:(rows-1)*ld+cols]
}

func (p *Packed) pack(b view, n, k int) {
	nr := best.nr
	p.n, p.k = n, k
	p.panels = Grown(p.panels, (n+nr-1)/nr*nr*k)
	rest, step := p.panels, stretch(max(k, 1))
	for p0 := 0; p0 < k; p0 += step {
		kc := min(step, k-p0)
		for j0 := 0; j0 < n; j0 += nr {
			packB(best, rest[:kc*nr], b, p0, kc, j0, min(nr, n-j0))
			rest = rest[kc*nr:]
		}
	}
}

// Mul computes C [m×n] = A [m×k]·Bᵀ or A·B, depending on how B was packed. C must not overlap A. The
// elements have the same bits as those of MatMulNN, and of MatMulNT with four rows or more.
func (p *Packed) Mul(c, a []float32, m int) { p.MulOf(c, p.n, a, p.k, m, nil) }

// MulOf is Mul for matrices whose rows are ldc ≥ n and lda ≥ k apart. then, if not nil, is called from
// this goroutine with each block of C: all rows, up to 2,048, of a few columns.
func (p *Packed) MulOf(c []float32, ldc int, a []float32, lda, m int, then Then) {
	c, a = strided(c, ldc, m, p.n), strided(a, lda, m, p.k)
	multiply(best, c, ldc, view{a, lda, 1}, view{}, p.panels, then, m, p.n, p.k)
}
