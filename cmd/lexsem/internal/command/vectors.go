package command

import (
	"encoding/json"
	"io"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/ingest/files"
)

// embedLine is one line of embed --format jsonl.
type embedLine struct {
	ID        string    `json:"id"`
	Vector    []float32 `json:"vector"`
	Tokens    int       `json:"tokens"`
	Truncated int       `json:"truncated"` // tokens cut off
}

// vectorWriter writes the header of a file of n vectors of dimension dim, and returns a
// function that writes one vector.
func vectorWriter(w io.Writer, format string, n, dim int) (func(id string, o encoder.Output) error, error) {
	if format == "jsonl" {
		e := json.NewEncoder(w)
		return func(id string, o encoder.Output) error {
			return e.Encode(embedLine{id, o.Dense, len(o.Tokens.IDs), o.Tokens.Truncated})
		}, nil
	}
	row, err := files.NewVectorWriter(w, format, n, dim)
	if err != nil {
		return nil, err
	}
	return func(_ string, o encoder.Output) error { return row(o.Dense) }, nil
}
