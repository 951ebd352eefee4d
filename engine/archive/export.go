package archive

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/store"
)

// ExportOptions configure Engine.Export.
type ExportOptions struct {
	// Vectors also writes vectors, tokens and token states exactly, so that Import needs no encoder. They take 5.3
	// bytes a dimension and chunk, and 4/3 of the token states' bytes.
	//
	// Tokens that are terms of this database's own vocabulary are left out: Import makes them from the texts.
	Vectors bool
	// Filter keeps documents whose metadata match; zero keeps all.
	Filter filter.Filter
}

// Writer writes an export.
type Writer struct {
	head    *Head // until the first line is written
	vectors bool
	buffer  *bufio.Writer
	lines   *json.Encoder
}

// NewWriter returns a Writer to w. The first line contains h.
func NewWriter(w io.Writer, h Head) *Writer {
	h.Version = version
	b := bufio.NewWriterSize(w, 64<<10)
	x := &Writer{head: &h, vectors: h.Vectors, buffer: b, lines: json.NewEncoder(b)}
	x.lines.SetEscapeHTML(false)
	return x
}

// Write writes the line of a document.
func (x *Writer) Write(d *store.Document) error {
	head := x.head
	x.head = nil
	return x.lines.Encode(lineOf(d, head, x.vectors))
}

// Flush writes the buffered data.
func (x *Writer) Flush() error { return x.buffer.Flush() }
