package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/bench/internal/kinds"
	"github.com/lexsem/lexsem/bench/internal/memo"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/stat"
)

// Search methods of Tune.
const (
	// SearchCoordinate tries the values of one constant at a time, with the best values of the others
	// so far, until none improves.
	SearchCoordinate = "coordinate"
	// searchGrid tries every combination.
	searchGrid = "grid"
)

// maxPoints is the maximum number of combinations of a grid.
const maxPoints = 10_000

// TuneOptions are the options of Tune. Data and Systems of the embedded Options are ignored.
type TuneOptions struct {
	Options
	// Data lists the corpora, each measured on its own. Each may be a union, see ReadCorpora.
	Data []string
	// System is the system to tune. "" means hybrid.
	System string
	// Trials are constants of System with the values to try. nil means all constants of its fusion, or
	// all of System if it is no fusion.
	Trials []Trial
	// Against are the systems, with shipped constants, that System must beat. nil means DefaultRivals,
	// or dense if System is no fusion.
	Against []string
	// From is the start of the search and the baseline of comparisons, given as the differences from
	// the shipped constants. nil means the shipped ones.
	From Constants
	// Search is SearchCoordinate (also "") or searchGrid.
	Search string
}

// DefaultRivals are the single systems and the fusions that hybrid must beat.
var DefaultRivals = []string{"dense", "rlr", "rlr-local", "bm25", "rrf:rlr", "convex:rlr"}

// Tune chooses constants of a system on the dev half of the queries of several corpora, and compares
// them with the start on the test half. It chooses the best aim (see Aim) among constants with which
// no set of the dev half loses more than Tolerance against the start. A task without queries on a
// corpus is left out there and named in the report.
//
// Every text is encoded once. Candidates of a fusion are computed once for each value of the constants
// that affect them. Memory: all corpora with their vectors, and some 20 KiB of candidates per query of
// a fusion.
func Tune(ctx context.Context, enc encoder.Encoder, o TuneOptions) (report *TuneReport, err error) {
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

// tuner is a Tune at work.
type tuner struct {
	TuneOptions
	system  System
	corpora []*tuned
	sets    []*tunedSet // tasks of all corpora in order
	left    []kinds.Name

	prepared string            // the constants that candidates are of
	known    map[string]*trial // by Constants.String
	start    *trial
}

// tuned is a corpus with what is asked of it.
type tuned struct {
	plan      *plan
	setting   *Setting
	questions [][]Question

	retriever  Retriever              // of the system, as prepared
	candidates [][][]fusion.Candidate // of a fusion: task → query
}

// tunedSet is a task of a corpus.
type tunedSet struct {
	name   kinds.Name
	dev    []bool // by scored query
	rivals [][]float64
}

// trial is what the system finds with some constants.
type trial struct {
	constants Constants
	scores    [][]float64 // set → query
	dev       tuneAim
	loss      float64 // the most that a set of the dev half loses by the start
}

// close ends what encode has made.
func (t *tuner) close() (err error) {
	for _, c := range t.corpora {
		if c.setting != nil {
			err = errors.Join(err, c.setting.Close())
		}
	}
	return err
}

// encode makes the settings and questions of all corpora.
func (t *tuner) encode(ctx context.Context, enc encoder.Encoder) error {
	for _, c := range t.corpora {
		p := c.plan
		var err error
		if c.setting, err = p.setting(ctx, enc); err != nil {
			return err
		}
		if c.questions, err = p.encodeQuestions(ctx, c.setting); err != nil {
			return err
		}
	}
	return nil
}

// measureRivals scores the systems to beat.
func (t *tuner) measureRivals(ctx context.Context) error {
	for _, name := range t.Against {
		s, err := ParseSystem(name)
		if err != nil {
			return err
		}
		at := 0
		for _, c := range t.corpora {
			r, _, err := s.Prepare(ctx, c.setting)
			if err != nil {
				return fmt.Errorf("preparing system %s: %w", name, err)
			}
			for i, task := range c.plan.tasks {
				c.setting.Report(Progress{Stage: "search " + name + " " + task.Name + " of " + c.plan.corpus.Name, Total: len(task.Queries)})
				scores, err := c.asked(ctx, i, r)
				if err != nil {
					return err
				}
				t.sets[at].rivals = append(t.sets[at].rivals, scores)
				at++
			}
		}
	}
	return nil
}

// values are the scores of one half of the queries of a set.
func (s *tunedSet) values(of []float64, half Half) []float64 {
	var out []float64
	for i, dev := range s.dev {
		if dev == (half == DevHalf) {
			out = append(out, of[i])
		}
	}
	return out
}

// best is the rival that has the highest mean on a half.
func (s *tunedSet) best(half Half) (rival int, mean float64) {
	rival = -1
	for i, scores := range s.rivals {
		if m := stat.Mean(s.values(scores, half)); rival < 0 || m > mean {
			rival, mean = i, m
		}
	}
	return rival, mean
}
