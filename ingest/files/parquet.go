package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// readParquet reads a table, a document a row. Rows are read page by page.
func readParquet(s *source) (err error) {
	defer func() { // the library panics on some damage
		if s.given {
			return
		}
		if p := recover(); p != nil && err == nil {
			err = fail(ErrMalformed, "the Parquet file is damaged: %v", p)
		}
	}()
	in := &cancelledAt{s, nil}
	if err := in.footer(); err != nil {
		return err
	}
	file, err := parquet.OpenFile(in, s.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return in.explain(err)
	}
	top := file.Schema().Fields()
	names := make([]string, len(top))
	for i, f := range top {
		names[i] = f.Name()
	}
	t, err := newTable(names, s.o.Columns)
	if err != nil {
		return err
	}
	leaves := 0
	columns := make([]*column, len(top))
	for i, f := range top {
		columns[i] = newColumn(f, level{}, &leaves)
	}
	for _, g := range file.RowGroups() {
		if err := s.rowGroup(g, t, columns, leaves, in); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) rowGroup(g parquet.RowGroup, t *table, columns []*column, leaves int, in *cancelledAt) (err error) {
	rows := g.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	buf := make([]parquet.Row, 16)
	values := make([][]parquet.Value, leaves)
	for {
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			s.n++
			clear(values)
			row.Range(func(i int, v []parquet.Value) bool {
				if i < leaves {
					values[i] = v
				}
				return true
			})
			rec, rerr := s.row(t, columns, values)
			if err := s.record(rec, rerr); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return in.explain(err)
		case n == 0:
			return fail(ErrMalformed, "the Parquet file is damaged: a row group ends before its last row")
		}
	}
}

// row makes a record of the values of one row, by leaf.
func (s *source) row(t *table, columns []*column, values [][]parquet.Value) (rec Record, err error) {
	size := 0
	for _, leaf := range values {
		for _, v := range leaf {
			size += 8
			if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
				size += len(v.ByteArray())
			}
		}
	}
	if err := s.tooLong(size); err != nil {
		return rec, err
	}
	for i, c := range columns {
		v, err := c.value(values)
		if err != nil {
			return rec, fail(ErrMalformed, "column %q: %w", clip(t.names[i], 80), err)
		}
		if used, err := t.take(&rec, i, v); err != nil {
			return rec, err
		} else if used || v == nil {
			continue
		}
		if rec.Metadata == nil {
			rec.Metadata = map[string]any{}
		}
		rec.Metadata[t.names[i]] = v
	}
	return rec, nil
}

// take puts a value where its column belongs, if that is not the metadata.
func (t *table) take(rec *Record, i int, v any) (used bool, err error) {
	text, isText := v.(string)
	switch i {
	case t.id:
		switch id := v.(type) {
		case string:
			rec.ID = id
		case int64, uint64:
			rec.ID = fmt.Sprint(id)
		}
		if rec.ID == "" {
			return false, fail(ErrMalformed, "column %q is empty, or neither a string nor a number; give every row an id", t.names[i])
		}
		return true, nil
	case t.title, t.text:
		if v != nil && !isText {
			return false, fail(ErrMalformed, "column %q does not hold strings; name the text column", t.names[i])
		}
		if strings.ContainsRune(text, 0) {
			return false, fail(ErrBinary, "column %q is not UTF-8 text; convert the file first", t.names[i])
		}
		if i == t.title {
			rec.Title = text
		} else {
			rec.Text = text
		}
		return true, nil
	case t.vector:
		vec, err := vectorOf(v)
		if err == nil && (vec == nil && v != nil && t.vectorNamed) {
			err = errors.New("not a list of numbers")
		}
		if err != nil {
			return false, fail(ErrMalformed, "column %q: %w", t.names[i], err)
		}
		rec.Vector = vec
		return vec != nil, nil
	}
	return false, nil
}

// cancelledAt is the file as the library reads it; it obeys the context, and keeps the
// file's own error.
type cancelledAt struct {
	s   *source
	err error
}

