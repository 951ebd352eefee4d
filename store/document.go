package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// MaxDocumentBytes bounds id, title, text, metadata of one document together,
// and its vector and token ids together.
const MaxDocumentBytes = 256 << 20

// Document is one stored document.
type Document struct {
	ID          string    // 1 to MaxIDBytes bytes, any bytes
	Title, Text string    // any bytes
	Metadata    []byte    // a JSON object, or nil
	Vector      []float32 // [Dim], finite
	Tokens      []int32   // distinct lexical token ids, kept in the order given
	Truncated   int32     // tokens cut off when the text was encoded
}

// check refuses what Put must not store.
func (d *Document) check(dim int) error {
	if err := checkID(d.ID); err != nil {
		return err
	}
	if dim == 0 {
		return ErrNoDimension
	}
	if len(d.Vector) != dim {
		return fmt.Errorf("document %q: %w", d.ID, &DimensionError{Got: len(d.Vector), Want: dim})
	}
	for _, x := range d.Vector {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("document %q: %w", d.ID, ErrNotFinite)
		}
	}
	if d.Metadata != nil {
		m := bytes.TrimLeft(d.Metadata, " \t\r\n")
		if len(m) == 0 || m[0] != '{' || !json.Valid(m) {
			return fmt.Errorf("document %q: %w", d.ID, ErrMetadata)
		}
	}
	if n := len(d.ID) + len(d.Title) + len(d.Text) + len(d.Metadata); n > MaxDocumentBytes {
		return fmt.Errorf("document %q has %d bytes, at most %d are allowed: %w", d.ID, n, MaxDocumentBytes, ErrTooLarge)
	}
	if n := 4*len(d.Vector) + 5*len(d.Tokens); n > MaxDocumentBytes {
		return fmt.Errorf("document %q has %d bytes of vector and tokens, at most %d are allowed: %w",
			d.ID, n, MaxDocumentBytes, ErrTooLarge)
	}
	return nil
}

func checkID(id string) error {
	if len(id) == 0 || len(id) > MaxIDBytes {
		return fmt.Errorf("%w: this one has %d", ErrInvalidID, len(id))
	}
	return nil
}

// Op is what a change did to an id.
type Op uint8

// The operations of the change log.
const (
	Insert Op = 1 // the id was absent
	Update Op = 2 // the id was present and got a new version
	Delete Op = 3 // the id was present and is gone
)

// String returns "insert", "update" or "delete".
func (o Op) String() string {
	switch o {
	case Insert:
		return "insert"
	case Update:
		return "update"
	case Delete:
		return "delete"
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// Change is one entry of the change log. Old and New are ordinals; 0 means
// none. Old's record stays readable until Compact has passed the batch.
type Change struct {
	Op  Op
	ID  string
	New uint64
	Old uint64
}
