package exportline

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/lexsem/lexsem/store"
)

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
