package modulate

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/vec"
)

// A weights file, all integers little-endian:
//
//	"LEXSEMBR"  magic, 8 bytes
//	uint32      format version, 3, or 2 where rows are not rounded
//	uint32      length of the header
//	JSON        weightsHeader
//	int32 × n   columns of W that have a row here, ascending
//	float32 × d bias, only if the header says so
//	n × row     rows of Wᵀ in the order of the ids: int8 e and int8 × d codes, of
//	            which the numbers are 2^e times, or float32 × d in version 2
//	heads       in the order of the header, see weights_heads.go
//	uint32      CRC-32C of all bytes before it
//
// Version 1 has no heads; otherwise it equals version 2.
const (
	weightsMagic   = "LEXSEMBR"
	weightsVersion = 3
	floatVersion   = 2       // with rows of float32
	maxHeader      = 1 << 20 // bytes
	maxVocab       = math.MaxInt32
	maxDim         = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type weightsHeader struct {
	Stack    string              `json:"stack"`
	Dim      int                 `json:"dim"`
	Vocab    int                 `json:"vocab_size"`
	Rows     int                 `json:"rows"`
	Bias     bool                `json:"bias"`
	RLR      RLROptions          `json:"rlr"`
	Spread   float64             `json:"spread,omitempty"`
	Encoder  encoder.Fingerprint `json:"encoder"`
	Seed     uint64              `json:"seed"`
	Data     string              `json:"data"`
	Seq      uint64              `json:"seq"`
	Passages int                 `json:"passages"`
	Queries  int                 `json:"queries"`
	Loss     float64             `json:"loss"`
	Probes   []ProbeScore        `json:"probes"`
	Heads    []headShape         `json:"heads,omitempty"`
}

// Encode returns the bytes of a weights file. Equal weights give equal bytes. ErrOptions if the
// weights are missing or not finite.
func (w *Weights) Encode() ([]byte, error) {
	p := w.Projection
	if p == nil || !vec.Finite(p.rows) {
		return nil, fmt.Errorf("%w: weights of stack %s are missing or not finite; fit again with a lower learning rate", ErrOptions, w.Stack)
	}
	shapes, err := w.headShapes()
	if err != nil {
		return nil, err
	}
	header, err := json.Marshal(weightsHeader{
		Stack: w.Stack, Dim: p.dim, Vocab: p.vocab, Rows: len(p.ids), Bias: p.bias != nil,
		RLR: w.RLR, Spread: w.Spread, Encoder: w.Encoder, Seed: w.Seed, Data: w.Data, Seq: w.Seq,
		Passages: w.Passages, Queries: w.Queries, Loss: w.Loss, Probes: w.Probes, Heads: shapes,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the weights of stack %s: %w", w.Stack, err)
	}
	order := make([]int32, len(p.ids)) // row numbers by ascending id
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(p.ids[a], p.ids[b]) })

	version, appendRow, size := uint32(floatVersion), appendFloats, 4*len(p.rows)
	if p.rounded() {
		version, appendRow, size = weightsVersion, append8, len(p.rows)+len(p.ids)
	}
	b := make([]byte, 0, 20+len(header)+4*(len(p.ids)+len(p.bias))+size)
	b = append(b, weightsMagic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	b = append(b, header...)
	for _, r := range order {
		b = binary.LittleEndian.AppendUint32(b, uint32(p.ids[r]))
	}
	b = appendFloats(b, p.bias)
	for _, r := range order {
		b = appendRow(b, p.rows[int(r)*p.dim:(int(r)+1)*p.dim])
	}
	for _, s := range shapes {
		b = w.Heads[s.Variant].append(b)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

// Decode reads the bytes of a weights file. Errors: ErrCorrupt for damage and for other files,
// ErrUnknownVariant if its stack has a variant that is not registered. It allocates at most a
// small multiple of len(b).
func Decode(b []byte) (*Weights, error) {
	corrupt := func(why string) (*Weights, error) {
		return nil, fmt.Errorf("%w: weights: %s; fit again", ErrCorrupt, why)
	}
	if len(b) < 20 || string(b[:8]) != weightsMagic {
		return corrupt("not a weights file")
	}
	version := binary.LittleEndian.Uint32(b[8:])
	if version < 1 || version > weightsVersion {
		return corrupt(fmt.Sprintf("format version %d, this program reads 1 to %d", version, weightsVersion))
	}
	if crc32.Checksum(b[:len(b)-4], castagnoli) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return corrupt("checksum differs")
	}
	body := b[16 : len(b)-4]
	size := binary.LittleEndian.Uint32(b[12:])
	if size > maxHeader || int(size) > len(body) {
		return corrupt("header longer than the file")
	}
	var h weightsHeader
	dec := json.NewDecoder(bytes.NewReader(body[:size]))
	if err := dec.Decode(&h); err != nil {
		return corrupt("header: " + err.Error())
	}
	body = body[size:]
	if h.Dim <= 0 || h.Dim > maxDim || h.Vocab <= 0 || h.Vocab > maxVocab || h.Rows < 0 || h.Rows > h.Vocab {
		return corrupt(fmt.Sprintf("impossible shape: %d rows of %d for a vocabulary of %d", h.Rows, h.Dim, h.Vocab))
	}
	bias := 0
	if h.Bias {
		bias = h.Dim
	}
	heads, err := headNumbers(h.Heads, h.Dim, h.Vocab)
	if err != nil {
		return corrupt(err.Error())
	}
	rowBytes := 4 * h.Dim
	if version > floatVersion {
		rowBytes = 1 + h.Dim
	}
	if want := 4*(h.Rows+bias+heads) + h.Rows*rowBytes; len(body) != want {
		return corrupt(fmt.Sprintf("%d bytes of numbers where the header announces %d", len(body), want))
	}
	stack, err := ParseStack(h.Stack)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	p, err := NewProjection(h.Dim, h.Vocab)
	if err != nil {
		return corrupt(err.Error())
	}
	p.ids = make([]int32, h.Rows)
	last := int32(-1)
	for i := range p.ids {
		id := int32(binary.LittleEndian.Uint32(body[4*i:]))
		if id <= last || int(id) >= h.Vocab {
			return corrupt(fmt.Sprintf("token id %d out of order or range", id))
		}
		p.ids[i], p.slot[id], last = id, int32(i), id
	}
	body = body[4*h.Rows:]
	if h.Bias {
		p.bias = readFloats(body, bias)
		body = body[4*bias:]
	}
	whole := true
	if version > floatVersion {
		p.rows, whole = read8(body, h.Rows, h.Dim)
	} else {
		p.rows = readFloats(body, h.Rows*h.Dim)
	}
	if !whole {
		return corrupt("codes out of range")
	}
	if !vec.Finite(p.bias) || !vec.Finite(p.rows) {
		return corrupt("numbers that are not finite")
	}
	w := &Weights{
		Stack: stack.Name(), Projection: p, Spread: h.Spread, Encoder: h.Encoder, Seed: h.Seed, Data: h.Data, Seq: h.Seq,
		Passages: h.Passages, Queries: h.Queries, Loss: h.Loss, Probes: h.Probes,
	}
	if err := w.readHeads(body[h.Rows*rowBytes:], h.Heads); err != nil {
		return corrupt(err.Error())
	}
	if !(h.Spread >= 0) {
		return corrupt(fmt.Sprintf("a spread of %v", h.Spread))
	}
	if w.RLR, err = checkRLR(stack, h.RLR); err != nil {
		return corrupt(err.Error())
	}
	return w, nil
}

// checkRLR returns the options for a stack with RLR, defaults filled in.
func checkRLR(s Stack, o RLROptions) (RLROptions, error) {
	if !s.Has("rlr") {
		return RLROptions{}, nil
	}
	return o.withDefaults()
}

// Save writes the weights to path atomically: at any moment the file is the old one or the new
// one.
func (w *Weights) Save(path string) error {
	b, err := w.Encode()
	if err != nil {
		return err
	}
	err = atomicfile.Write(path, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
	if err != nil {
		return fmt.Errorf("save weights: %w", err)
	}
	return nil
}

// Load reads the weights file at path. os.ErrNotExist if it is missing, else the errors of Decode.
func Load(path string) (*Weights, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load weights: %w", err)
	}
	w, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

func appendFloats(b []byte, x []float32) []byte {
	for _, f := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

func readFloats(b []byte, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
