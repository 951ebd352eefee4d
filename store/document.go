package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/limit"
)

// Document is a stored document.
type Document struct {
	ID          string // 1 to 1,024 bytes, of any value
	Title, Text string // any bytes
	Metadata    []byte // a JSON object, or nil
	Media       string // media type of the source of the text, at most 255 bytes; "" for none
	Data        []byte // source of the text if it is not text, such as an image; nil for none. Needs Media
	Truncated   int32  // number of tokens cut off when the text was encoded
	// Rows are the vectors of the document: one, or one for each chunk of a long text. At most
	// 262,144. In a database with Manifest.Deferred either all rows have a vector, or none has.
	Rows []Row
}

// Row is one vector of a document, with the part of the text that it represents.
type Row struct {
	Start, End int       // byte range of the chunk in Text; chunks may overlap. A single row always covers the whole text
	Vector     []float32 // length Dim, all finite; nil where it is not made yet
	Tokens     []int32   // distinct lexical token ids; the order is kept
	Codes      []byte    // codes of the token states, opaque to the store; nil for none
	Impacts    []byte    // weights of words, opaque to the store; nil for none. Needs Manifest.Impacts
}

// dropCodes leaves out the codes of all rows.
func (d *Document) dropCodes() {
	for i := range d.Rows {
		d.Rows[i].Codes = nil
	}
}

// Deferred reports whether the vectors of the document are not made yet.
func (d *Document) Deferred() bool { return len(d.Rows) > 0 && len(d.Rows[0].Vector) == 0 }

// check refuses a document that Put must not store in a database of m.
func (d *Document) check(m Manifest) error {
	dim := m.Dim
	if err := checkID(d.ID); err != nil {
		return err
	}
	if dim == 0 {
		return errNoDimension
	}
	if len(d.Rows) == 0 {
		return fmt.Errorf("document %q: %w", d.ID, &DimensionError{Got: 0, Want: dim})
	}
	if len(d.Rows) > limit.Rows {
		return fmt.Errorf("document %q has %d chunks, at most %d are allowed: %w", d.ID, len(d.Rows), limit.Rows, ErrTooLarge)
	}
	size := 0
	if m.Deferred && d.Deferred() {
		dim = 0
	}
	for i, r := range d.Rows {
		if len(r.Vector) != dim {
			return fmt.Errorf("document %q: %w", d.ID, &DimensionError{Got: len(r.Vector), Want: dim})
		}
		for _, x := range r.Vector {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Errorf("document %q: %w", d.ID, errNotFinite)
			}
		}
		if len(d.Rows) > 1 && (r.Start < 0 || r.Start > r.End || r.End > len(d.Text) || i > 0 && r.Start < d.Rows[i-1].Start) {
			return fmt.Errorf("document %q: chunk %d has the bytes %d to %d of a text of %d: %w", d.ID, i, r.Start, r.End, len(d.Text), errSpan)
		}
		if len(r.Impacts) > 0 && !m.Impacts {
			return fmt.Errorf("document %q: %w", d.ID, errImpacts)
		}
		size += 4*len(r.Vector) + 5*len(r.Tokens) + len(r.Codes) + len(r.Impacts)
	}
	if d.Metadata != nil {
		m := bytes.TrimLeft(d.Metadata, " \t\r\n")
		if len(m) == 0 || m[0] != '{' || !json.Valid(m) {
			return fmt.Errorf("document %q: %w", d.ID, errMetadata)
		}
	}
	if len(d.Media) > limit.MediaBytes {
		return fmt.Errorf("document %q has a media type of %d bytes, at most %d are allowed: %w", d.ID, len(d.Media), limit.MediaBytes, ErrTooLarge)
	}
	if len(d.Data) > 0 && d.Media == "" {
		return fmt.Errorf("document %q: %w", d.ID, errNoMedia)
	}
	if n := len(d.ID) + len(d.Title) + len(d.Text) + len(d.Metadata) + len(d.Data); n > limit.DocumentBytes {
		return fmt.Errorf("document %q has %d bytes, at most %d are allowed: %w", d.ID, n, limit.DocumentBytes, ErrTooLarge)
	}
	if size > limit.DocumentBytes {
		return fmt.Errorf("document %q has %d bytes of vectors and tokens, at most %d are allowed: %w",
			d.ID, size, limit.DocumentBytes, ErrTooLarge)
	}
	return nil
}

func checkID(id string) error {
	if len(id) == 0 || len(id) > limit.IDBytes {
		return fmt.Errorf("%w: this one has %d", errInvalidID, len(id))
	}
	return nil
}

// Change is one entry of the change log. The record of Old can be read until Compact has passed the commit.
type Change struct {
	ID  string
	New uint64 // ordinal of the new version; 0 means that the id was deleted
	Old uint64 // ordinal of the version before; 0 means that the id was new
}
