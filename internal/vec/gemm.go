package vec

import "sync"

// Matrix products.
//
// The method is that of Goto and van de Geijn ("Anatomy of High-Performance Matrix
// Multiplication", 2008) without two levels that today's caches make unnecessary. C is
// computed in tiles of mr×nr that are held in registers. For one tile a micro-kernel
// walks along k. In each step it multiplies mr values of A with nr adjacent values of B,
// so 2·mr·nr operations need only mr+nr loads. B is first copied into panels of nr
// columns, ordered by k, so that the kernel reads it as one stream. A panel is used for
// all rows of A while it is in the L2 cache, which pays for the copy. A is read in place,
// row by row; it is copied only for Aᵀ·B, and for the last rows if m is not a multiple of
// mr. Tiles over the edge are padded with zeros and computed whole into a scratch tile,
// and only the valid part is kept.
//
// Each element of C is summed over k in the same order wherever it is, so equal rows give
// bit-equal results. NaN and infinities propagate as in the plain loop.

const (
	gemmKC = 512  // longest stretch of k: a panel of 512×48 floats is 96 KiB
	gemmMC = 2048 // rows of A per pass, which bounds the copy of Aᵀ to 4 MiB
)

// kernel computes the tile c[i*ldc+j] = Σₚ a[i*rs+p*cs]·b[p*nr+j], or adds to
// it if acc, for i < mr, j < nr, p < k, k ≥ 1. All of it must be addressable.
type kernel struct {
	name   string
	mr, nr int
	run    func(c *float32, ldc int, a *float32, rs, cs int, b *float32, k int, acc bool)
	// last, if not nil, computes the first mr/2 rows of a tile into c, with rows nr
	// apart. It is for the last rows of A; a query has few rows.
	last func(c *float32, a *float32, rs, cs int, b *float32, k int)
	// transpose writes dst[p*ldd+j] = src[j*lds+p] for j < 8, p < k; k%8 == 0.
	transpose func(dst *float32, ldd int, src *float32, lds, k int)
}

// view is a matrix whose element (i, j) is data[i*rs+j*cs].
type view struct {
	data   []float32
	rs, cs int
}

type gemmBuffers struct{ a, b, tile []float32 }

var gemmPool = sync.Pool{New: func() any { return new(gemmBuffers) }}

// Grown returns s with length n and undefined content, in the same memory if it suffices.
func Grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// gemm computes C = A·B for C [m×n] of row stride ldc, A [m×k], B [k×n].
func gemm(kn *kernel, c []float32, ldc int, a, b view, m, n, k int) {
	multiply(kn, c, ldc, a, b, nil, nil, m, n, k)
}

// stretch is the length of the pieces that k is summed in.
func stretch(k int) int {
	pieces := (k + gemmKC - 1) / gemmKC
	return ((k+pieces-1)/pieces + 7) &^ 7
}

