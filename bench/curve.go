package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/lexsem/lexsem/encoder"
)

// What a curve can run over.
const (
	OverQueries  = "queries"  // training queries for each passage
	OverSteps    = "steps"    // of a descent; past its end the whole fit
	OverPassages = "passages" // passages of the corpus, drawn by the seed
)

// Curve is a bench measured at several amounts of one thing.
type Curve struct {
	Data    string       `json:"data"`
	Encoder string       `json:"encoder"`
	Seed    uint64       `json:"seed"`
	Version string       `json:"version"`
	Over    string       `json:"over"`  // OverQueries, OverSteps or OverPassages
	Half    Half         `json:"half"`  // of the queries that was asked; "all" for both
	Clean   bool         `json:"clean"` // see Options
	Points  []CurvePoint `json:"points"`
}

// CurvePoint is the bench at one amount; its results carry no scores of single
// queries.
type CurvePoint struct {
	X       int            `json:"x"`
	Results []Result       `json:"results"`
	Fit     map[string]Fit `json:"fit"`
}

// RunCurve runs the bench once for each amount, in rising order: the training
// curve of a bridge (loss and gain by step, LexSemBridge Fig. 4, or by training queries) or the gain against the size of the corpus. Every text is encoded
// once.
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
		c.Half, c.Clean = rep.Half, rep.Clean
		for i := range rep.Results {
			rep.Results[i].PerQuery = nil
		}
		if over == OverPassages {
			x = rep.Documents // a corpus may have fewer
		}
		c.Points = append(c.Points, CurvePoint{X: x, Results: rep.Results, Fit: rep.Fit})
		if over == OverPassages && rep.Documents < at.PassagesLimit {
			break
		}
	}
	return c, nil
}

// Sample keeps n passages, drawn by the seed, with their judgements, and the
// queries that still have any; c itself where n is 0 or no less than there
// are.
func (c *Corpus) Sample(n int, seed uint64) *Corpus {
	if n <= 0 || n >= len(c.Passages) {
		return c
	}
	order := newRand(seed, "corpus", "sample").Perm(len(c.Passages))[:n]
	slices.Sort(order)
	out := &Corpus{Name: c.Name, Dir: c.Dir, Parts: c.Parts, Qrels: Qrels{}}
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
