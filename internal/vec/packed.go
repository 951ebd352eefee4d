package vec

// Packed is a matrix B copied into the panels that products read, for products
// with many A one after the other: what MatMulNT and MatMulNN spend on the copy
// is more than the product where A has few rows. The zero value is empty; each
// Pack drops what was there and uses its memory again. Memory 4·n·k bytes, n
// rounded up to whole panels. Goroutines may multiply at the same time.
type Packed struct {
	panels []float32
	n, k   int
}

// PackNT takes B [n×k] for products A·Bᵀ.
func (p *Packed) PackNT(b []float32, n, k int) { p.pack(view{b[:n*k], 1, k}, n, k) }

// PackNN takes B [k×n] for products A·B.
func (p *Packed) PackNN(b []float32, k, n int) { p.pack(view{b[:n*k], n, 1}, n, k) }

func (p *Packed) pack(b view, n, k int) {
	nr := best.nr
	p.n, p.k = n, k
	p.panels = grown(p.panels, (n+nr-1)/nr*nr*k)
	rest, step := p.panels, stretch(max(k, 1))
	for p0 := 0; p0 < k; p0 += step {
		kc := min(step, k-p0)
		for j0 := 0; j0 < n; j0 += nr {
			packB(best, rest[:kc*nr], b, p0, kc, j0, min(nr, n-j0))
			rest = rest[kc*nr:]
		}
	}
}

// Mul computes C [m×n] = A [m×k]·Bᵀ or A·B, as B was packed. C must not overlap
// A. The elements are those of MatMulNN, and of MatMulNT with four rows or more,
// bit for bit.
func (p *Packed) Mul(c, a []float32, m int) {
	multiply(best, c[:m*p.n], p.n, view{a[:m*p.k], p.k, 1}, view{}, p.panels, nil, m, p.n, p.k)
}
