package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/internal/frame"
	"github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/safetensors"
)

// A SparseEncoder that needs no model for queries gives each of their tokens the weight that a table has for it
// (SparseStaticEmbedding of sentence-transformers): its idf, or a weight that was learned.

const (
	queryWeights = "weight"   // the tensor of the table
	fileIDF      = "idf.json" // the table by token, where there is no tensor
	maxIDFBytes  = 1 << 26
)

// addQueries lets e weigh queries by the table in dir. Their weights and those of passages have scales of their own, and
// a score is a share of what a query has with itself. So one factor for all weights makes that, over the probe texts, as
// large as what a text has as query and as passage; the order of passages does not change.
func addQueries(ctx context.Context, e *frame.Encoder, dir string, t *tokenizer.Tokenizer) error {
	table, err := queryTable(dir, t)
	if err != nil {
		return err
	}
	out, err := e.Encode(ctx, encoder.Passage, encoder.Texts(encoder.ProbeTexts[:]...), encoder.NeedLogits)
	if err != nil {
		return err
	}
	both, self := 0.0, 0.0
	for i, text := range encoder.ProbeTexts {
		ids := e.Tokenize(encoder.Query, text).IDs
		slices.Sort(ids)
		for _, word := range slices.Compact(ids) {
			w := float64(table[word])
			both, self = both+w*math.Log1p(max(0, float64(out[i].Logits[word]))), self+w*w
		}
	}
	factor := 1.0
	if both > 0 {
		factor = both / self
	}
	for word, w := range table {
		table[word] = float32(math.Expm1(factor * float64(w)))
	}
	e.WeighQueries(table)
	return nil
}

// queryTable reads the weight of each token in a query, 0 for those around a text.
func queryTable(dir string, t *tokenizer.Tokenizer) ([]float32, error) {
	own, err := tokenizer.Load(filepath.Join(dir, fileTokenizer))
	if err == nil && own.Digest() != t.Digest() {
		return nil, fmt.Errorf("%w: %s has another tokenizer than the model of passages, so that their words differ; save both with one", ErrModel, dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	table, err := storedWeights(dir, t)
	if err != nil {
		return nil, err
	}
	for word, w := range table {
		if !(w >= 0) || math.IsInf(float64(w), 0) {
			return nil, fmt.Errorf("%w: %s: token %q has the weight %v in queries; a weight is a number from 0", ErrModel, dir, t.Token(int32(word)), w)
		}
	}
	for _, id := range t.Tokenize("", 0).IDs {
		table[id] = 0
	}
	return table, nil
}

func storedWeights(dir string, t *tokenizer.Tokenizer) ([]float32, error) {
	table := make([]float32, t.VocabSize())
	s, err := safetensors.Open(filepath.Join(dir, fileSafetensors))
	if err == nil {
		defer s.Close()
		ws, err := s.Floats(queryWeights)
		if err == nil && len(ws) < len(table) {
			err = fmt.Errorf("%d weights for %d tokens", len(ws), len(table))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrModel, dir, err)
		}
		copy(table, ws)
		return table, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, unusable(err)
	}
	b, err := regular.ReadFile(filepath.Join(dir, fileIDF), maxIDFBytes)
	if err != nil {
		return nil, err
	}
	var of map[string]float32
	if err := json.Unmarshal(b, &of); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrModel, filepath.Join(dir, fileIDF), err)
	}
	for id := range table {
		table[id] = of[t.Token(int32(id))]
	}
	return table, nil
}
