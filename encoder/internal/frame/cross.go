package frame

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/modelspec"
)

// Scorer scores pairs of texts. It may be called by several goroutines.
type Scorer interface {
	// Score scores the pairs of one batch; types[i] are the types of the tokens of pairs[i].
	Score(ctx context.Context, scores []float64, pairs []encoder.Output, types [][]int32, batch []int) error
	// Close frees the model. It is not called during other calls, and is the last call.
	Close() error
}

// Pair holds the settings for pairs in the folder of a cross-encoder.
type Pair struct {
	Name      string // of the model
	Most      int    // tokens of a pair
	Tokenizer encoder.Tokenizer
	*modelspec.Pairs
}

// LoadPair reads it. most, if not 0, replaces the model's own limit of tokens in a pair.
func LoadPair(dir string, most int) (p Pair, err error) {
	if p.Name, p.Most, err = modelspec.DescribeCross(dir); err != nil {
		return p, err
	}
	if most > 0 {
		p.Most = most
	}
	if p.Tokenizer, err = tokenizer.Load(filepath.Join(dir, "tokenizer.json")); err != nil {
		return p, err
	}
	if p.Pairs, err = modelspec.NewPairs(p.Tokenizer, p.Most); err != nil {
		return p, fmt.Errorf("%s: %w", dir, err)
	}
	return p, nil
}

// CrossEncoder reads a query and a text together, and scores how well the text answers it: an
// engine.Reranker.
type CrossEncoder struct {
	pair     Pair
	scorer   Scorer
	packing  Packing
	slots    Slots
	errModel error

	mu     sync.RWMutex // read-held by Rerank, so that Close waits
	closed bool
}

// NewCross makes a cross-encoder of a scorer, and closes the scorer on Close.
func NewCross(p Pair, s Scorer, packing Packing, workers int, errModel error) *CrossEncoder {
	return &CrossEncoder{pair: p, scorer: s, packing: packing, slots: NewSlots(workers), errModel: errModel}
}

// Name is the name of the folder, or the name in its lexsem-model.json.
func (c *CrossEncoder) Name() string { return c.pair.Name }

// Rerank implements engine.Reranker: it returns the model's score (its logit) for each text. A pair
// that is too long is cut, the longer part first. Cancellation takes effect between batches at the
// latest. Errors: encoder.ErrClosed, ErrModel of the model's package if the model refuses a batch or
// gives no finite score, ctx's error.
func (c *CrossEncoder) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return nil, encoder.ErrClosed
	}
	return c.pair.Score(ctx, query, texts, func(ctx context.Context, scores []float64, pairs []encoder.Output, types [][]int32) error {
		return c.slots.Run(ctx, c.packing.Pack(pairs), func(ctx context.Context, batch []int) error {
			return c.run(ctx, scores, pairs, types, batch)
		})
	})
}

func (c *CrossEncoder) run(ctx context.Context, scores []float64, pairs []encoder.Output, types [][]int32, batch []int) error {
	if err := c.scorer.Score(ctx, scores, pairs, types, batch); err != nil {
		return err
	}
	for _, i := range batch {
		if math.IsNaN(scores[i]) || math.IsInf(scores[i], 0) {
			return fmt.Errorf("%w: its score of a pair of %d tokens is %v", c.errModel, len(pairs[i].Tokens.IDs), scores[i])
		}
	}
	return nil
}

// Close waits for running calls of Rerank and frees the model. Rerank and a second Close answer
// encoder.ErrClosed.
func (c *CrossEncoder) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return encoder.ErrClosed
	}
	c.closed = true
	return c.scorer.Close()
}
