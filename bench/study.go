package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/parallel"
)

// Study is a corpus on which a system is tried with several constants. Every text is encoded once.
// Candidates of a fusion are computed once for each value of the constants that affect them, which
// takes some 20 KiB of memory per query.
type Study struct {
	Options Options // those of NewStudy, with defaults
	Corpus  *Corpus
	Tasks   []*Task
	LeftOut []string // tasks without queries on the corpus
	Metric  string   // the first of Options.Metrics, by which systems are compared

	plan      *plan
	setting   *Setting
	questions [][]Question // by task

	retriever  Retriever              // of the system that is tried, as prepared
	prepared   string                 // the system and the constants that it is prepared with
	candidates [][][]fusion.Candidate // of a fusion: task → query
}

// NewStudy reads the corpus and makes the tasks. It leaves out a task without queries.
func NewStudy(o Options) (*Study, error) {
	s := &Study{}
	o.without = func(task string, err error) bool {
		if !errors.Is(err, ErrNoQueries) && !errors.Is(err, ErrNoData) && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		s.LeftOut = append(s.LeftOut, task)
		return true
	}
	var err error
	if s.plan, err = newPlan(o); err != nil {
		return nil, err
	}
	s.Options, s.Corpus, s.Tasks, s.Metric = s.plan.Options, s.plan.corpus, s.plan.tasks, s.plan.metrics[0].Name
	return s, nil
}

// Encode encodes the passages and the queries. It must be called before Scores and Try.
func (s *Study) Encode(ctx context.Context, enc encoder.Encoder) (err error) {
	if s.setting, err = s.plan.setting(ctx, enc); err != nil {
		return err
	}
	s.questions, err = s.plan.encodeQuestions(ctx, s.setting)
	return err
}

// Close ends what systems opened.
func (s *Study) Close() error {
	if s.setting == nil {
		return nil
	}
	return s.setting.Close()
}

// Scores measures a system with shipped constants: the first metric of each task, by query, sorted by
// query id.
func (s *Study) Scores(ctx context.Context, system System) (scores [][]float64, err error) {
	r, _, err := s.setting.Prepare(ctx, system)
	if err != nil {
		return nil, fmt.Errorf("preparing system %s: %w", system.Name, err)
	}
	scores = make([][]float64, len(s.Tasks))
	for i, task := range s.Tasks {
		s.setting.Report(Progress{Stage: "search " + system.Name + " " + task.Name + " of " + s.Corpus.Name, Total: len(task.Queries)})
		if scores[i], err = s.asked(ctx, i, r); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// Try is Scores with other constants.
func (s *Study) Try(ctx context.Context, system System, cs constants.Values) (scores [][]float64, err error) {
	if err := s.prepare(ctx, system, cs); err != nil {
		return nil, err
	}
	scores = make([][]float64, len(s.Tasks))
	for i, task := range s.Tasks {
		if scores[i], err = s.try(ctx, i, cs); err != nil {
			return nil, fmt.Errorf("task %s of %s: %w", task.Name, s.Corpus.Name, err)
		}
	}
	return scores, nil
}

// depth is the number of passages that a query of a task finds.
func (s *Study) depth(task int) int {
	return min(s.Tasks[task].retrieved(s.plan.depth), s.plan.targets.Len())
}

// asked returns the scores of a system on a task.
func (s *Study) asked(ctx context.Context, task int, r Retriever) ([]float64, error) {
	hits, err := r.Retrieve(ctx, s.questions[task], s.depth(task))
	if err != nil {
		return nil, err
	}
	return s.scores(task, hits)
}

func (s *Study) scores(task int, hits [][]Hit) ([]float64, error) {
	t := s.Tasks[task]
	m := s.plan.metrics[:1]
	scored, err := Evaluate(t.Qrels, t.rankings(s.plan.targets, hits, m[0].depth()), m)
	if err != nil {
		return nil, err
	}
	return scored.Values[m[0].Name], nil
}

// prepare does the searches that cs needs, unless they were done before. Reranking comes later.
func (s *Study) prepare(ctx context.Context, system System, cs constants.Values) (err error) {
	slow := cs
	if system.fuses {
		slow = cs.Only(func(name string) bool { return !constants.Reranks(name) })
	}
	key := system.Name + " " + slow.String()
	if s.prepared == key {
		return nil
	}
	s.prepared, s.candidates = "", nil
	s.setting.Constants = slow
	s.retriever, _, err = system.Prepare(ctx, s.setting)
	s.setting.Constants = nil
	if err != nil {
		return err
	}
	if f, ok := s.retriever.(fusedRetriever); ok {
		for i, task := range s.Tasks {
			s.setting.Report(Progress{Stage: "candidates of " + task.Name + " of " + s.Corpus.Name, Total: len(task.Queries)})
			cs, err := f.gather(ctx, s.questions[i], max(fusionDepth, 2*s.depth(i)))
			if err != nil {
				return err
			}
			s.candidates = append(s.candidates, cs)
		}
	}
	s.prepared = key
	return nil
}

func (s *Study) try(ctx context.Context, task int, cs constants.Values) ([]float64, error) {
	if s.candidates == nil {
		return s.asked(ctx, task, s.setting.whole(s.retriever))
	}
	f := s.retriever.(fusedRetriever)
	hits := make([][]Hit, len(s.questions[task]))
	err := parallel.Each(ctx, len(hits), func(i int) error {
		some := slices.Clone(s.candidates[task][i])
		if err := f.fuse(ctx, cs, some, s.questions[task][i]); err != nil {
			return err
		}
		hits[i] = s.setting.firstTexts(some, s.depth(task))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.scores(task, hits)
}
