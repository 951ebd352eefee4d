package vec

import (
	"math"
	"sync"
)

// Matrix products in bytes.
//
// B holds weights, one int8 code an element and one scale a column of the product. A is quantised row
// by row at each call, to unsigned bytes between the smallest and the largest of 128 neighbours, so a
// single large element affects only these. A sum of products of codes is an integer, the same on every
// machine. The zero point of the row adds zero·Σcodes to it, which is subtracted with the known sum of
// the column:
//
//	Σ a·b ≈ scaleA·scaleB·(Σ qA·qB − zeroA·ΣqB)
//
// AVX2, and AVX-512 without VNNI, multiply bytes by VPMADDUBSW, which adds two products in 16 bits.
// With activations of up to 255 it would saturate for weights above 63. But only the sum of two
// neighbours of one sign counts: 255·128 fits. So a column's scale is chosen such that no two codes 2i
// and 2i+1 of one sign add up to more than 128. Single codes reach 127, and the step is about a third
// larger than with eight bits; with seven bits it would be twice as large. Every machine follows this
// rule, so that one machine can search vectors made on another.
//
// These methods gain little or nothing: moving scales from activations into weights (SmoothQuant),
// shifting rows by the bias of the preceding normalisation, and splitting large channels.

const (
	groupQuads    = 32  // quads of neighbours along k that share a scale and a zero point of A
	pairTop       = 127 // sum of two neighbouring weights of one sign over their scale; rounding may add 1
	activationTop = 255 // codes of activations are in [0, 255]

	leastScale = 1.0 / (1 << 126) // below are numbers of fewer bits; they count as zero
)

