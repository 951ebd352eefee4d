// Package repeat measures as bench.Run does, several times: for several amounts of training or of passages
// ([RunCurve]), or for several seeds ([RunSeeds]). Every text is encoded once. Package report reads and shows both.
package repeat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
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
	Half     bench.Half   `json:"half"`               // half of the queries that was searched; "all" for both
	Clean    bool         `json:"clean"`              // see Options.Clean
	Language string       `json:"language,omitempty"` // see Options.Language
	Points   []curvePoint `json:"points"`
}

// curvePoint is Run at one amount. Its results have no per-query scores.
type curvePoint struct {
	X       int                  `json:"x"`
	Results []bench.Result       `json:"results"`
	Fit     map[string]bench.Fit `json:"fit"`
}

// RunCurve calls Run for each amount, in rising order. It gives the training curve of a bridge by
// steps (loss and gain, LexSemBridge Fig. 4) or by training queries, or the gain by corpus size. Every
// text is encoded once.
func RunCurve(ctx context.Context, enc encoder.Encoder, o bench.Options, over string, amounts []int) (*Curve, error) {
	if over != OverQueries && over != OverSteps && over != OverPassages {
		return nil, fmt.Errorf("%w: a curve over %q; known are %s, %s and %s", bench.ErrUnknownName, over, OverQueries, OverSteps, OverPassages)
	}
	amounts = slices.Compact(slices.Sorted(slices.Values(amounts)))
	if len(amounts) == 0 || amounts[0] < 1 {
		return nil, fmt.Errorf("%w: a curve needs amounts from 1, for example 1,2,4,8", bench.ErrOption)
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
		rep, err := bench.Run(ctx, enc, at)
		if errors.Is(err, bench.ErrNoQueries) && over == OverPassages {
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

// Asked is Report.Asked for the reports of the curve.
func (c *Curve) Asked(sep string) string {
	return (&bench.Report{Half: c.Half, Clean: c.Clean, Language: c.Language}).Asked(sep)
}
