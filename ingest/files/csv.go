package files

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
	if _, err := dialect(plain, &comma); err != nil {
		return err
	}
	r := csv.NewReader(plain)
	r.Comma, r.ReuseRecord, r.FieldsPerRecord = comma, true, -1
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
		row, err := r.Read()
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

// dialect determines the separator of columns, if it is 0, from the first line: a comma, or a semicolon, a tab or a bar if there are
// more of those. A line such as sep=; before the header names it, for Excel, and is skipped. Line ends of one CR become LF. It returns
// the number of lines skipped.
func dialect(b *budget, comma *rune) (skipped int, err error) {
	head := make([]byte, 4096)
	n, err := io.ReadFull(b.r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, err
	}
	head = head[:n]
	rest := b.r
	if bytes.Contains(head, []byte("\r")) && !bytes.Contains(head, []byte("\n")) {
		rest = &carriageReturns{rest}
		head = bytes.ReplaceAll(head, []byte("\r"), []byte("\n"))
	}
	line, after, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	if named, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("sep=")); ok && len(named) == 1 && named[0] != '"' {
		head, skipped, *comma = after, 1, rune(named[0])
	} else if ok && len(named) == 0 && bytes.Contains(line, []byte("sep=\t")) {
		head, skipped, *comma = after, 1, '\t'
	}
	b.r = io.MultiReader(bytes.NewReader(head), rest)
	if *comma == 0 {
		*comma = ','
		for _, c := range ";\t|" {
			if bytes.Count(line, []byte(string(c))) > bytes.Count(line, []byte(string(*comma))) {
				*comma = c
			}
		}
	}
	return skipped, nil
}

// carriageReturns reads CR as LF.
type carriageReturns struct{ r io.Reader }

func (c *carriageReturns) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// rowReader reads rows. A quote within a text that is not doubled, and one that is closed nowhere, cost nothing but the layout of
// their own line: it is read alone, with its quotes as text, as spreadsheets do.
type rowReader struct {
	*csv.Reader
	in       io.Reader
	comma    rune
	held     bytes.Buffer // what the reader has read, from offset
	offset   int64
	before   int // lines before the first that the reader reads
	from, to int // lines of the last row
	mended   bool
}

func newRowReader(in io.Reader, comma rune, before int) *rowReader {
	r := &rowReader{comma: comma, before: before}
	r.restart(in)
	return r
}

func (r *rowReader) restart(in io.Reader) {
	r.held.Reset()
	r.in, r.offset = in, 0
	r.Reader = csv.NewReader(io.TeeReader(in, &r.held))
	r.Comma, r.ReuseRecord, r.FieldsPerRecord = r.comma, true, -1
}

// next reads a row of a table with a number of columns.
func (r *rowReader) next(columns int) ([]string, error) {
	r.held.Next(int(r.InputOffset() - r.offset))
	r.offset, r.mended = r.InputOffset(), false
	row, err := r.Read()
	var perr *csv.ParseError
	switch {
	case errors.As(err, &perr):
		r.from, r.to = r.before+perr.StartLine, r.before+perr.Line
	case errors.Is(err, errBudget):
		r.from, r.to = r.to+1, r.to+2
	case err == nil:
		r.from, _ = r.FieldPos(0)
		last, _ := r.FieldPos(len(row) - 1)
		r.from, r.to = r.before+r.from, r.before+last+strings.Count(row[len(row)-1], "\n")
		return row, nil
	default:
		return nil, err
	}
	line, rest, _ := bytes.Cut(bytes.TrimLeft(r.held.Bytes(), "\r\n"), []byte("\n"))
	following, _, _ := bytes.Cut(rest, []byte("\n"))
	one := r.literal(line, columns)
	if one == nil || r.to > r.from && (columns == 1 || r.literal(following, columns) == nil) {
		return nil, err
	}
	if r.mended = true; r.to > r.from { // the lines behind the first are rows of their own
		r.before, r.to = r.from, r.from
		r.restart(io.MultiReader(bytes.NewReader(bytes.Clone(rest)), r.in))
	}
	return one, nil
}

