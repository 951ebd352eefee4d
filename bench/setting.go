package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/modulate"
)

// Progress reports long work. Done counts up to Total.
type Progress struct {
	Stage string // "encode", "encode questions", "fit rlr+slr", "search dense keyword"
	Done  int
	Total int
	Loss  float64 // present training loss, or 0
}

// Setting is what all systems of a run share: the corpus as encoded once, and
// one exact index over it. Systems are prepared one after another.
type Setting struct {
	Encoder  encoder.Encoder
	Targets  *Targets
	Passages []encoder.Output // Tokens and Dense of each target
	// Index holds the vector of target i under the id i, so its ties by id
	// are ties by target.
	Index index.BatchSearcher

	Seed              uint64
	QueriesPerPassage int // see Options
	MaxFitQueries     int
	progress          func(Progress)

	sums  *modulate.Sums // see corpusSums
	words *lexicon       // see lexicon
}

// Report hands p to the caller of Run.
func (s *Setting) Report(p Progress) {
	if s.progress != nil {
		s.progress(p)
	}
}

// encodeBatch is the number of texts between two reports of progress.
const encodeBatch = 256

// encodeAll encodes texts in one role, in batches, reporting after each.
func encodeAll(ctx context.Context, enc encoder.Encoder, role encoder.Role, texts []string, need encoder.Need, report func(done int)) ([]encoder.Output, error) {
	out := make([]encoder.Output, 0, len(texts))
	for at := 0; at < len(texts); at += encodeBatch {
		part, err := enc.Encode(ctx, role, texts[at:min(at+encodeBatch, len(texts))], need)
		if err != nil {
			return nil, fmt.Errorf("encoding %s texts: %w", role, err)
		}
		out = append(out, part...)
		report(len(out))
	}
	return out, nil
}

// vectorRetriever answers a question by the exact nearest neighbours of a
// vector that is made from it.
type vectorRetriever struct {
	setting *Setting
	// vector appends the query vector [d] to dst. Safe for concurrent use.
	vector func(dst []float32, q Question) []float32
}

// retrieveBatch is the number of questions answered between two looks at ctx.
const retrieveBatch = 1024

// Retrieve makes the vectors and searches on all cores.
func (r vectorRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	d := r.setting.Index.Dim()
	out := make([][]Hit, 0, len(questions))
	near := make([][]index.Neighbor, retrieveBatch)
	vectors := make([]float32, retrieveBatch*d)
	for len(out) < len(questions) {
		batch := questions[len(out):min(len(out)+retrieveBatch, len(questions))]
		err := parallel(ctx, len(batch), func(i int) error {
			v := r.vector(vectors[i*d:i*d:(i+1)*d], batch[i])
			if len(v) != d {
				return fmt.Errorf("the query vector of %q has length %d, the index %d", batch[i].Text, len(v), d)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		near := near[:len(batch)]
		if err := r.setting.Index.SearchBatch(near, vectors[:len(batch)*d], index.SearchOptions{K: k}); err != nil {
			return nil, fmt.Errorf("searching: %w", err)
		}
		for _, answer := range near {
			hits := make([]Hit, len(answer))
			for j, n := range answer {
				hits[j] = Hit{Target: int(n.ID), Score: 1 - float64(n.Distance)}
			}
			out = append(out, hits)
		}
	}
	return out, nil
}

// newExact makes an empty index that finds the exact neighbours by cosine.
func newExact(dim int) (index.BatchSearcher, error) {
	ix, err := index.New(index.KindFlat, index.Options{Dim: dim})
	if err != nil {
		return nil, fmt.Errorf("making the exact index: %w", err)
	}
	return ix.(index.BatchSearcher), nil // every index that New returns is one
}

// parallel calls fn for 0 … n-1 on all cores. The first error, or the end of
// ctx, stops it.
func parallel(ctx context.Context, n int, fn func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := fn(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
