package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench/stat"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
)

// Ways to search for the best values.
const (
	// SearchCoordinate tries the values of one constant after the other, each with
	// the best of the others so far, until none gets better.
	SearchCoordinate = "coordinate"
	// SearchGrid tries every combination.
	SearchGrid = "grid"
)

// MaxPoints bounds the combinations of a grid.
const MaxPoints = 10_000

// TuneOptions say what Tune measures. Options.Data and Systems do not count.
type TuneOptions struct {
	Options
	// Data are the corpora, each for itself; each may be a union, see ReadCorpora.
	Data []string
	// System whose constants are chosen; "" means hybrid.
	System string
	// Trials are constants of System with the values to try. nil means all that its
	// fusion has, else all of System.
	Trials []Trial
	// Against are the systems that System has to beat, with shipped constants; nil
	// means DefaultRivals, of a system that is no fusion dense.
	Against []string
	// From is the setting that the search begins with and that others are compared
	// with, by what differs from the shipped one; nil means the shipped one.
	From Constants
	// Search is SearchCoordinate (also "") or SearchGrid.
	Search string
}

// DefaultRivals are the single systems and the fusions that hybrid has to beat.
var DefaultRivals = []string{"dense", "rlr", "rlr-local", "bm25", "rrf:rlr", "convex:rlr"}

