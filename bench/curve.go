package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/random"
)

// Amounts that a Curve can vary.
const (
	OverQueries  = "queries"  // training queries per passage
	OverSteps    = "steps"    // steps of gradient descent; an amount past the end gives the whole fit
	OverPassages = "passages" // passages of the corpus, drawn by the seed
)

// Curve holds the results of Run for several amounts of one thing.
type Curve struct {
	Data     string       `json:"data"`
	Encoder  string       `json:"encoder"`
	Seed     uint64       `json:"seed"`
	Version  string       `json:"version"`
	Over     string       `json:"over"`               // OverQueries, OverSteps or OverPassages
	Half     Half         `json:"half"`               // half of the queries that was searched; "all" for both
	Clean    bool         `json:"clean"`              // see Options.Clean
	Language string       `json:"language,omitempty"` // see Options.Language
	Points   []curvePoint `json:"points"`
}

// curvePoint is Run at one amount. Its results have no per-query scores.
type curvePoint struct {
	X       int            `json:"x"`
	Results []Result       `json:"results"`
	Fit     map[string]Fit `json:"fit"`
}

// RunCurve calls Run for each amount, in rising order. It gives the training curve of a bridge by
// steps (loss and gain, LexSemBridge Fig. 4) or by training queries, or the gain by corpus size. Every
// text is encoded once.
func RunCurve(ctx context.Context, enc encoder.Encoder, o Options, over string, amounts []int) (*Curve, error) {
	if over != OverQueries && over != OverSteps && over != OverPassages {
		return nil, fmt.Errorf("%w: a curve over %q; known are %s, %s and %s", ErrUnknownName, over, OverQueries, OverSteps, OverPassages)
	}
	amounts = slices.Compact(slices.Sorted(slices.Values(amounts)))
	if len(amounts) == 0 || amounts[0] < 1 {
		return nil, fmt.Errorf("%w: a curve needs amounts from 1, for example 1,2,4,8", ErrOption)
	}
	if o.CacheDir == "" {
		dir, err := os.MkdirTemp("", "lexsem-curve-")
		if err != nil {
			return nil, fmt.Errorf("keeping encodings between the points of a curve: %w", err)
		}
		defer os.RemoveAll(dir)
		o.CacheDir = dir
	}
	o.Cases, o.RunsDir = 0, ""
	c := &Curve{Over: over}
	for _, x := range amounts {
		at := o
		switch over {
		case OverQueries:
			at.QueriesPerPassage = x
		case OverSteps:
			at.FitSteps = x
		default:
			at.PassagesLimit = x
		}
		rep, err := Run(ctx, enc, at)
		if errors.Is(err, ErrNoQueries) && over == OverPassages {
			return nil, fmt.Errorf("with %d passages: %w", x, err)
		}
		if err != nil {
			return nil, err
		}
		c.Data, c.Encoder, c.Seed, c.Version = rep.Data, rep.Encoder, rep.Seed, rep.Version
		c.Half, c.Clean, c.Language = rep.Half, rep.Clean, rep.Language
		for i := range rep.Results {
			rep.Results[i].PerQuery = nil
		}
		if over == OverPassages {
			x = rep.Documents // a corpus may have fewer
		}
		c.Points = append(c.Points, curvePoint{X: x, Results: rep.Results, Fit: rep.Fit})
		if over == OverPassages && rep.Documents < at.PassagesLimit {
			break
		}
	}
	return c, nil
}

// Sample returns n passages, drawn by the seed, with their judgements and the queries that still have
// any. It returns c itself if n is 0 or at least the number of passages.
func (c *Corpus) Sample(n int, seed uint64) *Corpus {
	if n <= 0 || n >= len(c.Passages) {
		return c
	}
	order := random.New(seed, "corpus", "sample").Perm(len(c.Passages))[:n]
	slices.Sort(order)
	out := &Corpus{Name: c.Name, Dir: c.Dir, Parts: c.Parts, Qrels: Qrels{}, own: c.own, lacks: c.lacks}
	kept := map[string]bool{}
	for _, i := range order {
		out.Passages = append(out.Passages, c.Passages[i])
		kept[c.Passages[i].ID] = true
	}
	for _, q := range c.Queries {
		for passage, grade := range c.Qrels[q.ID] {
			if kept[passage] {
				if out.Qrels[q.ID] == nil {
					out.Qrels[q.ID] = map[string]int{}
				}
				out.Qrels[q.ID][passage] = grade
			}
		}
		if out.Qrels[q.ID] != nil {
			out.Queries = append(out.Queries, q)
		}
	}
	return out
}
