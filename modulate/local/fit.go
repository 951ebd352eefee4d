package local

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/lexsem/lexsem/internal/vec"

	"github.com/lexsem/lexsem/modulate"
)

// fit is the regression over one cell. It never changes.
type fit struct {
	codes    []int8    // h_p [n × d], in the order of the passages' ids
	scale    []float32 // [n]
	slots    []uint32  // the passages of the tokens that have no row
	rows     []int8    // Σ_{p∋t} h_p of the other tokens [rows × d]
	rowScale []float32 // [rows]
}

// shift adds weight · Σ_{p∋t} h_p to q for the token of e.
func (f *fit) shift(q []float32, e entry, weight float32) {
	d := len(q)
	if e.from&tabled != 0 {
		row := int(e.from &^ tabled)
		vec.AxpyInt8(q, weight*f.rowScale[row], f.rows[row*d:][:d])
		return
	}
	for _, s := range f.slots[e.from : e.from+e.n] {
		vec.AxpyInt8(q, weight*f.scale[s], f.codes[int(s)*d:][:d])
	}
}

// tokenEntry is what a fit enters for one of its tokens.
type tokenEntry struct {
	token  int32
	from   uint32
	weight float32
}

// fitCell fits a cell to its members, which stand by id, and returns what to
// enter for each of its tokens.
func (l *Bridges) fitCell(members []member) (fit, []tokenEntry, error) {
	var f fit
	d, n := l.partition.dim, len(members)
	if n == 0 {
		return f, nil, nil
	}
	x, err := l.centred(members)
	if err != nil {
		return f, nil, err
	}
	h := make([]float32, n*d) // x·(xᵀx + λI)⁻¹ = (xxᵀ + λI)⁻¹·x
	if n < d {
		a := make([]float32, n*n)
		vec.MatMulNT(a, x, x, n, n, d)
		vec.MatMulNN(h, ridgeInverse(a, n, l.o.Lambda), x, n, d, n)
	} else {
		a := make([]float32, d*d)
		vec.MatMulTN(a, x, x, d, d, n)
		vec.MatMulNN(h, x, ridgeInverse(a, d, l.o.Lambda), n, d, d)
	}
	f.codes, f.scale = make([]int8, n*d), make([]float32, n)
	for i := range n {
		f.scale[i] = vec.QuantizeInt8(f.codes[i*d:(i+1)*d], h[i*d:(i+1)*d])
	}
	return f, f.enter(members, h, d, l.o.TableFrom), nil
}

// centred returns the vectors of the members less their mean.
func (l *Bridges) centred(members []member) ([]float32, error) {
	d := l.partition.dim
	x := make([]float32, 0, len(members)*d)
	mean := make([]float32, d)
	for _, m := range members {
		v := l.vectors(m.id)
		if len(v) != d || !(math.Abs(float64(vec.Norm(v))-1) < 1e-2) {
			return nil, fmt.Errorf("%w: passage %d has a vector of length %d where a unit vector of %d numbers is needed; add passages to the index first", modulate.ErrPassage, m.id, len(v), d)
		}
		x = append(x, v...)
		vec.Axpy(mean, 1/float32(len(members)), v)
	}
	for i := range members {
		vec.Axpy(x[i*d:(i+1)*d], -1, mean)
	}
	return x, nil
}

// enter fills in the tokens: a row for those of at least from members, a list
// for the others, and nothing for one of every member.
func (f *fit) enter(members []member, h []float32, d, from int) []tokenEntry {
	type posting struct {
		token int32
		slot  uint32
	}
	var all []posting
	for s, m := range members {
		for _, t := range m.tokens {
			all = append(all, posting{t, uint32(s)})
		}
	}
	slices.SortFunc(all, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.slot, b.slot))
	})
	var entries []tokenEntry
	sum := make([]float32, d)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].token == all[0].token {
			n++
		}
		list := all[:n]
		all = all[n:]
		e := tokenEntry{token: list[0].token}
		switch {
		case n == len(members): // Σ h_p is zero, and so is the weight
		case n >= from:
			clear(sum)
			for _, p := range list {
				vec.Axpy(sum, 1, h[int(p.slot)*d:][:d])
			}
			e.weight = float32(modulate.IDF(len(members), n))
			e.from = uint32(len(f.rowScale)) | tabled
			f.rows = append(f.rows, make([]int8, d)...)
			f.rowScale = append(f.rowScale, vec.QuantizeInt8(f.rows[len(f.rows)-d:], sum))
		default:
			e.weight = float32(modulate.IDF(len(members), n))
			e.from = uint32(len(f.slots))
			for _, p := range list {
				f.slots = append(f.slots, p.slot)
			}
		}
		entries = append(entries, e)
	}
	f.rows, f.rowScale = slices.Clip(slices.Clone(f.rows)), slices.Clip(slices.Clone(f.rowScale))
	f.slots = slices.Clip(slices.Clone(f.slots))
	return entries
}

// ridgeInverse returns (a + λI)⁻¹ of the positive semi-definite a [n × n].
// Should rounding have spoilt that, the ridge is raised until it holds.
func ridgeInverse(a []float32, n int, lambda float64) []float32 {
	s := mat.NewSymDense(n, nil)
	for ridge := lambda; ; ridge *= 10 {
		for i := range n {
			for j := i; j < n; j++ {
				v := float64(a[i*n+j])
				if i == j {
					v += ridge
				}
				s.SetSym(i, j, v)
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(s) {
			continue
		}
		var inv mat.SymDense
		if err := chol.InverseTo(&inv); err != nil && math.IsInf(chol.Cond(), 0) {
			continue // singular to working precision
		}
		out := make([]float32, n*n)
		for i := range n {
			for j := i; j < n; j++ {
				v := float32(inv.At(i, j))
				out[i*n+j], out[j*n+i] = v, v
			}
		}
		return out
	}
}