// Tune chooses constants of a system on the dev half of the queries of several
// corpora and tells what they give on the test half, beside those it began with. Chosen
// is the best aim (see Aim) of those with which no set of the dev half loses more than
// Tolerance by what it began with. A task
// that a corpus has no queries of is left out there, and named. Every text is encoded
// once, candidates of a fusion are found once for each value of what names them. All
// corpora are in memory with their vectors, and some 20 KiB of candidates for each
// query of a fusion.
func Tune(ctx context.Context, enc encoder.Encoder, o TuneOptions) (report *TuneReport, err error) {
	t, err := newTuner(o)
	if err != nil {
		return nil, err
	}
	enc, done, err := Cached(enc, o.CacheDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
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
	left    []TaskName

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
	name   TaskName
	dev    []bool // by scored query
	rivals [][]float64
}

// trial is what the system finds with some constants.
type trial struct {
	constants Constants
	scores    [][]float64 // set → query
	dev       Aim
	loss      float64 // the most that a set of the dev half loses by the start
}

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
	if t.Search != SearchCoordinate && t.Search != SearchGrid {
		return fmt.Errorf("%w: search %q; use %s or %s", ErrUnknownName, t.Search, SearchCoordinate, SearchGrid)
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
			c, err := ConstantNamed(name)
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
		if points *= len(trial.Values) + 1; t.Search == SearchGrid && points > MaxPoints {
			return fmt.Errorf("%w: a grid of more than %d points; try fewer values, or the search %s", ErrOption, MaxPoints, SearchCoordinate)
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
		t.left = append(t.left, TaskName{p.corpus.Name, task})
	}
	c := &tuned{plan: p}
	in := TaskInput{Corpus: p.corpus, Half: DevHalf}
	for _, task := range p.tasks {
		set := &tunedSet{name: TaskName{p.corpus.Name, task.Name}}
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

// encode makes the settings and questions of all corpora.
func (t *tuner) encode(ctx context.Context, enc encoder.Encoder) error {
	for _, c := range t.corpora {
		p := c.plan
		var err error
		c.setting, err = NewSetting(ctx, enc, p.targets, SettingOptions{
			Seed: p.Seed, QueriesPerPassage: p.QueriesPerPassage, MaxFitQueries: p.MaxFitQueries, Clean: p.Clean,
			CacheDir: p.CacheDir, Index: p.Index, Ef: p.Ef, Asked: p.asked, LeftOut: p.leftOut, Progress: p.Progress,
		})
		if err != nil {
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

// asked are the scores of a system on a task.
func (c *tuned) asked(ctx context.Context, task int, r Retriever) ([]float64, error) {
	hits, err := r.Retrieve(ctx, c.questions[task], min(c.plan.depth, c.plan.targets.Len()))
	if err != nil {
		return nil, err
	}
	return c.scores(task, hits)
}

func (c *tuned) scores(task int, hits [][]Hit) ([]float64, error) {
	t := c.plan.tasks[task]
	m := c.plan.metrics[:1]
	s, err := Evaluate(t.Qrels, t.rankings(c.plan.targets, hits, m[0].K), m)
	if err != nil {
		return nil, err
	}
	return s.Values[m[0].Name], nil
}

// try measures the system with constants, or remembers it.
func (t *tuner) try(ctx context.Context, cs Constants) (*trial, error) {
	key := cs.String()
	if done, ok := t.known[key]; ok {
		return done, nil
	}
	if err := t.prepare(ctx, cs); err != nil {
		return nil, fmt.Errorf("%s with %s: %w", t.System, key, err)
	}
	out := &trial{constants: cs}
	for _, c := range t.corpora {
		for i := range c.plan.tasks {
			scores, err := c.try(ctx, i, cs)
			if err != nil {
				return nil, fmt.Errorf("%s with %s on task %s of %s: %w", t.System, key, c.plan.tasks[i].Name, c.plan.corpus.Name, err)
			}
			out.scores = append(out.scores, scores)
		}
	}
	out.dev = t.aim(out.scores, DevHalf)
	if t.start == nil {
		t.start = out
	}
	sets, _ := t.asks(DevHalf)
	for _, at := range sets {
		s := t.sets[at]
		out.loss = max(out.loss, stat.Mean(s.values(t.start.scores[at], DevHalf))-stat.Mean(s.values(out.scores[at], DevHalf)))
	}
	t.known[key] = out
	if t.Progress != nil {
		t.Progress(Progress{Stage: "try " + key, Done: len(t.known), Total: len(t.known)})
	}
	return out, nil
}

// prepare makes ready what cs asks for but reranking, unless it stands already.
func (t *tuner) prepare(ctx context.Context, cs Constants) error {
	slow := cs.only(func(name string) bool { return !reranks(name) })
	if t.prepared == slow.String() {
		return nil
	}
	t.prepared = ""
	for _, c := range t.corpora {
		c.setting.Constants = slow
		var err error
		c.retriever, _, err = t.system.Prepare(ctx, c.setting)
		c.setting.Constants = nil
		if err != nil {
			return err
		}
		f, ok := c.retriever.(fusedRetriever)
		if !ok || f.fuseBy == nil {
			continue
		}
		c.candidates = nil
		for i, task := range c.plan.tasks {
			c.setting.Report(Progress{Stage: "candidates of " + task.Name + " of " + c.plan.corpus.Name, Total: len(task.Queries)})
			cs, err := f.gather(ctx, c.questions[i], max(fusionDepth, 2*min(c.plan.depth, c.plan.targets.Len())))
			if err != nil {
				return err
			}
			c.candidates = append(c.candidates, cs)
		}
	}
	t.prepared = slow.String()
	return nil
}

func (c *tuned) try(ctx context.Context, task int, cs Constants) ([]float64, error) {
	if c.candidates == nil {
		return c.asked(ctx, task, c.retriever)
	}
	f := c.retriever.(fusedRetriever)
	hits := make([][]Hit, len(c.questions[task]))
	k := min(c.plan.depth, c.plan.targets.Len())
	err := parallel(ctx, len(hits), func(i int) error {
		some := slices.Clone(c.candidates[task][i])
		if err := f.fuseBy(cs, some, c.questions[task][i].Output.Tokens.Unknown()); err != nil {
			return err
		}
		hits[i] = bestOf(some, k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.scores(task, hits)
}

// choose finds the constants of the best aim on the dev half.
func (t *tuner) choose(ctx context.Context) (*trial, error) {
	best, err := t.try(ctx, t.From)
	if err != nil {
		return nil, err
	}
	if t.Search == SearchGrid {
		return t.grid(ctx, best, t.From, t.Trials)
	}
	for moved := true; moved; {
		moved = false
		for _, constant := range t.Trials {
			for _, cs := range t.around(best.constants, constant) {
				next, err := t.try(ctx, cs)
				if err != nil {
					return nil, err
				}
				if next.better(best) {
					best, moved = next, true
				}
			}
		}
	}
	return best, nil
}

// grid tries all values of the constants ahead on top of at. Candidates are found
// for the first constants anew, so those that ask for a search should come first.
func (t *tuner) grid(ctx context.Context, best *trial, at Constants, ahead []Trial) (*trial, error) {
	if len(ahead) == 0 {
		next, err := t.try(ctx, at)
		if err == nil && next.better(best) {
			best = next
		}
		return best, err
	}
	var err error
	for _, cs := range t.around(at, ahead[0]) {
		if best, err = t.grid(ctx, best, cs, ahead[1:]); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// better tells whether tr may be chosen before other.
func (tr *trial) better(other *trial) bool {
	return tr.loss <= Tolerance+1e-9 && tr.dev.better(other.dev)
}

// around are the points with another value of one constant, that of the start first.
func (t *tuner) around(at Constants, of Trial) []Constants {
	first := at.only(func(name string) bool { return name != of.Name })
	if v, ok := t.From[of.Name]; ok {
		first[of.Name] = v
	}
	out := []Constants{first}
	for _, v := range of.Values {
		if cs := at.with(of.Name, v); cs.String() != first.String() {
			out = append(out, cs)
		}
	}
	return out
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
