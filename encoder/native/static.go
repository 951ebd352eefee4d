package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/safetensors"
	"github.com/lexsem/lexsem/internal/vec"
)

// Tensors of a static model: its table in sentence-transformers and in Model2Vec, the factors of the tokens, and the
// row of each token if several share one.
var staticTables = []string{"embedding.weight", "embeddings"}

const staticWeights, staticRows = "weights", "mapping"

// leastState is the first component of the state of a token that does not count, so that a text with only
// such tokens has a vector.
const leastState = 1e-6

// unknownText is a letter that no vocabulary contains.
const unknownText = "\U00012000"

// loadStatic reads the table of a static model, whose states are its rows: a model without layers. The mean of the
// states is the vector of a text. Tokens around texts and the unknown token of Model2Vec do not count: their states are
// nearly zero. Where the rows are of F32 or BF16, the file is mapped, so it must not be written in place: a new one takes
// its name.
func loadStatic(dir string, t *tokenizer.Tokenizer) (*model, error) {
	s, err := safetensors.Open(filepath.Join(dir, fileSafetensors))
	if err != nil {
		return nil, unusable(err)
	}
	m, err := staticOf(s, t)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrModel, dir, err)
	}
	return m, nil
}

func staticOf(s *safetensors.File, t *tokenizer.Tokenizer) (*model, error) {
	name := staticTables[0]
	if _, ok := s.Tensors[name]; !ok {
		name = staticTables[1]
	}
	shape := s.Tensors[name].Shape
	if len(shape) != 2 || shape[0] < 1 || shape[1] < 1 {
		return nil, fmt.Errorf("it has no table of vectors %q or %q", staticTables[0], staticTables[1])
	}
	n, rows, d := t.VocabSize(), int(shape[0]), int(shape[1])
	var of []int64
	var err error
	if _, ok := s.Tensors[staticRows]; ok {
		if of, err = s.Integers(staticRows); err != nil {
			return nil, err
		}
		if len(of) < n {
			return nil, fmt.Errorf("%d rows for %d tokens", len(of), n)
		}
	}
	var weights []float32
	if _, ok := s.Tensors[staticWeights]; ok {
		if weights, err = s.Floats(staticWeights); err != nil {
			return nil, err
		}
		if len(weights) < n {
			return nil, fmt.Errorf("%d weights for %d tokens", len(weights), n)
		}
	}
	unused := slices.Clone(t.Tokenize("", 0).IDs)
	if name == staticTables[1] {
		k := t.Tokenize(unknownText, 0)
		for i, id := range k.IDs {
			if k.Special[i] {
				unused = append(unused, id)
			}
		}
	}
	rowOf := func(id int) int {
		if of != nil {
			return int(of[id])
		}
		return id
	}
	for id := range n {
		if from := rowOf(id); from < 0 || from >= rows {
			return nil, fmt.Errorf("token %d has row %d of a table of %d", id, from, rows)
		}
	}
	read, file, err := staticReader(s, name)
	if err != nil {
		return nil, err
	}
	words := rowTable{d: d, stored: func(dst []float32, id int) error {
		if slices.Contains(unused, int32(id)) {
			clear(dst)
			dst[0] = leastState
			return nil
		}
		read(dst, rowOf(id))
		if weights != nil {
			vec.Scale(dst, weights[id])
		}
		return nil
	}}
	return &model{d: d, vocab: n, positions: modelspec.MaxTokens, word: 1, words: words, file: file, zero: make([]float32, d), kinds: make([]float32, d)}, nil
}

// staticReader returns a function that reads a row of a table, and what closes the table.
func staticReader(s *safetensors.File, name string) (func(dst []float32, row int), io.Closer, error) {
	kind := s.Tensors[name].DType
	if kind != "F32" && kind != "BF16" {
		table, err := s.Floats(name)
		return func(dst []float32, row int) { copy(dst, table[row*len(dst):]) }, nil, err
	}
	b, free, err := s.Map(name)
	if kind == "F32" {
		return func(dst []float32, row int) {
			copy(memory(dst), b[row*4*len(dst):])
			littleEndian(dst)
		}, closer(free), err
	}
	return func(dst []float32, row int) {
		widen(memory(dst), b[row*2*len(dst):])
		littleEndian(dst)
	}, closer(free), err
}

// widen makes numbers of BF16 float32, both little endian. One number at a time, encoding would take twice as long.
func widen(dst, src []byte) {
	for ; len(dst) >= 16 && len(src) >= 8; dst, src = dst[16:], src[8:] {
		u := binary.LittleEndian.Uint64(src)
		binary.LittleEndian.PutUint64(dst, u<<16&0xffff0000|u<<32&(0xffff<<48))
		binary.LittleEndian.PutUint64(dst[8:], u>>16&0xffff0000|u&(0xffff<<48))
	}
	for ; len(dst) >= 4; dst, src = dst[4:], src[2:] {
		binary.LittleEndian.PutUint32(dst, uint32(binary.LittleEndian.Uint16(src))<<16)
	}
}

// closer is a function as an io.Closer.
type closer func() error

func (c closer) Close() error { return c() }
