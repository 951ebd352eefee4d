package native

import (
	"encoding/binary"
	"fmt"

	"github.com/lexsem/lexsem/internal/vec"
)

// Precisions of a model's weights.
const (
	FP32 = "fp32" // float32
	Int8 = "int8" // bytes, with activations in bytes: see vec.Packed8
)

// product is a packed matrix W [out × in]. Mul computes x·Wᵀ; MulOf passes on each block of the result
// while it is in the cache.
type product interface {
	PackNT(w []float32, n, k int)
	PackNN(w []float32, k, n int)
	Mul(c, a []float32, m int)
	MulOf(c []float32, ldc int, a []float32, lda, m int, then vec.Then)
}

// linear is y = x·Wᵀ + b.
type linear struct {
	w    product
	bias []float32             // nil for none
	read func(w product) error // fills w from the file
}

// mul writes the product of n rows of a, lda apart, into c, with rows ldc apart, without the bias;
// then is as in vec.Packed.MulOf.
func (l *linear) mul(c []float32, ldc int, a []float32, lda, n int, then vec.Then) {
	l.w.MulOf(c, ldc, a, lda, n, then)
}

// product returns an empty matrix with the given number of inputs, in the requested precision.
func (c *checkpoint) product(in int) product {
	switch {
	case !c.int8:
		return new(vec.Packed)
	case in > vec.MaxInt8Dim && c.err == nil:
		c.err = fmt.Errorf("%w: a layer has %d inputs, of which %s takes %d at most; use %s", ErrModel, in, Int8, vec.MaxInt8Dim, FP32)
	}
	return new(vec.Packed8)
}

// rowTable is a table with one vector per word: in float32, in bytes with a scale per row, or in a file whose
// rows are read on demand.
type rowTable struct {
	d      int
	floats []float32
	codes  []int8
	scales []float32
	stored func(dst []float32, i int) error // reads row i; safe for concurrent use
}

// row returns row i; it may use buf for it.
func (t *rowTable) row(i int, buf []float32) ([]float32, error) {
	switch {
	case t.stored != nil:
		return buf[:t.d], t.stored(buf[:t.d], i)
	case t.codes == nil:
		return t.floats[i*t.d : i*t.d+t.d], nil
	}
	clear(buf[:t.d])
	vec.AxpyInt8(buf[:t.d], t.scales[i], t.codes[i*t.d:i*t.d+t.d])
	return buf[:t.d], nil
}

// products writes the inner products of x with all rows into out; the rows must be in memory.
func (t *rowTable) products(out, x []float32) {
	if t.codes == nil {
		vec.DotRows(out, x, t.floats)
		return
	}
	buf := make([]float32, t.d)
	for i := range out {
		row, _ := t.row(i, buf)
		vec.DotRows(out[i:i+1], x, row)
	}
}

// storedRows is the tensor name of the given shape, in the requested precision, with rows read from the file on demand:
// a text has few of the words, and the table is half of a small model.
func (c *checkpoint) storedRows(name string, rows, d int) rowTable {
	if !c.want(name, int64(rows), int64(d)) {
		return rowTable{}
	}
	if p, ok := c.source.(*packed); ok {
		return rowTable{d: d, stored: p.rows(name, d)}
	}
	r, err := c.reader(c.file(name))
	if err != nil {
		c.err = unusable(err)
		return rowTable{}
	}
	int8s := c.int8
	return rowTable{d: d, stored: func(dst []float32, i int) error {
		b := make([]byte, 4*d)
		if _, err := r.ReadAt(b, int64(i)*int64(len(b))); err != nil {
			return fmt.Errorf("%w: row %d of %s: %w", ErrModel, i, name, err)
		}
		if _, err := binary.Decode(b, binary.LittleEndian, dst); err != nil || !int8s {
			return err
		}
		if err := finite(name, i, dst); err != nil {
			return err
		}
		codes := make([]int8, d)
		scale := vec.QuantizeInt8(codes, dst)
		clear(dst)
		vec.AxpyInt8(dst, scale, codes)
		return nil
	}}
}

// finite checks that bytes can represent row i of the tensor name.
func finite(name string, i int, row []float32) error {
	if vec.Finite(row) {
		return nil
	}
	return fmt.Errorf("%w: tensor %q: row %d has an infinity or what is not a number, which %s cannot hold", ErrModel, name, i, Int8)
}

// rowTable reads the tensor name of the given shape into memory, in the requested precision.
func (c *checkpoint) rowTable(name string, rows, d int) rowTable {
	if !c.int8 {
		return rowTable{d: d, floats: c.table(name, rows, d)}
	}
	if !c.want(name, int64(rows), int64(d)) {
		return rowTable{}
	}
	t := rowTable{d: d, codes: make([]int8, rows*d), scales: make([]float32, rows)}
	row := make([]float32, d)
	c.rows(name, rows, row, func(i int) {
		if c.err = finite(name, i, row); c.err == nil {
			t.scales[i] = vec.QuantizeInt8(t.codes[i*d:i*d+d], row)
		}
	})
	return t
}

// rows reads the tensor name of shape [rows × len(row)], which want has checked. It reads each row
// into row and calls f with its number.
func (c *checkpoint) rows(name string, rows int, row []float32, f func(i int)) {
	r, err := c.reader(c.file(name))
	const some = 64 // are read at a time
	part := make([]float32, some*len(row))
	for i := 0; i < rows && err == nil && c.err == nil; i++ {
		if i%some == 0 {
			err = readFloats(r, part[:min(some, rows-i)*len(row)])
		}
		if err == nil {
			copy(row, part[i%some*len(row):])
			f(i)
		}
	}
	if err != nil {
		c.err = unusable(err)
	}
}
