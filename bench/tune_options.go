package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench/internal/kinds"
)

func newTuner(o TuneOptions) (*tuner, error) {
	if o.System == "" {
		o.System = "hybrid"
	}
	if o.Metrics == nil {
		o.Metrics = []string{compareBy}
	}
	t := &tuner{TuneOptions: o, known: map[string]*trial{}}
	var err error
	if t.system, err = ParseSystem(o.System); err != nil {
		return nil, err
	}
	if err := t.checkTrials(); err != nil {
		return nil, err
	}
	if t.Against == nil {
		t.Against = []string{"dense"}
		if slices.ContainsFunc(t.system.Constants, reranks) {
			t.Against = DefaultRivals
		}
		t.Against = slices.DeleteFunc(slices.Clone(t.Against), func(name string) bool { return name == o.System })
	}
	if len(t.Against) == 0 {
		return nil, fmt.Errorf("%w: no system to compare %s with; name one", ErrOption, o.System)
	}
	if slices.Contains(t.Against, o.System) {
		return nil, fmt.Errorf("%w: %s against itself; name other systems", ErrOption, o.System)
	}
	if len(o.Data) == 0 {
		return nil, fmt.Errorf("%w: no corpus to choose constants on", ErrNoData)
	}
	for _, data := range o.Data {
		c, err := t.corpus(data)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(t.corpora, func(other *tuned) bool { return other.plan.corpus.Name == c.plan.corpus.Name }) {
			return nil, fmt.Errorf("%w: two corpora are called %q; name each once", ErrDuplicateID, c.plan.corpus.Name)
		}
		t.corpora = append(t.corpora, c)
	}
	for _, task := range t.Tasks {
		if !slices.ContainsFunc(t.corpora, func(c *tuned) bool {
			return slices.ContainsFunc(c.plan.tasks, func(has *Task) bool { return has.Name == task })
		}) {
			return nil, fmt.Errorf("%w: no corpus has queries of the task %s", ErrNoQueries, task)
		}
	}
	return t, nil
}

// checkTrials fills in the constants to try, and refuses those that the system does
// not read.
func (t *tuner) checkTrials() error {
	if t.Search == "" {
		t.Search = SearchCoordinate
	}
	if t.Search != SearchCoordinate && t.Search != searchGrid {
		return fmt.Errorf("%w: search %q; use %s or %s", ErrUnknownName, t.Search, SearchCoordinate, searchGrid)
	}
	if len(t.system.Constants) == 0 {
		return fmt.Errorf("%w: %s has no constants to choose; those that have are rlr, rlr-local, hybrid, rrf, convex and fitted stacks", ErrOption, t.System)
	}
	if t.Trials == nil {
		names := slices.DeleteFunc(slices.Clone(t.system.Constants), func(name string) bool { return !reranks(name) })
		if len(names) == 0 {
			names = t.system.Constants
		}
		for _, name := range names {
			c, err := constantNamed(name)
			if err != nil {
				return err
			}
			t.Trials = append(t.Trials, Trial{c.Name, c.Try})
		}
	}
	from := Constants{}
	for name, v := range t.From {
		if err := (Trial{name, []float64{v}}).check(); err != nil {
			return err
		}
		if !slices.Contains(t.system.Constants, name) {
			return fmt.Errorf("%w: %s does not depend on %s; its constants are %s", ErrOption, t.System, name, strings.Join(t.system.Constants, ", "))
		}
		from = from.with(name, v)
	}
	t.From = from
	points := 1
	for i, trial := range t.Trials {
		if err := trial.check(); err != nil {
			return err
		}
		if !slices.Contains(t.system.Constants, trial.Name) {
			return fmt.Errorf("%w: %s does not depend on %s; its constants are %s", ErrOption, t.System, trial.Name, strings.Join(t.system.Constants, ", "))
		}
		if slices.ContainsFunc(t.Trials[:i], func(other Trial) bool { return other.Name == trial.Name }) {
			return fmt.Errorf("%w: %s is given twice; name it once with all values", ErrDuplicateID, trial.Name)
		}
		if points *= len(trial.Values) + 1; t.Search == searchGrid && points > maxPoints {
			return fmt.Errorf("%w: a grid of more than %d points; try fewer values, or the search %s", ErrOption, maxPoints, SearchCoordinate)
		}
	}
	return nil
}

// corpus reads a corpus and makes those of the tasks that it has queries of.
func (t *tuner) corpus(data string) (*tuned, error) {
	o := t.Options
	o.Data, o.Half = data, AllQueries
	o.Systems = append(slices.Clone(t.Against), t.System)
	var left []string
	o.without = func(task string, err error) bool {
		if !errors.Is(err, ErrNoQueries) && !errors.Is(err, ErrNoData) && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		left = append(left, task)
		return true
	}
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	t.Seed, t.Tasks = p.Seed, p.Options.Tasks
	for _, task := range left {
		t.left = append(t.left, kinds.Name{Corpus: p.corpus.Name, Task: task})
	}
	c := &tuned{plan: p}
	in := TaskInput{Corpus: p.corpus, Half: DevHalf}
	for _, task := range p.tasks {
		set := &tunedSet{name: kinds.Name{Corpus: p.corpus.Name, Task: task.Name}}
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
