package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Codes of token states: a search reads them for a hundred rows, and nothing else of these rows. So in a record of
// several rows with codes, the first part holds the data before the rows, and each row begins a part. A record of one
// part, or one cut by an older program, is read as a whole.

// RowAt identifies a row of a version.
type RowAt struct {
	Ord uint64
	Row int
}

// Codes calls fn with the codes of some rows, which are valid during the call; i is the index in at, in any order. Rows
// without codes are left out. It stops at an error of fn and returns it. Errors: that of ctx, ErrNotFound for a version
// that does not exist, *CorruptError, also for a row that the version does not have. Cost: a point read for each
// version, and for each row of those that have several.
func (v *View) Codes(ctx context.Context, at []RowAt, fn func(i int, codes []byte) error) error {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(at[i].Ord, at[j].Ord), cmp.Compare(at[i].Row, at[j].Row))
	})
	return v.use(func(p *pin) error {
		for len(order) > 0 {
			n := 1
			for n < len(order) && at[order[n]].Ord == at[order[0]].Ord {
				n++
			}
			r := rowReader{p: p, ctx: ctx, ord: at[order[0]].Ord, fn: fn, of: order[:n], at: at}
			if err := r.read(); err != nil {
				return err
			}
			order = order[n:]
		}
		return nil
	})
}

// rowReader reads codes of one version.
type rowReader struct {
	p   *pin
	ctx context.Context
	ord uint64
	fn  func(i int, codes []byte) error
	of  []int // places in at, by row
	at  []RowAt
}

func (r *rowReader) read() error {
	if err := r.p.interrupted(r.ctx); err != nil {
		return err
	}
	if r.ord == 0 || r.ord >= r.p.st.nextOrd {
		return fmt.Errorf("version %d: %w", r.ord, ErrNotFound)
	}
	rows := uint64(0) // that begin a part
	version := byte(0)
	whole := true
	err := r.part(0, func(n int, b []byte) error {
		if n == 1 {
			whole = false
			return r.walk(b)
		}
		d := reader{p: b}
		if version = d.byte(); version >= recordVersionX {
			rows = d.uvarint()
		}
		whole = d.err != nil || len(d.p) > 0 || uint64(n) != rows+1
		return nil
	})
	if whole || errors.Is(err, ErrNotFound) { // which also tells absence from damage
		return r.p.record(r.ctx, prefixRow, r.ord, r.walk)
	}
	if err != nil || rows == 0 {
		return err
	}
	for _, i := range r.of {
		if err := r.p.interrupted(r.ctx); err != nil {
			return err
		}
		row := r.at[i].Row
		if row < 0 || uint64(row) >= rows {
			return r.p.s.decoded(partKey(prefixRow, r.ord, 0), outside(row, rows))
		}
		err := r.part(row+1, func(_ int, b []byte) error {
			d := reader{p: b}
			codes := d.codes(version)
			if err := d.finish(); err != nil {
				return err
			}
			return r.give(i, codes)
		})
		if errors.Is(err, ErrNotFound) {
			return r.p.record(r.ctx, prefixRow, r.ord, r.walk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// part calls fn with the number of the record's parts, and the content of one of them.
func (r *rowReader) part(i int, fn func(n int, b []byte) error) error {
	key := partKey(prefixRow, r.ord, i)
	return r.p.s.with(r.p.txn, key, func(payload []byte) error {
		n, b, err := partCount(payload)
		if err == nil {
			err = fn(n, b)
		}
		return r.p.s.decoded(key, err)
	})
}

// walk finds the codes in a whole record.
func (r *rowReader) walk(record []byte) error {
	d := reader{p: record}
	v, rows := d.byte(), uint64(1)
	if v > recordVersion {
		var err error
		if rows, err = d.rows(v); err != nil {
			return err
		}
	}
	if v < recordVersion || v > recordVersionX && v != recordShort && v != recordImpacts {
		return fmt.Errorf("%w: row version %d", errRecord, v)
	}
	row := 0
	var codes []byte
	for _, i := range r.of {
		want := r.at[i].Row
		if want < 0 || uint64(want) >= rows {
			return outside(want, rows)
		}
		if v < recordVersionX {
			continue
		}
		for ; row <= want; row++ {
			if row%checkEvery == 0 {
				if err := r.p.interrupted(r.ctx); err != nil {
					return err
				}
			}
			codes = d.codes(v)
		}
		if d.err != nil {
			return d.err
		}
		if err := r.give(i, codes); err != nil {
			return err
		}
	}
	return nil
}

func (r *rowReader) give(i int, codes []byte) error {
	if len(codes) == 0 {
		return nil
	}
	return r.fn(i, codes)
}

// outside is the error for a row that a record does not have.
func outside(row int, rows uint64) error { return fmt.Errorf("%w: row %d of %d", errRecord, row, rows) }

// rowStarts returns the start of each row in a record that is cut at rows; nil for other records.
func rowStarts(record []byte) (starts []int) {
	r := reader{p: record}
	v := r.byte()
	if v != recordVersionX && v != recordShort && v != recordImpacts {
		return nil
	}
	n, err := r.rows(v)
	if err != nil || n == 1 || n >= maxParts {
		return nil
	}
	for range n {
		starts = append(starts, len(record)-len(r.p))
		r.codes(v)
	}
	return starts
}