func (c *cancelledAt) ReadAt(p []byte, off int64) (int, error) {
	if err := c.s.ctx.Err(); err != nil {
		c.err = err
		return 0, err
	}
	if off < 0 || off > c.s.size {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.s.at.ReadAt(p, off)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// footer refuses a file whose footer would be longer than it, which the library would make room for first: up to 4 GiB.
func (c *cancelledAt) footer() error {
	var end [8]byte // the footer's length and a magic word, which stands at the beginning, too
	if c.s.size < 12 {
		return nil
	}
	if n, err := c.ReadAt(end[:], c.s.size-8); n < len(end) {
		return c.explain(err)
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > c.s.size-12 {
		return fail(ErrMalformed, "the Parquet file is damaged: its footer would have %d of %d bytes", n, c.s.size)
	}
	return nil
}

// explain makes an error of a library one of ours, unless it is the file's.
func (c *cancelledAt) explain(err error) error {
	if c.err != nil {
		return c.err
	}
	return fail(ErrMalformed, "the file is damaged, or of another kind: %w", err)
}

// level is where in a nested row values are: how often something could repeat, and
// could be missing, on the way there.
type level struct{ repetition, definition int }

// column is a column, or a field within one.
type column struct {
	name             string
	node             parquet.Node
	at               level // of this field's own values
	first            int   // its first leaf
	fields           []*column
	repeated, absent bool // may stand several times; may be missing
	list             bool // a list or map as Parquet writes them: a group of one repeated field
	leaves           int
}

func newColumn(f parquet.Field, above level, leaves *int) *column {
	c := &column{name: f.Name(), node: f, at: above, first: *leaves, repeated: f.Repeated(), absent: f.Optional()}
	if c.repeated {
		c.at.repetition++
		c.at.definition++
	} else if c.absent {
		c.at.definition++
	}
	if f.Leaf() {
		*leaves++
	} else {
		for _, child := range f.Fields() {
			c.fields = append(c.fields, newColumn(child, c.at, leaves))
		}
		c.list = len(c.fields) == 1 && c.fields[0].repeated && slices.Contains([]string{"list", "bag", "array", "key_value", "map"}, c.fields[0].name)
	}
	c.leaves = *leaves - c.first
	return c
}

var errLevels = errors.New("its values and levels do not agree; the file is damaged")

// value puts together what the column has among the values of each leaf.
func (c *column) value(values [][]parquet.Value) (any, error) {
	if c.leaves == 0 {
		return nil, nil
	}
	first := values[c.first]
	if len(first) == 0 {
		return nil, errLevels
	}
	if first[0].DefinitionLevel() < c.at.definition { // not there, or one above is not
		if c.repeated && first[0].DefinitionLevel() == c.at.definition-1 {
			return []any{}, nil
		}
		return nil, nil
	}
	if !c.repeated {
		return c.single(values)
	}
	var list []any
	next := make([]int, c.leaves) // where each leaf has not been read yet
	element := make([][]parquet.Value, len(values))
	for next[0] < len(first) {
		for i := range next {
			leaf := values[c.first+i]
			end := next[i] + 1
			for end < len(leaf) && leaf[end].RepetitionLevel() > c.at.repetition {
				end++
			}
			if next[i] >= len(leaf) {
				return nil, errLevels
			}
			element[c.first+i] = leaf[next[i]:end]
			next[i] = end
		}
		v, err := c.single(element)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// single is one value of the column that is there.
func (c *column) single(values [][]parquet.Value) (any, error) {
	if c.node.Leaf() {
		return leafValue(c.node.Type(), values[c.first][0])
	}
	if c.list {
		v, err := c.fields[0].value(values)
		items, ok := v.([]any)
		if err != nil || !ok {
			return v, err
		}
		return unwrapped(items, c.fields[0].fields), nil
	}
	out := make(map[string]any, len(c.fields))
	for _, f := range c.fields {
		v, err := f.value(values)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out[f.name] = v
		}
	}
	return out, nil
}

// unwrapped makes a list of the groups of one field that Parquet wraps its items in,
// and an object of groups of key and value.
func unwrapped(items []any, fields []*column) any {
	switch {
	case len(fields) == 1:
		for i, item := range items {
			if m, ok := item.(map[string]any); ok {
				items[i] = m[fields[0].name]
			}
		}
	case len(fields) == 2 && fields[0].name == "key" && fields[1].name == "value":
		out := make(map[string]any, len(items))
		for _, item := range items {
			m, _ := item.(map[string]any)
			key, ok := m["key"].(string)
			if !ok {
				return items
			}
			out[key] = m["value"]
		}
		return out
	}
	return items
}
