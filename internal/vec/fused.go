package vec

// Then is called on each block of a product as soon as it is computed, while it
// still lies in a cache: rows×w elements, element (i, j) of the block at
// c[i*ldc+j], which is column from+j of the product.
type Then func(c []float32, ldc, rows, from, w int)

// PackNTOf takes B [n×k] for products A·Bᵀ, its rows ldb ≥ k apart.
func (p *Packed) PackNTOf(b []float32, ldb, n, k int) { p.pack(view{b, 1, ldb}, n, k) }

// PackNNOf takes B [k×n] for products A·B, its rows ldb ≥ n apart.
func (p *Packed) PackNNOf(b []float32, ldb, k, n int) { p.pack(view{b, ldb, 1}, n, k) }

// MulOf is Mul for matrices whose rows are ldc ≥ n and lda ≥ k apart. Where then
// is not nil, it is called on each block of C, all rows (2,048 at most) of a few
// columns, from this goroutine.
func (p *Packed) MulOf(c []float32, ldc int, a []float32, lda, m int, then Then) {
	multiply(best, c, ldc, view{a, lda, 1}, view{}, p.panels, then, m, p.n, p.k)
}
