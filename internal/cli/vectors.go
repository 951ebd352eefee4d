package cli

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/lexsem/lexsem/encoder"
)

// embedLine is one line of embed --format jsonl.
type embedLine struct {
	ID        string    `json:"id"`
	Vector    []float32 `json:"vector"`
	Tokens    int       `json:"tokens"`
	Truncated int       `json:"truncated"` // tokens cut off
}

// vectorWriter writes the header of a file of n vectors of dimension dim and
// returns what writes one vector.
func vectorWriter(w io.Writer, format string, n, dim int) (func(id string, o encoder.Output) error, error) {
	switch format {
	case "jsonl":
		e := json.NewEncoder(w)
		return func(id string, o encoder.Output) error {
			return e.Encode(embedLine{id, o.Dense, len(o.Tokens.IDs), o.Tokens.Truncated})
		}, nil
	case "npy":
		if _, err := w.Write(npyHeader(n, dim)); err != nil {
			return nil, err
		}
	case "fbin":
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("fbin holds at most %d vectors, not %d; use npy", math.MaxUint32, n)
		}
		head := binary.LittleEndian.AppendUint32(nil, uint32(n))
		if _, err := w.Write(binary.LittleEndian.AppendUint32(head, uint32(dim))); err != nil {
			return nil, err
		}
	}
	row := make([]byte, 0, 4*dim)
	return func(_ string, o encoder.Output) error {
		row = row[:0]
		for _, x := range o.Dense {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(x))
		}
		_, err := w.Write(row)
		return err
	}, nil
}

// npyHeader is that of NumPy's format 1.0 for a C-ordered n × dim array of
// little-endian float32: magic, version, length, and a dictionary padded so
// that the data starts at a multiple of 64 bytes.
func npyHeader(n, dim int) []byte {
	dict := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, dim)
	const fixed = 10
	pad := 64 - (fixed+len(dict)+1)%64
	dict += strings.Repeat(" ", pad%64) + "\n"
	head := append([]byte("\x93NUMPY"), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(dict)))
	return append(head, dict...)
}
