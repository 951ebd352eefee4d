package native

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/safetensors"
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
// nearly zero.
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
	table, err := s.Floats(name)
	if err != nil {
		return nil, err
	}
	n, rows, d := t.VocabSize(), int(shape[0]), int(shape[1])
	var of []int64
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
	unused := map[int32]bool{}
	for _, id := range t.Tokenize("", 0).IDs {
		unused[id] = true
	}
	if name == staticTables[1] {
		k := t.Tokenize(unknownText, 0)
		for i, id := range k.IDs {
			unused[id] = unused[id] || k.Special[i]
		}
	}
	words := make([]float32, n*d)
	for id := range n {
		from := id
		if of != nil {
			from = int(of[id])
		}
		if from < 0 || from >= rows {
			return nil, fmt.Errorf("token %d has row %d of a table of %d", id, from, rows)
		}
		to := words[id*d : id*d+d]
		copy(to, table[from*d:])
		for k := range to {
			if weights != nil {
				to[k] *= weights[id]
			}
		}
		if unused[int32(id)] {
			clear(to)
			to[0] = leastState
		}
	}
	return &model{d: d, vocab: n, positions: modelspec.MaxTokens, word: 1, words: rowTable{d: d, floats: words}, zero: make([]float32, d), kinds: make([]float32, d)}, nil
}
