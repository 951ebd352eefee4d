// Package parquet reads Parquet files: each row is a document. After an import, package files
// reads them:
//
//	import _ "github.com/lexsem/lexsem/ingest/files/parquet"
package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/lexsem/lexsem/ingest/files"
)

func init() {
	files.Register(files.Kind{Name: "parquet", Extensions: []string{"parquet"}, Seek: true, Read: read})
}

// read reads a table. Rows are read page by page.
func read(f *files.File) (err error) {
	defer guard(f, &err)
	if err := footer(f); err != nil {
		return err
	}
	file, err := parquet.OpenFile(f, f.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return explain(f, err)
	}
	top := file.Schema().Fields()
	names := make([]string, len(top))
	for i, c := range top {
		names[i] = c.Name()
	}
	give, err := f.Table(names)
	if err != nil {
		return err
	}
	leaves := 0
	columns := make([]*column, len(top))
	for i, c := range top {
		columns[i] = newColumn(c, level{}, &leaves)
	}
	var damaged error
	for _, g := range file.RowGroups() { // each can be read without the others
		err := rowGroup(f, g, give, columns, leaves)
		if err != nil && !errors.Is(err, files.ErrMalformed) {
			return err
		}
		damaged = cmp.Or(damaged, err)
	}
	return damaged
}

func rowGroup(f *files.File, g parquet.RowGroup, give files.Row, columns []*column, leaves int) (err error) {
	rows := g.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	defer guard(f, &err)
	buf := make([]parquet.Row, 16)
	values := make([][]parquet.Value, leaves)
	for {
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			clear(values)
			row.Range(func(i int, v []parquet.Value) bool {
				if i < leaves {
					values[i] = v
				}
				return true
			})
			if err := give(size(values), func(i int) (any, error) { return columns[i].value(values) }); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return explain(f, err)
		case n == 0:
			return files.Errorf(files.ErrMalformed, "the Parquet file is damaged: a row group ends before its last row")
		}
	}
}

// guard, deferred, turns a panic of the library, which some damage causes, into an error.
func guard(f *files.File, err *error) {
	if f.InLoop() {
		return
	}
	if p := recover(); p != nil && *err == nil {
		*err = files.Errorf(files.ErrMalformed, "the Parquet file is damaged: %v", p)
	}
}

// size is the total length of the values of one row in bytes.
func size(values [][]parquet.Value) (n int) {
	for _, leaf := range values {
		for _, v := range leaf {
			n += 8
			if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
				n += len(v.ByteArray())
			}
		}
	}
	return n
}

// footer refuses a file whose footer would be longer than the file, since the library first allocates for it: up to 4
// GiB.
func footer(f *files.File) error {
	var end [8]byte // the footer's length and a magic word, which stands at the beginning, too
	if f.Size() < 12 {
		return nil
	}
	if n, err := f.ReadAt(end[:], f.Size()-8); n < len(end) {
		return explain(f, err)
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > f.Size()-12 {
		return files.Errorf(files.ErrMalformed, "the Parquet file is damaged: its footer would have %d of %d bytes", n, f.Size())
	}
	return nil
}

// explain turns an error of a library into one of this package, unless it comes from the
// file.
func explain(f *files.File, err error) error {
	if f.Err() != nil {
		return f.Err()
	}
	return files.Errorf(files.ErrMalformed, "the file is damaged, or of another kind: %w", err)
}

// level is the position of values in a nested row: the maximum repetition and definition
// levels.
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

// value assembles the value of the column from the values of each leaf.
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

// single is one existing value of the column.
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

// unwrapped turns Parquet's wrapper groups of one field into a list, and its groups of
// key and value into an object.
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
