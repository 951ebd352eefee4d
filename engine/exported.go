package engine

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/store"
)

// exportVersion is that of the format that Export writes and Import reads.
const exportVersion = 1

// maxLine is the greatest length of a line of an export: that of the longest
// document, each byte of it escaped, with its vectors.
const maxLine = 8 * store.MaxDocumentBytes

// exportedDocument is a line of an export: a document as BEIR's corpora have
// them, and in "lexsem" what only this program knows of.
type exportedDocument struct {
	ID       string          `json:"_id"`
	Title    string          `json:"title,omitempty"`
	Text     string          `json:"text"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Lexsem   *exportedRest   `json:"lexsem,omitempty"`
}

type exportedRest struct {
	Export    *exportHead    `json:"export,omitempty"`    // in the first line
	Bytes     *exportedBytes `json:"bytes,omitempty"`     // of what is not UTF-8
	Chunks    [][2]int       `json:"chunks,omitempty"`    // bytes of the text, where there are several
	Truncated int32          `json:"truncated,omitempty"` // tokens cut off; with rows
	Media     string         `json:"media,omitempty"`
	Data      []byte         `json:"data,omitempty"` // what the text was made of, such as an image; base64
	Rows      []exportedRow  `json:"rows,omitempty"` // one a chunk
}

// data is what the text was made of, nil for nothing.
func (r *exportedRest) data() []byte {
	if r == nil {
		return nil
	}
	return r.Data
}

// exportHead says where an export comes from.
type exportHead struct {
	Version   int                 `json:"version"`
	Documents int                 `json:"documents"`
	Language  string              `json:"language,omitempty"`
	Vectors   bool                `json:"vectors"`
	Metric    string              `json:"metric,omitempty"` // with vectors; none is cosine
	Encoder   encoder.Fingerprint `json:"encoder"`          // without its probe where there are no vectors
	Bases     [][]byte            `json:"bases,omitempty"`  // of the codes in rows, as they are stored
}

// exportedBytes are in base64.
type exportedBytes struct {
	ID    []byte `json:"_id,omitempty"`
	Title []byte `json:"title,omitempty"`
	Text  []byte `json:"text,omitempty"`
}

type exportedRow struct {
	Vector []byte  `json:"vector"` // base64 of float32, little-endian
	Tokens []int32 `json:"tokens,omitempty"`
	Codes  []byte  `json:"codes,omitempty"`
}

// exported is the line of a record.
func exported(d *store.Document, head *exportHead, vectors bool) exportedDocument {
	x := exportedDocument{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: d.Metadata, Lexsem: &exportedRest{Export: head, Media: d.Media, Data: d.Data}}
	var b exportedBytes
	for _, f := range []struct {
		s  string
		to *[]byte
	}{{d.ID, &b.ID}, {d.Title, &b.Title}, {d.Text, &b.Text}} {
		if !utf8.ValidString(f.s) {
			*f.to = []byte(f.s)
			x.Lexsem.Bytes = &b
		}
	}
	for _, r := range d.Rows {
		if len(d.Rows) > 1 {
			x.Lexsem.Chunks = append(x.Lexsem.Chunks, [2]int{r.Start, r.End})
		}
		if vectors {
			v := make([]byte, 0, 4*len(r.Vector))
			for _, f := range r.Vector {
				v = binary.LittleEndian.AppendUint32(v, math.Float32bits(f))
			}
			x.Lexsem.Rows = append(x.Lexsem.Rows, exportedRow{v, r.Tokens, r.Codes})
		}
	}
	if vectors {
		x.Lexsem.Truncated = d.Truncated
	}
	return x
}

// dropTokens removes tokens that are numbers of a database's own vocabulary.
func dropTokens(d *store.Document) {
	for i := range d.Rows {
		d.Rows[i].Tokens = nil
	}
}

// parseExported reads a line. What it refuses is ErrInvalid.
func parseExported(line []byte) (x exportedDocument, err error) {
	refuse := func(format string, args ...any) (exportedDocument, error) {
		return x, fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	if !utf8.Valid(line) {
		return refuse("not UTF-8; an export is")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&x); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return refuse("the line ends early; the file may be cut")
		}
		return x, fmt.Errorf("%w: %s", ErrNoExport, fault.Clip(err.Error()))
	}
	if _, err := dec.Token(); err != io.EOF {
		return refuse("something stands behind the document; put one on a line")
	}
	if x.Lexsem == nil {
		return x, nil
	}
	if h := x.Lexsem.Export; h != nil && h.Version != exportVersion {
		return refuse("an export of version %d, this program reads %d; use a newer version of the program", h.Version, exportVersion)
	}
	if b := x.Lexsem.Bytes; b != nil {
		for _, f := range []struct {
			b  []byte
			to *string
		}{{b.ID, &x.ID}, {b.Title, &x.Title}, {b.Text, &x.Text}} {
			if len(f.b) > 0 {
				*f.to = string(f.b)
			}
		}
	}
	return x, nil
}

// record makes a record of a line. Its rows lack their vectors where the line has
// none; it has no rows where the line does not say how the text is cut.
func (x *exportedDocument) record(fp encoder.Fingerprint, by metric.Metric) (d store.Document, err error) {
	d = store.Document{ID: x.ID, Title: x.Title, Text: x.Text}
	refuse := func(format string, args ...any) (store.Document, error) {
		return d, fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	if d.ID == "" || len(d.ID) > MaxID {
		return refuse("an id has 1 to %d bytes, this one %d", MaxID, len(d.ID))
	}
	m, err := metadata.Parse(x.Metadata)
	if err != nil {
		return refuse("%v", err)
	}
	if len(m) > 0 {
		if d.Metadata, err = metadata.Encode(m); err != nil {
			return d, err
		}
	}
	rest := x.Lexsem
	if rest == nil {
		return d, nil
	}
	d.Media, d.Data, d.Truncated = rest.Media, rest.Data, rest.Truncated
	if len(d.Data) > 0 && d.Media == "" {
		return refuse("data without a media type")
	}
	if len(d.Media) > store.MaxMediaBytes {
		return refuse("a media type of %d bytes, at most %d are allowed", len(d.Media), store.MaxMediaBytes)
	}
	if d.Truncated < 0 {
		return refuse("%d tokens cut off", d.Truncated)
	}
	n := max(1, len(rest.Chunks))
	if n > store.MaxRows {
		return refuse("%d chunks, at most %d are allowed", n, store.MaxRows)
	}
	if len(rest.Rows) > 0 && len(rest.Rows) != n {
		return refuse("%d vectors for %d chunks", len(rest.Rows), n)
	}
	d.Rows = make([]store.Row, n)
	d.Rows[0].End = len(d.Text)
	for i, c := range rest.Chunks {
		if n == 1 {
			return refuse("a single chunk; leave it out")
		}
		if c[0] < 0 || c[1] < c[0] || c[1] > len(d.Text) || i > 0 && c[0] < rest.Chunks[i-1][0] {
			return refuse("chunk %d has the bytes %d to %d of a text of %d; chunks lie in the text, in its order", i, c[0], c[1], len(d.Text))
		}
		d.Rows[i].Start, d.Rows[i].End = c[0], c[1]
	}
	for i, r := range rest.Rows {
		if len(r.Vector) != 4*fp.Dim {
			return refuse("vector %d has %d bytes, a database of %d dimensions takes %d", i, len(r.Vector), fp.Dim, 4*fp.Dim)
		}
		v := make([]float32, fp.Dim)
		for j := range v {
			v[j] = math.Float32frombits(binary.LittleEndian.Uint32(r.Vector[4*j:]))
		}
		if !vec.Finite(v) {
			return refuse("vector %d has a NaN or an infinity", i)
		}
		d.Rows[i].Vector, d.Rows[i].Tokens, d.Rows[i].Codes = v, r.Tokens, r.Codes
	}
	if fp.VocabSize == 0 {
		dropTokens(&d) // which the database will make
	}
	if len(rest.Rows) > 0 {
		if err := acceptRows(&d, by, fp.VocabSize); err != nil {
			return refuse("%v", err)
		}
	}
	return d, nil
}

// LineError says which line of an import was refused, and why.
type LineError struct {
	Line int   // from 1
	Err  error // the cause
}

// Error names the line and the cause.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// lineReader reads the lines of an export that are not blank. Memory: the longest
// line that is there.
type lineReader struct {
	r    *bufio.Reader
	line int // number of the last one
}

func (l *lineReader) next() ([]byte, error) {
	for {
		var line []byte
		l.line++
		for {
			part, err := l.r.ReadSlice('\n')
			if len(line)+len(part) > maxLine {
				return nil, &LineError{l.line, fmt.Errorf("%w: longer than %d MiB, which no document is", ErrInvalid, maxLine>>20)}
			}
			line = append(line, part...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (err != io.EOF || len(line) == 0) {
				return nil, err
			}
			break
		}
		if l.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}
