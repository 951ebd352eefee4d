package encoders

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"

	"github.com/lexsem/lexsem/encoder"
)

// Recording is one string with the output of the reference tokenizer, for the vocabulary of
// all-MiniLM-L6-v2 and without a length limit.
type Recording struct {
	Kind    string  // kind of string, such as "accents"
	Cased   bool    // whether the tokenizer keeps case and accents
	Text    string  // any bytes
	IDs     []int32 // token ids, including [CLS] and [SEP]
	Offsets uint32  // CRC-32 of the byte offsets, see OffsetsSum
}

// OffsetsSum is the CRC-32 (IEEE) over spans, each as start and end in four bytes, little endian.
func OffsetsSum(spans []encoder.Span) uint32 {
	b := make([]byte, 0, 8*len(spans))
	for _, s := range spans {
		b = binary.LittleEndian.AppendUint32(b, uint32(s.Start))
		b = binary.LittleEndian.AppendUint32(b, uint32(s.End))
	}
	return crc32.ChecksumIEEE(b)
}

// Recordings reads the file that encoder/tokenizer/testdata/record_bert.py writes. The script
// describes the format.
func Recordings(path string) ([]Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	const magic = "lexsem tokens 1\n"
	if !bytes.HasPrefix(b, []byte(magic)) {
		return nil, fmt.Errorf("%s: not a recording of tokens", path)
	}
	r := reader{b: b[len(magic):]}
	kinds := make([]string, r.number())
	for i := range kinds {
		kinds[i] = string(r.bytes(r.number()))
	}
	out := make([]Recording, r.number())
	columns := [5][]int{} // kind, cased, times, bytes of text, ids
	for c := range columns {
		columns[c] = make([]int, len(out))
		for i := range out {
			columns[c][i] = r.number()
		}
	}
	for i := range out {
		out[i].Kind, out[i].Cased = kinds[columns[0][i]], columns[1][i] == 1
		out[i].Text = strings.Repeat(string(r.bytes(columns[3][i])), columns[2][i])
	}
	for i := range out {
		out[i].IDs = make([]int32, columns[4][i])
		last := 0
		for k := range out[i].IDs {
			zigzag := r.number()
			last += zigzag>>1 ^ -(zigzag & 1)
			out[i].IDs[k] = int32(last)
		}
	}
	for i := range out {
		out[i].Offsets = binary.LittleEndian.Uint32(append(r.bytes(4), 0, 0, 0, 0))
	}
	if len(r.b) > 0 {
		r.err = errors.Join(r.err, fmt.Errorf("%d bytes too many", len(r.b)))
	}
	if r.err != nil {
		return nil, fmt.Errorf("%s: %w", path, r.err)
	}
	return out, nil
}

// reader reads numbers and bytes until an error occurs.
type reader struct {
	b   []byte
	err error
}

func (r *reader) number() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<31 {
		r.err, r.b = io.ErrUnexpectedEOF, nil
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.err, r.b = io.ErrUnexpectedEOF, nil
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}
