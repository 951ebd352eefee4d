package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// dialect determines the separator of columns, if it is 0, from the first line: a comma, or a semicolon, a tab or a bar if there are
// more of those, and in the second line, too. A line such as sep=; before the header names it, for Excel, and is skipped. Line ends of one CR become LF. It returns
// the number of lines skipped.
func dialect(b *budget, comma *rune) (skipped int, err error) {
	head := make([]byte, 4096)
	n, err := io.ReadFull(b.r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, err
	}
	head = head[:n]
	rest := b.r
	if bytes.Contains(bytes.TrimSuffix(head, []byte("\r")), []byte("\r")) && !bytes.Contains(head, []byte("\n")) {
		rest = &carriageReturns{rest}
		head = bytes.ReplaceAll(head, []byte("\r"), []byte("\n"))
	}
	line, after, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	named, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("sep="))
	if tab := len(named) == 0 && bytes.Contains(line, []byte("sep=\t")); ok && (tab || len(named) == 1 && named[0] != '"') {
		if *comma = '\t'; !tab {
			*comma = rune(named[0])
		}
		head, skipped = after, bytes.Count(head[:len(head)-len(after)], []byte("\n"))
	}
	b.r = io.MultiReader(bytes.NewReader(head), rest)
	if *comma == 0 {
		*comma = ','
		second, _, _ := bytes.Cut(after, []byte("\n"))
		of := func(c rune, in []byte) int { return bytes.Count(in, []byte(string(c))) }
		for _, c := range ";\t|" {
			if of(c, line) > of(*comma, line) && (of(c, second) > 0 || of(*comma, second) == 0) {
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
	all := bytes.TrimLeft(r.held.Bytes(), "\r\n")
	if perr != nil && r.to > r.from && r.within(all, perr) {
		return nil, err
	}
	line, rest, _ := bytes.Cut(all, []byte("\n"))
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

// within reports whether a quote that does not fit stands in a text of several lines. One that begins a field shows that an
// earlier one was closed nowhere.
func (r *rowReader) within(all []byte, err *csv.ParseError) bool {
	for range err.Line - err.StartLine {
		_, all, _ = bytes.Cut(all, []byte("\n"))
	}
	at := err.Column - 1
	return at > 0 && at < len(all) && all[at] == '"' && all[at-1] != byte(r.comma)
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
