// Package tune chooses constants of a system on several corpora and says whether the choice holds on other
// queries. Start with Run. "lexsem bench tune" is its command.
package tune

import (
	"context"
	"errors"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/kinds"
	"github.com/lexsem/lexsem/internal/bench/memo"
	"github.com/lexsem/lexsem/internal/stat"
)

// Search methods of Run.
const (
	// coordinate tries the values of one constant at a time, with the best values of the others
	// so far, until none improves.
	coordinate = "coordinate"
	// grid tries every combination.
	grid = "grid"
)

// maxPoints is the maximum number of combinations of a grid.
const maxPoints = 10_000

// Options are the options of Run. Data and Systems of the embedded Options are ignored.
type Options struct {
	bench.Options
	// Data lists the corpora, each measured on its own. Each may be a union, see ReadCorpora.
	Data []string
	// System is the system to tune. "" means hybrid.
	System string
	// Trials are constants of System with the values to try. nil means all constants of its fusion, or
	// all of System if it is no fusion.
	Trials []Trial
	// Against are the rivals: System must beat each with its shipped constants. nil means DefaultRivals,
	// or dense if System is no fusion.
	Against []string
	// From is the start of the search and the baseline of comparisons, given as the differences from
	// the shipped constants. nil means the shipped ones.
	From constants.Values
	// Search is coordinate (also "") or grid.
	Search string
}

// DefaultRivals are the single systems and the fusions that hybrid must beat.
var DefaultRivals = []string{"dense", "rlr", "rlr-local", "bm25", "rrf:rlr", "convex:rlr"}

// Run chooses constants of a system on the dev half of the queries of several corpora, and compares
// them with the start on the test half. It chooses the best aim among constants with which
// no set of the dev half loses more than tolerance against the start. A task without queries on a
// corpus is left out there and named in the report.
//
// Memory: all corpora with their vectors, and their candidates (bench.Study).
func Run(ctx context.Context, enc encoder.Encoder, o Options) (report *Report, err error) {
	t, err := newTuner(o)
	if err != nil {
		return nil, err
	}
	enc, done, err := memo.Open(enc, o.CacheDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.encode(ctx, enc); err != nil {
		return nil, err
	}
	if err := t.measureRivals(ctx); err != nil {
		return nil, err
	}
	chosen, err := t.choose(ctx)
	if err != nil {
		return nil, err
	}
	return t.report(ctx, enc, chosen)
}

// tuner is the state of a Run.
type tuner struct {
	Options
	system  bench.System
	corpora []*bench.Study
	sets    []*tunedSet // tasks of all corpora in order
	left    []kinds.Name

	known map[string]*trial // by Constants.String
	start *trial
}

// tunedSet is a task of a corpus.
type tunedSet struct {
	name   kinds.Name
	dev    []bool // by scored query
	rivals [][]float64
}

// trial is the result of the system with some constants.
type trial struct {
	constants constants.Values
	scores    [][]float64 // set → query
	dev       aim
	loss      float64 // the most that a set of the dev half loses by the start
}

// close closes what encode has made.
func (t *tuner) close() (err error) {
	for _, c := range t.corpora {
		err = errors.Join(err, c.Close())
	}
	return err
}

// encode makes the settings and questions of all corpora.
func (t *tuner) encode(ctx context.Context, enc encoder.Encoder) error {
	for _, c := range t.corpora {
		if err := c.Encode(ctx, enc); err != nil {
			return err
		}
	}
	return nil
}

// measureRivals scores the systems to beat.
func (t *tuner) measureRivals(ctx context.Context) error {
	for _, name := range t.Against {
		s, err := bench.ParseSystem(name)
		if err != nil {
			return err
		}
		at := 0
		for _, c := range t.corpora {
			scores, err := c.Scores(ctx, s)
			if err != nil {
				return err
			}
			for _, of := range scores {
				t.sets[at].rivals = append(t.sets[at].rivals, of)
				at++
			}
		}
	}
	return nil
}

// values returns the scores of one half of the queries of a set.
func (s *tunedSet) values(of []float64, half bench.Half) []float64 {
	var out []float64
	for i, dev := range s.dev {
		if dev == (half == bench.DevHalf) {
			out = append(out, of[i])
		}
	}
	return out
}

// best is the rival that has the highest mean on a half.
func (s *tunedSet) best(half bench.Half) (rival int, mean float64) {
	rival = -1
	for i, scores := range s.rivals {
		if m := stat.Mean(s.values(scores, half)); rival < 0 || m > mean {
			rival, mean = i, m
		}
	}
	return rival, mean
}
