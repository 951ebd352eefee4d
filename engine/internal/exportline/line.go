// Package exportline reads and writes the lines of an export. Start with [Parse] and [NewWriter]. Package archive has
// what a caller of Engine.Export and Engine.Import sees.
package exportline

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/store"
)

// version is the version of the format.
const version = 1

// ErrNoExport means that no export has such a line. It wraps fault.ErrInvalid.
var ErrNoExport = fmt.Errorf("%w: no line of an export", fault.ErrInvalid)

// MaxBytes is the maximum length of a line of an export: that of the longest document with every byte escaped,
// and its vectors.
const MaxBytes = 8 * limit.DocumentBytes

// Line is a line of an export: a document in the format of BEIR. Only this program reads the field Lexsem.
type Line struct {
	ID       string          `json:"_id"`
	Title    string          `json:"title,omitempty"`
	Text     string          `json:"text"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Lexsem   *rest           `json:"lexsem,omitempty"`
}

type rest struct {
	Export    *Head    `json:"export,omitempty"`    // in the first line
	Bytes     *raw     `json:"bytes,omitempty"`     // of what is not UTF-8
	Chunks    [][2]int `json:"chunks,omitempty"`    // bytes of the text, where there are several
	Truncated int32    `json:"truncated,omitempty"` // tokens cut off; with rows
	Media     string   `json:"media,omitempty"`
	Data      []byte   `json:"data,omitempty"` // what the text was made of, such as an image; base64
	Rows      []row    `json:"rows,omitempty"` // one a chunk
}

// Encoded reports whether the line has the vectors of the document.
func (x *Line) Encoded() bool { return x.Lexsem != nil && len(x.Lexsem.Rows) > 0 }

// Empty reports whether the document has neither text nor data.
func (x *Line) Empty() bool {
	return intake.Blank(x.Title) && intake.Blank(x.Text) && (x.Lexsem == nil || len(x.Lexsem.Data) == 0)
}

// Head says where an export comes from.
type Head struct {
	Version   int                 `json:"version"`
	Documents int                 `json:"documents"`
	Language  string              `json:"language,omitempty"`
	Vectors   bool                `json:"vectors"`
	Metric    string              `json:"metric,omitempty"` // with vectors; none is cosine
	Encoder   encoder.Fingerprint `json:"encoder"`          // without its probe where there are no vectors
	Bases     [][]byte            `json:"bases,omitempty"`  // of the codes in rows, as they are stored
}

// raw values are in base64.
type raw struct {
	ID    []byte `json:"_id,omitempty"`
	Title []byte `json:"title,omitempty"`
	Text  []byte `json:"text,omitempty"`
}

type row struct {
	Vector  []byte  `json:"vector"` // base64 of float32, little-endian
	Tokens  []int32 `json:"tokens,omitempty"`
	Codes   []byte  `json:"codes,omitempty"`
	Impacts []byte  `json:"impacts,omitempty"`
}

// lineOf is the line of a record.
func lineOf(d *store.Document, head *Head, vectors bool) Line {
	x := Line{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: d.Metadata, Lexsem: &rest{Export: head, Media: d.Media, Data: d.Data}}
	vectors = vectors && !d.Deferred()
	var b raw
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
			x.Lexsem.Rows = append(x.Lexsem.Rows, row{v, r.Tokens, r.Codes, r.Impacts})
		}
	}
	if vectors {
		x.Lexsem.Truncated = d.Truncated
	}
	return x
}

// Parse reads a line. Errors are fault.ErrInvalid.
func Parse(line []byte) (x Line, err error) {
	refuse := func(format string, args ...any) (Line, error) {
		return x, fmt.Errorf("%w: %s", fault.ErrInvalid, fmt.Sprintf(format, args...))
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
		return refuse("something follows the document; put one on a line")
	}
	if x.Lexsem == nil {
		return x, nil
	}
	if h := x.Lexsem.Export; h != nil && h.Version != version {
		return refuse("an export of version %d, this program reads %d; use a newer version of the program", h.Version, version)
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

// Record returns the stored form of the line for a database of an encoder and a metric. If the line has no vectors, the
// rows have none; if it has no chunk division, there are no rows.
func (x *Line) Record(fp encoder.Fingerprint, by metric.Metric) (d store.Document, err error) {
	d = store.Document{ID: x.ID, Title: x.Title, Text: x.Text}
	refuse := func(format string, args ...any) (store.Document, error) {
		return d, fmt.Errorf("%w: %s", fault.ErrInvalid, fmt.Sprintf(format, args...))
	}
	if d.ID == "" || len(d.ID) > limit.IDBytes {
		return refuse("an id has 1 to %d bytes, this one %d", limit.IDBytes, len(d.ID))
	}
	m, err := metadata.Parse(x.Metadata)
	if err != nil {
		return refuse("%v", err)
	}
	if len(m) > 0 {
		if d.Metadata, err = metadata.Storable(context.Background(), m); err != nil {
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
	if len(d.Media) > limit.MediaBytes {
		return refuse("a media type of %d bytes, at most %d are allowed", len(d.Media), limit.MediaBytes)
	}
	if d.Truncated < 0 {
		return refuse("%d tokens cut off", d.Truncated)
	}
	n := max(1, len(rest.Chunks))
	if n > limit.Rows {
		return refuse("%d chunks, at most %d are allowed", n, limit.Rows)
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
		d.Rows[i].Vector, d.Rows[i].Tokens, d.Rows[i].Codes, d.Rows[i].Impacts = v, r.Tokens, r.Codes, r.Impacts
	}
	if fp.VocabSize == 0 {
		intake.DropTokens(&d) // which the database will make
	}
	if len(rest.Rows) > 0 {
		if err := intake.CheckRows(&d, by, fp.VocabSize); err != nil {
			return refuse("%v", err)
		}
	}
	return d, nil
}
