package tune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/kinds"
)

func newTuner(o Options) (*tuner, error) {
	if o.System == "" {
		o.System = "hybrid"
	}
	if o.Metrics == nil {
		o.Metrics = []string{"ndcg@10"}
	}
	t := &tuner{Options: o, known: map[string]*trial{}}
	var err error
	if t.system, err = bench.ParseSystem(o.System); err != nil {
		return nil, err
	}
	if err := t.checkTrials(); err != nil {
		return nil, err
	}
	if t.Against == nil {
		t.Against = []string{"dense"}
		if slices.ContainsFunc(t.system.Constants, constants.Reranks) {
			t.Against = DefaultRivals
		}
		t.Against = slices.DeleteFunc(slices.Clone(t.Against), func(name string) bool { return name == o.System })
	}
	if len(t.Against) == 0 {
		return nil, fmt.Errorf("%w: no system to compare %s with; name one", bench.ErrOption, o.System)
	}
	if slices.Contains(t.Against, o.System) {
		return nil, fmt.Errorf("%w: %s against itself; name other systems", bench.ErrOption, o.System)
	}
	if len(o.Data) == 0 {
		return nil, fmt.Errorf("%w: no corpus to choose constants on", bench.ErrNoData)
	}
	for _, data := range o.Data {
		c, err := t.corpus(data)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(t.corpora, func(other *bench.Study) bool { return other.Corpus.Name == c.Corpus.Name }) {
			return nil, fmt.Errorf("%w: two corpora are called %q; name each once", bench.ErrDuplicateID, c.Corpus.Name)
		}
		t.corpora = append(t.corpora, c)
	}
	for _, task := range t.Tasks {
		if !slices.ContainsFunc(t.corpora, func(c *bench.Study) bool {
			return slices.ContainsFunc(c.Tasks, func(has *bench.Task) bool { return has.Name == task })
		}) {
			return nil, fmt.Errorf("%w: no corpus has queries of the task %s", bench.ErrNoQueries, task)
		}
	}
	return t, nil
}

// checkTrials fills in the constants to try, and refuses those that the system does
// not read.
func (t *tuner) checkTrials() error {
	if t.Search == "" {
		t.Search = coordinate
	}
	if t.Search != coordinate && t.Search != grid {
		return fmt.Errorf("%w: search %q; use %s or %s", bench.ErrUnknownName, t.Search, coordinate, grid)
	}
	if len(t.system.Constants) == 0 {
		return fmt.Errorf("%w: %s has no constants to choose; those that have are rlr, rlr-local, hybrid, rrf, convex and fitted stacks", bench.ErrOption, t.System)
	}
	if t.Trials == nil {
		names := slices.DeleteFunc(slices.Clone(t.system.Constants), func(name string) bool { return !constants.Reranks(name) })
		if len(names) == 0 {
			names = t.system.Constants
		}
		for _, name := range names {
			c, err := named(name)
			if err != nil {
				return err
			}
			t.Trials = append(t.Trials, Trial{c.Name, c.Try})
		}
	}
	from := constants.Values{}
	for name, v := range t.From {
		if err := (Trial{name, []float64{v}}).check(); err != nil {
			return err
		}
		if !slices.Contains(t.system.Constants, name) {
			return fmt.Errorf("%w: %s does not depend on %s; its constants are %s", bench.ErrOption, t.System, name, strings.Join(t.system.Constants, ", "))
		}
		from = from.With(name, v)
	}
	t.From = from
	points := 1
	for i, trial := range t.Trials {
		if err := trial.check(); err != nil {
			return err
		}
		if !slices.Contains(t.system.Constants, trial.Name) {
			return fmt.Errorf("%w: %s does not depend on %s; its constants are %s", bench.ErrOption, t.System, trial.Name, strings.Join(t.system.Constants, ", "))
		}
		if slices.ContainsFunc(t.Trials[:i], func(other Trial) bool { return other.Name == trial.Name }) {
			return fmt.Errorf("%w: %s is given twice; name it once with all values", bench.ErrDuplicateID, trial.Name)
		}
		if points *= len(trial.Values) + 1; t.Search == grid && points > maxPoints {
			return fmt.Errorf("%w: a grid of more than %d points; try fewer values, or the search %s", bench.ErrOption, maxPoints, coordinate)
		}
	}
	return nil
}

// corpus reads a corpus and makes those tasks for which it has queries.
func (t *tuner) corpus(data string) (*bench.Study, error) {
	o := t.Options.Options
	o.Data, o.Half = data, bench.AllQueries
	o.Systems = append(slices.Clone(t.Against), t.System)
	c, err := bench.NewStudy(o)
	if err != nil {
		return nil, err
	}
	t.Seed, t.Tasks = c.Options.Seed, c.Options.Tasks
	for _, task := range c.LeftOut {
		t.left = append(t.left, kinds.Name{Corpus: c.Corpus.Name, Task: task})
	}
	in := bench.TaskInput{Corpus: c.Corpus, Half: bench.DevHalf}
	for _, task := range c.Tasks {
		set := &tunedSet{name: kinds.Name{Corpus: c.Corpus.Name, Task: task.Name}}
		var ids []string
		for _, q := range task.Queries {
			if task.Qrels.HasPositive(q.ID) {
				ids = append(ids, q.ID)
			}
		}
		slices.Sort(ids) // as Evaluate has them
		for _, id := range ids {
			set.dev = append(set.dev, in.Asks(id))
		}
		t.sets = append(t.sets, set)
	}
	return c, nil
}
