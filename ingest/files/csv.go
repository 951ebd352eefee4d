package files

import (
	"encoding/csv"
	"errors"
	"io"
	"reflect"
)

func readCSV(s *File) error { return s.table(0) }
func readTSV(s *File) error { return s.table('\t') }

// readAhead is more than package csv reads beyond a row.
const readAhead = 8 << 10

// table reads a table with a header: each row is a document. If comma is 0, the header
// determines it.
func (s *File) table(comma rune) error {
	plain, err := s.decoded()
	if err != nil {
		return err
	}
	// Package csv keeps a row whole, so one with an open quote would grow with the file.
	rest := &budget{r: plain, left: s.o.MaxBytes + readAhead}
	skipped, err := dialect(rest, &comma)
	if err != nil {
		return err
	}
	r := newRowReader(rest, comma, skipped)
	header, err := r.next(-1)
	if err == io.EOF {
		return ErrNoText
	}
	if err != nil {
		return s.rowError(err)
	}
	t, lacks := s.newTable(header)
	if t == nil {
		return lacks
	}
	if s.again != nil {
		if err := t.findTexts(comma); err != nil {
			return err
		}
		if t.text < 0 && t.vector < 0 && !s.o.Rows && s.o.Columns.Text == "" && t.withTexts(lacks != nil) {
			lacks = nil
		}
	}
	if lacks != nil {
		return lacks
	}
	columns, short, firstShort := len(header), 0, 0 // the next row overwrites header
	for {
		rest.left = s.o.MaxBytes + readAhead
		row, err := r.next(columns)
		if err == io.EOF {
			if short > 0 {
				s.Warn(firstShort, "%d rows have fewer fields than the header, this one first; what they lack is empty", short)
			}
			return nil
		}
		s.n++
		var perr *csv.ParseError
		switch {
		case errors.As(err, &perr):
			err = s.bad(r.from, "", r.reason(perr))
		case err != nil:
			return s.rowError(err)
		case len(row) > columns:
			err = s.bad(r.from, "", Errorf(ErrMalformed, "the row has %d fields and the header %d; quote fields that hold a separator", len(row), columns))
		default:
			rec := Record{From: r.from, To: r.to}
			if r.mended {
				s.Warn(r.from, "a quote in the row is neither doubled nor closed; it is read as a part of the text")
			}
			if len(row) < columns {
				if short++; short == 1 {
					firstShort = rec.From
				}
			}
			size := 0
			for _, cell := range row {
				size += len(cell)
			}
			s.line = rec.From
			if err = s.tooLong(size); err == nil {
				rec, err = t.record(rec, row)
			}
			err = s.record(rec, err)
		}
		if err != nil {
			return err
		}
	}
}

// findTexts reads the whole table once before its rows are used: if a column has a cell of another type than number, or
// than true and false, all its cells are text. A stream is read only once, so each of its cells has its own type.
func (t *table) findTexts(comma rune) error {
	plain := &budget{r: t.s.again(), left: readAhead}
	skipped, err := dialect(plain, &comma)
	if err != nil {
		return err
	}
	r := newRowReader(plain, comma, skipped)
	t.texts = make([]bool, len(t.names))
	kinds := make([]any, len(t.names)) // a value of each column
	left := 0                          // columns that may be of another type than text
	for i := range t.names {
		t.texts[i] = i == t.id || i == t.title || i == t.text || i == t.vector
		if !t.texts[i] {
			left++
		}
	}
	for head := true; left > 0; head = false {
		plain.left = t.s.o.MaxBytes + readAhead
		row, err := r.next(len(t.names))
		var perr *csv.ParseError
		switch {
		case err == io.EOF, errors.Is(err, errBudget): // which the reading of the rows reports
			return nil
		case errors.As(err, &perr):
			continue
		case err != nil:
			return err
		case head:
			continue
		}
		if len(row) > len(t.texts) { // which is not read
			continue
		}
		for i, cell := range row {
			if cell == "" || t.texts[i] {
				continue
			}
			v := cellValue(cell)
			if _, text := v.(string); text || kinds[i] != nil && reflect.TypeOf(v) != reflect.TypeOf(kinds[i]) {
				t.texts[i] = true
				left--
			}
			kinds[i] = v
		}
	}
	return nil
}

// rowError is an error after which no further row can be found.
func (s *File) rowError(err error) error {
	var perr *csv.ParseError
	switch {
	case errors.Is(err, errBudget):
		return Errorf(ErrTooLarge, "row %d is longer than %s; split its text, or close the quote that it opens (row 0 is the header)", s.n, bytesText(s.o.MaxBytes))
	case errors.As(err, &perr):
		return Errorf(ErrMalformed, "the header: %w", err)
	}
	return err
}