// literal reads one line as a row with a number of columns: its quotes within texts are text, or else all its quotes. It returns nil if
// the line is no such row.
func (r *rowReader) literal(line []byte, columns int) []string {
	in := csv.NewReader(bytes.NewReader(line))
	in.Comma, in.LazyQuotes, in.FieldsPerRecord = r.comma, true, -1
	if row, err := in.Read(); err == nil && len(row) == columns {
		return row
	}
	if row := strings.Split(string(bytes.TrimSuffix(line, []byte("\r"))), string(r.comma)); len(row) == columns {
		return row
	}
	return nil
}

// reason describes the error of a row, without its line.
func (r *rowReader) reason(err *csv.ParseError) error {
	if errors.Is(err, csv.ErrQuote) || errors.Is(err, csv.ErrBareQuote) {
		return Errorf(ErrMalformed, "line %d, column %d: %w; double quotes inside quotes, and close every quote", r.before+err.Line, err.Column, err.Err)
	}
	return Errorf(ErrMalformed, "%w", err.Err)
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

// table maps roles to column numbers; -1 means none.
type table struct {
	s                       *File
	names                   []string
	id, title, text, vector int
	vectorNamed             bool
	texts                   []bool // columns all cells of which are text; nil where that is not known
	joined                  []int  // columns that are the text together, where none is
}

// withTexts makes the columns of text the text, and reports whether there are some.
func (t *table) withTexts(say bool) bool {
	var names []string
	for i, text := range t.texts {
		if text && i != t.id && i != t.title {
			t.joined = append(t.joined, i)
			names = append(names, t.names[i])
		}
	}
	if say && len(names) > 0 {
		t.s.Warn(1, "no column %q; the text is that of the columns %s; name one of them, if it alone is the text", textNames[0], clip(strings.Join(names, ", "), 200))
	}
	return len(names) > 0
}

// newTable finds the columns of a table. It returns the table and ErrNoText if there is nothing to search for in them.
func (s *File) newTable(header []string) (*table, error) {
	c := s.o.Columns
	t := &table{s: s, names: make([]string, len(header)), vectorNamed: c.Vector != ""}
	seen := map[string]bool{}
	for i, name := range header {
		name = strings.TrimSpace(name)
		if !utf8.ValidString(name) || strings.Contains(name, "\x00") {
			return nil, Errorf(ErrBinary, "the header is not UTF-8 text; convert the file first")
		}
		if name == "" { // an index that a data frame wrote, for one
			name = "column" + strconv.Itoa(i+1)
		}
		for n, whole := 2, name; seen[name]; n++ {
			if name = whole + "~" + strconv.Itoa(n); !seen[name] {
				s.Warn(1, "two columns are named %q; the second is stored as %q", clip(whole, 80), clip(name, 80))
			}
		}
		seen[name] = true
		t.names[i] = name
	}
	if s.o.Rows {
		t.id, t.title, t.text, t.vector = -1, -1, -1, -1
		return t, nil
	}
	for _, f := range []struct {
		to    *int
		named string
		usual []string
	}{{&t.id, c.ID, idNames}, {&t.title, c.Title, titleNames}, {&t.text, c.Text, textNames}, {&t.vector, c.Vector, vectorNames}} {
		var err error
		if *f.to, err = t.find(f.named, f.usual); err != nil {
			return nil, err
		}
	}
	if t.title < 0 && t.text < 0 && t.vector < 0 {
		return t, Errorf(ErrNoText, "no column %q (nor %s); name the text column, one of %s", textNames[0], strings.Join(textNames[1:], ", "), t.list())
	}
	return t, nil
}

func (t *table) find(named string, usual []string) (int, error) {
	if named != "" {
		if i := slices.Index(t.names, named); i >= 0 {
			return i, nil
		}
		return -1, Errorf(ErrMalformed, "no column %q; the columns are %s", named, t.list())
	}
	for _, u := range usual {
		if i := slices.IndexFunc(t.names, func(n string) bool { return strings.EqualFold(n, u) }); i >= 0 {
			return i, nil
		}
	}
	return -1, nil
}

// list names the columns in a message.
func (t *table) list() string { return clip(strings.Join(t.names, ", "), 200) }

// record fills rec from a row. Cells that are JSON numbers, true or false become metadata
// of that type; empty cells are left out.
func (t *table) record(rec Record, row []string) (Record, error) {
	for i, cell := range row {
		switch i {
		case t.id:
			if rec.ID = strings.TrimSpace(cell); rec.ID == "" {
				if err := t.noID("column %q is empty", t.names[i]); err != nil {
					return rec, err
				}
			}
			continue
		case t.title:
			rec.Title = cell
			continue
		case t.text:
			rec.Text = cell
			continue
		case t.vector:
			vec, err := cellVector(cell)
			if err == nil {
				rec.Vector = vec
				continue
			}
			if t.vectorNamed || strings.HasPrefix(strings.TrimSpace(cell), "[") {
				if err := t.badVector(i, err); err != nil {
					return rec, err
				}
				continue
			}
		}
		if cell == "" {
			continue
		}
		if rec.Metadata == nil {
			rec.Metadata = make(map[string]any, len(row))
		}
		if t.texts != nil && t.texts[i] {
			rec.Metadata[t.names[i]] = cell
		} else {
			rec.Metadata[t.names[i]] = cellValue(cell)
		}
	}
	var lines []string
	for _, i := range t.joined {
		if i < len(row) && !blank(row[i]) {
			lines = append(lines, t.names[i]+": "+row[i])
		}
	}
	if lines != nil {
		rec.Text = strings.Join(lines, "\n")
	}
	return rec, nil
}

// noID handles a row without an id: its position becomes the id, or the row is refused if it has no
// position.
func (t *table) noID(format string, args ...any) error {
	if t.s.o.ID == "" {
		return Errorf(ErrMalformed, format+"; give every row an id", args...)
	}
	t.s.Warn(t.s.line, format+"; this row gets an id of its own", args...)
	return nil
}

// badVector handles a vector that cannot be read. It matters only where vectors are used.
func (t *table) badVector(i int, err error) error {
	if !t.s.o.DropVectors {
		return Errorf(ErrMalformed, "column %q: %w", t.names[i], err)
	}
	t.s.Warn(t.s.line, "column %q: %v; the vector is left out", t.names[i], err)
	return nil
}

// cellValue returns the value of a cell for metadata.
func cellValue(cell string) any {
	switch {
	case cell == "true":
		return true
	case cell == "false":
		return false
	case (cell[0] == '-' || '0' <= cell[0] && cell[0] <= '9') && json.Valid([]byte(cell)):
		if f, err := strconv.ParseFloat(cell, 64); err == nil && !math.IsInf(f, 0) {
			return json.Number(cell)
		}
	}
	return cell
}

// cellVector reads numbers between commas or white space, with or without brackets. An
// empty cell has no vector.
func cellVector(cell string) ([]float32, error) {
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return nil, nil
	}
	if inner, ok := strings.CutPrefix(cell, "["); ok {
		if cell, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, errors.New("the vector has no closing bracket")
		}
	}
	var out []float32
	for part := range strings.FieldsFuncSeq(cell, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
		f, err := strconv.ParseFloat(part, 32)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, errors.New(strconv.Quote(clip(part, 40)) + " is not a number that a vector can hold")
		}
		out = append(out, float32(f))
	}
	return out, nil
}

// budget fails with errBudget after left bytes were read.
type budget struct {
	r    io.Reader
	left int64
}

var errBudget = errors.New("more than one record may have")

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBudget
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
