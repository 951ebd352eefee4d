package columns

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/lexsem/lexsem/engine/filter"
)

// ErrCorrupt answers data that WriteTo has not written.
var ErrCorrupt = errors.New("no snapshot of columns")

// WriteTo writes all live documents: the paths, the terms, and each document's
// ordinal and terms, all as unsigned varints, see docs/FORMAT.md. What deleted
// documents left behind is not written.
func (c *Columns) WriteTo(w io.Writer) (int64, error) {
	if c.dead > 0 {
		c = c.compacted()
	}
	out := writer{w: bufio.NewWriterSize(w, 64<<10)}
	out.number(uint64(len(c.terms.paths) - 1))
	for _, p := range c.terms.paths[1:] {
		out.number(uint64(p.above))
		out.bytes([]byte(p.key))
	}
	out.number(uint64(len(c.terms.all)))
	for t, x := range c.terms.all {
		out.number(uint64(x.path)*kinds + uint64(x.kind))
		out.bytes(c.terms.text(uint32(t)))
	}
	out.number(uint64(len(c.ords)))
	before := uint64(0)
	for slot, ord := range c.ords {
		out.number(ord - before)
		before = ord
		out.number(uint64(len(c.of(slot))))
		last := uint32(0)
		for _, t := range c.of(slot) {
			out.number(uint64(t - last))
			last = t
		}
	}
	return out.n, out.w.Flush()
}

// writer counts what it writes; Flush tells of errors.
type writer struct {
	w   *bufio.Writer
	n   int64
	buf [binary.MaxVarintLen64]byte
}

func (w *writer) number(v uint64) {
	n, _ := w.w.Write(w.buf[:binary.PutUvarint(w.buf[:], v)])
	w.n += int64(n)
}

func (w *writer) bytes(b []byte) {
	w.number(uint64(len(b)))
	n, _ := w.w.Write(b)
	w.n += int64(n)
}

// Load reads what WriteTo wrote. It fails with ErrCorrupt on
// anything else; memory stays near the length of data.
func Load(data []byte) (*Columns, error) {
	c := New()
	in := reader{data: data}
	for n := in.count(); n > 0 && in.err == nil; n-- {
		known := len(c.terms.paths)
		above, key := in.below(uint64(known)), string(in.bytes())
		if in.err == nil && int(c.terms.path(uint32(above), key)) != known {
			in.fail("a path twice")
		}
	}
	for n := in.count(); n > 0 && in.err == nil; n-- {
		at, text := in.below(uint64(len(c.terms.paths))*kinds), in.bytes()
		kind := filter.Kind(at % kinds)
		switch known := len(c.terms.all); {
		case in.err != nil:
		case kind == filter.Number && !filter.ValidNumber(string(text)):
			in.fail("a number that is none")
		case int(c.terms.intern(uint32(at/kinds), kind, text)) != known:
			in.fail("a value twice")
		}
	}
	ord := uint64(0)
	for n := in.count(); n > 0 && in.err == nil; n-- {
		step := in.below(MaxOrd)
		if step == 0 && len(c.ords) > 0 || ord+step >= MaxOrd {
			in.fail("an ordinal out of order")
		}
		ord += step
		c.list = c.list[:0]
		t := uint64(0)
		for m := in.count(); m > 0 && in.err == nil; m-- {
			step := in.below(uint64(len(c.terms.all)) - t)
			if step == 0 && len(c.list) > 0 {
				in.fail("a document's values out of order")
			}
			t += step
			c.list = append(c.list, uint32(t))
		}
		if in.err == nil {
			c.put(ord, c.list)
		}
	}
	if len(in.data) > 0 {
		in.fail("more data behind the end")
	}
	if in.err != nil {
		return nil, in.err
	}
	return c, nil
}

// reader reads numbers and texts until the first that cannot be.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrCorrupt, why)
	}
}

// below reads a number less than limit.
func (r *reader) below(limit uint64) uint64 {
	v, n := binary.Uvarint(r.data)
	if r.err != nil || n <= 0 || v >= limit {
		r.fail("a number that is cut off or out of range")
		return 0
	}
	r.data = r.data[n:]
	return v
}

// count reads how many things follow, each at least a byte long.
func (r *reader) count() uint64 {
	return r.below(min(uint64(len(r.data))+1, math.MaxUint32))
}

func (r *reader) bytes() []byte {
	n := r.count()
	if n > uint64(len(r.data)) {
		r.fail("a text that is cut off")
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}