// kernel8 computes a tile: c[i*ldc+j] = (Σₚ a[i*lda+p]·b(p,j) − zeroᵢ·sumⱼ)·scaleᵢ·scaleⱼ, or adds it
// if acc, for i < mr, j < nr. b holds four codes of each of nr columns, then the next four of each,
// and so on, quads times. a has 4·quads bytes a row. row holds scale and zero of each row; col holds
// the nr scales of the columns, then their nr sums. All of it must be addressable.
type kernel8 struct {
	name   string
	mr, nr int
	run    func(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
	// last, if there is one, computes the first mr/2 rows of a tile.
	last func(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool)
}

// best8 is the kernel for products in bytes on this machine.
var best8 = kernels8[0]

// Packed8 is a matrix of weights as one-byte codes, for products with many matrices A. Each element is
// rounded to a multiple of its column's scale. The scale is the largest magnitude in the column
// divided by 127; sums of two neighbours along k with the same sign count as magnitudes, too. The zero
// value is empty; each Pack replaces the contents. Memory: n·k bytes, n rounded up to whole panels.
// Safe for concurrent multiplication.
type Packed8 struct {
	kn     *kernel8
	panels []int8
	cols   []float32 // of each panel and group: nr scales, nr sums of codes
	n, k   int
}

// PackNT packs B [n×k] for products A·Bᵀ. k is at most MaxInt8Dim.
func (p *Packed8) PackNT(b []float32, n, k int) { p.pack(best8, view{b[:n*k], 1, k}, n, k) }

// PackNN packs B [k×n] for products A·B. k is at most MaxInt8Dim.
func (p *Packed8) PackNN(b []float32, k, n int) { p.pack(best8, view{b[:n*k], n, 1}, n, k) }

func (p *Packed8) pack(kn *kernel8, b view, n, k int) {
	if k > MaxInt8Dim {
		panic("vec: more than MaxInt8Dim codes to a sum")
	}
	nr, quads := kn.nr, (k+3)/4
	count := (n + nr - 1) / nr
	*p = Packed8{kn: kn, n: n, k: k, panels: make([]int8, count*nr*4*quads), cols: make([]float32, count*groupsOf(quads)*2*nr)}
	columns, sums, codes := make([]float32, 16*4*quads), make([]float32, 2*quads), make([]int8, 4*quads)
	for j0 := 0; j0 < n; j0 += 16 { // where B lies in rows of n, a cache line of each
		w := min(16, n-j0)
		i := 0
		switch {
		case b.rs == 1:
			for j := range w {
				i = copy(columns[j*4*quads:], b.data[(j0+j)*b.cs:][:k])
			}
		case b.cs == 1 && w == 16:
			for ; i+8 <= k; i += 8 {
				best.transpose(&columns[i], 4*quads, &b.data[i*b.rs+j0], b.rs, w)
			}
		}
		for ; i < k; i++ {
			for j := range w {
				columns[j*4*quads+i] = b.data[i*b.rs+(j0+j)*b.cs]
			}
		}
		for j := j0; j < j0+w; j++ {
			column := columns[(j-j0)*4*quads:][:4*quads]
			scale := largestPair(column, sums) / pairTop
			if scale < leastScale {
				continue // all codes are zero, and so is the scale
			}
			groups, at := groupsOf(quads), j%nr
			cols := p.cols[j/nr*groups*2*nr:]
			for g := range groups {
				cols[g*2*nr+at] = scale
			}
			if scale != scale {
				continue
			}
			f := 1 / scale
			for i := quantize(codes, column, f); i < len(codes); i++ {
				codes[i] = roundInt8(float32(column[i] * f))
			}
			panel := p.panels[j/nr*nr*4*quads+4*at:]
			for g := range groups {
				sum := 0
				for q := g * groupQuads; q < min(quads, (g+1)*groupQuads); q++ {
					c := [4]int8(codes[4*q:])
					*(*[4]int8)(panel[q*nr*4:]) = c
					sum += int(c[0]) + int(c[1]) + int(c[2]) + int(c[3])
				}
				cols[g*2*nr+nr+at] = float32(sum)
			}
		}
	}
}

// groupsOf is the number of groups along k.
func groupsOf(quads int) int { return (quads + groupQuads - 1) / groupQuads }

// largestPair is the largest absolute value in x, whose length is even, and in the sums of neighbours
// 2i and 2i+1; a sum is larger if both have one sign. It is NaN if any element is infinite or NaN.
// sums must have half the length of x.
func largestPair(x, sums []float32) float32 {
	for i := range sums {
		sums[i] = x[2*i] + x[2*i+1]
	}
	if !Finite(x) || !Finite(sums) {
		return float32(math.NaN())
	}
	return max(maxAbs(x), maxAbs(sums))
}

// Mul computes C [m×n] = A [m×k]·Bᵀ or A·B, depending on how B was packed. C must not overlap A. A row
// of A with NaN or an infinity gives a row of NaN, and such a column of B a column of NaN. A row of C
// depends only on that row of A, and has the same bits on every machine.
func (p *Packed8) Mul(c, a []float32, m int) { p.MulOf(c, p.n, a, p.k, m, nil) }

// MulOf is Mul for matrices whose rows are ldc ≥ n and lda ≥ k apart. then, if not nil, is called from
// this goroutine with each block of C: all rows, up to 2,048, of a few columns.
func (p *Packed8) MulOf(c []float32, ldc int, a []float32, lda, m int, then Then) {
	c, a = strided(c, ldc, m, p.n), strided(a, lda, m, p.k)
	if m == 0 || p.n == 0 {
		return
	}
	if p.k == 0 { // kernels take a step at least
		multiply(best, c, ldc, view{}, view{}, nil, then, m, p.n, 0)
		return
	}
	buf := pool8.Get().(*buffers8)
	defer pool8.Put(buf)
	for i0 := 0; i0 < m; i0 += gemmMC {
		mc := min(gemmMC, m-i0)
		buf.quantize(a[i0*lda:], lda, mc, p.k, p.kn.mr)
		p.block(buf, c[i0*ldc:], ldc, mc, then)
	}
}

// block multiplies the rows in buf.
func (p *Packed8) block(buf *buffers8, c []float32, ldc, m int, then Then) {
	kn, quads := p.kn, (p.k+3)/4
	mr, nr := kn.mr, kn.nr
	if len(buf.tile) < mr*nr {
		buf.tile = make([]float32, mr*nr)
	}
	groups, tall := groupsOf(quads), (m+mr-1)/mr*mr
	for j0 := 0; j0 < p.n; j0 += nr {
		w := min(nr, p.n-j0)
		panel, cols := p.panels[j0*4*quads:], p.cols[2*j0*groups:]
		for i := 0; i < m; i += mr {
			h := min(mr, m-i)
			run := kn.run
			if kn.last != nil && h <= mr/2 {
				run = kn.last
			}
			tile, ldt := &buf.tile[0], nr
			if h == mr && w == nr {
				tile, ldt = &c[i*ldc+j0], ldc
			}
			for g := range groups {
				q := g * groupQuads
				run(tile, ldt, &buf.codes[(i*quads+q)*4], 4*quads, &panel[q*nr*4], min(groupQuads, quads-q),
					&buf.rows[2*(g*tall+i)], &cols[2*g*nr], g > 0)
			}
			if tile != &buf.tile[0] {
				continue
			}
			for r := range h {
				copy(c[(i+r)*ldc+j0:(i+r)*ldc+j0+w], buf.tile[r*nr:])
			}
		}
		if then != nil {
			then(c[j0:], ldc, m, j0, w)
		}
	}
}

// buffers8 are the codes of A.
type buffers8 struct {
	codes []uint8   // a row takes k bytes, rounded up to whole quads
	rows  []float32 // scale and zero of each group and row
	tile  []float32
}

var pool8 = sync.Pool{New: func() any { return new(buffers8) }}

// quantize fills codes and rows with m rows of A, padded to whole tiles.
func (b *buffers8) quantize(a []float32, lda, m, k, mr int) {
	tall, wide := (m+mr-1)/mr*mr, (k+3)&^3
	if cap(b.codes) < tall*wide {
		b.codes = make([]uint8, tall*wide)
	}
	b.codes, b.rows = b.codes[:tall*wide], Grown(b.rows, 2*tall*groupsOf(wide/4))
	for i := range m {
		code := b.codes[i*wide : i*wide+wide]
		for from := 0; from < k; from += 4 * groupQuads {
			to, at := min(k, from+4*groupQuads), 2*(from/(4*groupQuads)*tall+i)
			b.rows[at], b.rows[at+1] = quantizeRow(code[from:to], a[i*lda+from:i*lda+to])
		}
		clear(code[k:])
	}
}

// quantizeRow writes the codes of x, such that x[i] ≈ scale·(dst[i]−zero) within scale, and returns
// scale and zero. If x has a NaN or an infinity, scale is NaN; if x is zero or almost zero, scale is
// 0.
func quantizeRow(dst []uint8, x []float32) (scale, zero float32) {
	lo, hi, finite := bounds(x)
	if !finite {
		clear(dst)
		return float32(math.NaN()), 0
	}
	scale = hi/activationTop - lo/activationTop
	if scale < leastScale {
		clear(dst)
		return 0, 0
	}
	f := 1 / scale
	z := roundInt32(float32(-lo * f)) // a conversion keeps the product from being fused with a sum
	for i := quantizeU8(dst, x, f, z); i < len(x); i++ {
		dst[i] = uint8(max(0, min(roundInt32(float32(x[i]*f))+z, activationTop)))
	}
	return scale, float32(z)
}

// roundInt32 rounds to the nearest integer, halves to even, as the CPU does;
// |v| < 2²².
func roundInt32(v float32) int32 {
	const magic = 3 << 22 // from here on a float32 has no fraction
	return int32(float32(v+magic) - magic)
}

// boundsGo is the plain Go form of the kernels: the smallest and the largest element of x and 0, and
// whether all are finite.
func boundsGo(x []float32) (lo, hi float32, finite bool) {
	finite = true
	for _, v := range x {
		finite = finite && v-v == 0
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi, finite
}
