package files

import (
	"errors"
	"fmt"
	"strings"
)

// Row yields one row of a table with size bytes; value(i) is its value in column i, or nil. The values are those
// of JSON: strings, bool, int64, uint64, float64, json.Number, []any and map[string]any.
type Row func(size int, value func(i int) (any, error)) error

// Table yields the rows of a table, a document a row. It finds the columns of id, title, text and vector by their
// names, according to Options.Columns; the others become metadata.
func (s *File) Table(columns []string) (Row, error) {
	t, err := s.newTable(columns)
	if err != nil {
		return nil, err
	}
	return func(size int, value func(int) (any, error)) error {
		s.n++
		s.line = 0
		var rec Record
		err := s.tooLong(size)
		if err == nil {
			err = t.fill(&rec, value)
		}
		return s.record(rec, err)
	}, nil
}

// fill makes a record of the values of one row.
func (t *table) fill(rec *Record, value func(int) (any, error)) error {
	for i, name := range t.names {
		v, err := value(i)
		if err != nil {
			return Errorf(ErrMalformed, "column %q: %w", clip(name, 80), err)
		}
		if used, err := t.take(rec, i, v); err != nil {
			return err
		} else if used || v == nil {
			continue
		}
		if rec.Metadata == nil {
			rec.Metadata = map[string]any{}
		}
		rec.Metadata[name] = v
	}
	return nil
}

// take uses a value as id, title, text or vector if its column is one of these.
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
			return true, t.noID("row %d: column %q is empty, or neither a string nor a number", t.s.n, t.names[i])
		}
		return true, nil
	case t.title, t.text:
		if v != nil && !isText {
			return false, Errorf(ErrMalformed, "column %q does not hold strings; name the text column", t.names[i])
		}
		text = strings.ReplaceAll(text, "\x00", " ")
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
			return true, t.badVector(i, err)
		}
		rec.Vector = vec
		return vec != nil, nil
	}
	return false, nil
}