// multiply is gemm with the panels of B in ready or, if ready is nil, made from b on the
// way. If then is not nil, each block of C is passed to it as soon as it is computed.
func multiply(kn *kernel, c []float32, ldc int, a, b view, ready []float32, then Then, m, n, k int) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		for i := range m {
			clear(c[i*ldc : i*ldc+n])
		}
		if then != nil {
			then(c, ldc, m, 0, n)
		}
		return
	}
	buf := gemmPool.Get().(*gemmBuffers)
	defer gemmPool.Put(buf)
	mr, nr := kn.mr, kn.nr
	step := stretch(k)
	if ready == nil {
		buf.b = Grown(buf.b, step*nr)
	}
	buf.tile = Grown(buf.tile, mr*nr)
	for i0 := 0; i0 < m; i0 += gemmMC {
		mc := min(gemmMC, m-i0)
		rest := ready
		for p0 := 0; p0 < k; p0 += step {
			kc := min(step, k-p0)
			packed := packA(buf, a, i0, mc, p0, kc, mr)
			for j0 := 0; j0 < n; j0 += nr {
				w := min(nr, n-j0)
				panel := buf.b
				if ready != nil {
					panel, rest = rest[:kc*nr], rest[kc*nr:]
				} else {
					packB(kn, panel, b, p0, kc, j0, w)
				}
				for i := 0; i < mc; i += mr {
					h := min(mr, mc-i)
					ap, rs, cs := &a.data[(i0+i)*a.rs+p0*a.cs], a.rs, a.cs
					if i >= packed {
						ap, rs, cs = &buf.a[(i-packed)*kc], 1, mr
					}
					at := (i0+i)*ldc + j0
					if h == mr && w == nr {
						kn.run(&c[at], ldc, ap, rs, cs, &panel[0], kc, p0 > 0)
						continue
					}
					if kn.last != nil && h <= mr/2 {
						kn.last(&buf.tile[0], ap, rs, cs, &panel[0], kc)
					} else {
						kn.run(&buf.tile[0], nr, ap, rs, cs, &panel[0], kc, false)
					}
					for r := range h {
						addTile(c[at+r*ldc:at+r*ldc+w], buf.tile[r*nr:], p0 > 0)
					}
				}
				if then != nil && p0+kc == k {
					then(c[i0*ldc+j0:], ldc, mc, j0, w)
				}
			}
		}
	}
}

func addTile(dst, src []float32, acc bool) {
	src = src[:len(dst)]
	if !acc {
		copy(dst, src)
		return
	}
	for j, v := range src {
		dst[j] += v
	}
}

// packA copies the rows of A from some row on into panels of mr rows, with zeros below
// the last, and returns that row (relative to i0): the first if A is transposed, else the
// first of an incomplete panel.
func packA(buf *gemmBuffers, a view, i0, mc, p0, kc, mr int) int {
	from := mc - mc%mr
	if a.cs != 1 {
		from = 0
	}
	panels := (mc - from + mr - 1) / mr
	buf.a = Grown(buf.a, panels*mr*kc)
	for t := range panels {
		dst := buf.a[t*mr*kc : (t+1)*mr*kc]
		h := min(mr, mc-from-t*mr)
		base := (i0+from+t*mr)*a.rs + p0*a.cs
		if h < mr {
			clear(dst)
		}
		if a.rs == 1 {
			for p := range kc {
				copy(dst[p*mr:p*mr+h], a.data[base+p*a.cs:base+p*a.cs+h])
			}
			continue
		}
		for i := range h {
			row := a.data[base+i*a.rs:]
			for p := range kc {
				dst[p*mr+i] = row[p*a.cs]
			}
		}
	}
	return from
}

// packB copies columns j0 to j0+w of B, rows p0 to p0+kc, into dst [kc×nr]
// with zeroes on the right.
func packB(kn *kernel, dst []float32, b view, p0, kc, j0, w int) {
	nr := kn.nr
	if b.cs == 1 {
		for p := range kc {
			row := dst[p*nr : p*nr+nr]
			at := (p0+p)*b.rs + j0
			copy(row[:w], b.data[at:at+w])
			clear(row[w:])
		}
		return
	}
	j, kt := 0, kc&^7
	if kt > 0 {
		for ; j+8 <= w; j += 8 {
			src := b.data[(j0+j)*b.cs+p0*b.rs:]
			kn.transpose(&dst[j], nr, &src[0], b.cs, kt)
			for p := kt; p < kc; p++ {
				for t := range 8 {
					dst[p*nr+j+t] = src[t*b.cs+p]
				}
			}
		}
	}
	for ; j < w; j++ {
		src := b.data[(j0+j)*b.cs+p0*b.rs:]
		for p, v := range src[:kc] {
			dst[p*nr+j] = v
		}
	}
	if w < nr {
		for p := range kc {
			clear(dst[p*nr+w : p*nr+nr])
		}
	}
}
