package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/bench/memo"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/private"
)

// Options are the options of Run. Every field except Data has a useful zero value.
type Options struct {
	// Data is a folder in the BEIR layout, or several separated by commas; see ReadCorpora.
	Data string
	// Systems are names of systems. nil means dense, rlr, slr, rlr+slr.
	Systems []string
	// Tasks are names of tasks. nil means query, keyword, part:16.
	Tasks []string
	// Metrics are names of metrics. nil means DefaultMetrics. ndcg@10 is always measured, since
	// systems are compared by it.
	Metrics []string
	// Relevance is the least grade that counts as relevant. 0 means 1. As in trec_eval, nDCG takes
	// grades as gains, whatever the level.
	Relevance int
	// PassagesLimit is the number of passages to draw by the seed. The other passages are left out
	// with their judgements. 0 means all.
	PassagesLimit int
	// Distractors also searches the passages that PassagesLimit leaves out. No query seeks them and no
	// bridge is fitted to them, like an index that has grown since the fit.
	Distractors bool
	// Clean makes queries that share no text with the training queries of bridges. Fits leave half of
	// each passage alone (train.Reserved), and part:N, from four words on, is drawn from that half.
	// The epoch is chosen by queries of one passage in eight (train.Selects), for which no queries are
	// made. Without Clean, bridges learn from whole passages, as in production. Texts stay whole: chunks
	// share words.
	Clean bool
	// ChunkTokens is the most tokens of the chunks that longer texts are cut into, as engine.Options has it.
	// A text has the score of its best chunk. 0 means the encoder's limit. Below 0 texts are not cut, and the encoder
	// reads the beginning of each.
	ChunkTokens int
	// Half chooses which half of each task's queries is searched. The zero value searches all. The fit
	// of bridges does not depend on it.
	Half Half
	// QueriesLimit is the maximum number of queries of each task within that half. 0 means no limit.
	QueriesLimit int
	// Seed determines the tasks, the fits and the paired test. 0 means 1.
	Seed uint64
	// QueriesPerPassage is the number of training queries per passage for a fit. 0 means the trainer's
	// default.
	QueriesPerPassage int
	// MaxFitQueries is the maximum number of training queries of a fit. 0 means no limit.
	MaxFitQueries int
	// FitSteps is the maximum number of steps of a fit (train.Options.Steps). 0 means no limit.
	FitSteps int
	// FitRate is the initial learning rate of fits. 0 means the trainer's default.
	FitRate float64
	// FitPassages is the number of passages, drawn evenly, that bridges are fitted to. 0 means all.
	// Closed forms always use all passages.
	FitPassages int
	// Lower converts passages and queries to lower case first.
	Lower bool
	// RunsDir, if not empty, is a folder for a TREC run file of each system and task, the judgements of
	// each task as trec_eval reads them, and its queries and judgements in the BEIR layout.
	RunsDir string
	// CacheDir, if not empty, is a folder that keeps encodings and fitted bridges between runs.
	CacheDir string
	// Index is the kind of index for query vectors. "" means the exact one. Ef is the candidate pool
	// of an approximate index; 0 means its default.
	Index string
	Ef    int
	// Reranker is the reranker of systems with /rerank, which require one. RerankDepth is the
	// number of passages per query that it scores; 0 means engine.DefaultRerank.
	Reranker    engine.Reranker
	RerankDepth int
	// Over opens an empty place in another engine, which the system over fills and searches. It may be
	// nil if that system does not run. If the Backend has a method Drop(context.Context) error, Run
	// calls it at the end to remove what was created.
	Over func() (remote.Backend, error)
	// Answerable also searches the queries of the folder's queries-without-positives.jsonl, if it
	// exists. It reports how well the scores of each system separate them from the queries of the
	// first task.
	Answerable bool
	// Cases is the number of largest losses against dense, and of largest gains, to report with their
	// texts for each task and system.
	Cases int
	// Language of the texts, an ISO 639-1 code or "none", chooses stems and function words for BM25, for
	// words that serve as tokens, and for keyword probes. "" means English.
	Language string
	// KeepSelf leaves the passage with a query's own id in the query's ranking. By BEIR's rule it is left
	// out if queries are also passages of the corpus, as in ArguAna and Quora.
	KeepSelf bool
	// Read holds the options for reading Data.
	Read ReadOptions
	// Version is the program's version, for the report.
	Version string
	// Commit is the commit that the program was built from, for the report.
	Commit string
	// Progress, if not nil, is called by one goroutine at a time.
	Progress func(Progress)

	without func(task string, err error) bool // whether a task that cannot be made is left out; see Tune
}

// Default systems and tasks of a report.
var (
	DefaultSystems = []string{"dense", "rlr", "rlr+slr", "rlr-local", "bm25", "hybrid"}
	DefaultTasks   = []string{"query", "keyword", "part:16"}
)

// Run reads the corpus, encodes each text once, prepares the systems, runs every task on them, and
// returns a report. Except for times, the result depends only on corpus, encoder, options and seed.
// Names are checked before anything is encoded. Memory: the corpus with its vectors. Most of the time
// is spent on encoding and fitting.
func Run(ctx context.Context, enc encoder.Encoder, o Options) (report *Report, err error) {
	began, cpuBegan := time.Now(), process.CPUTime()
	o.Read.ctx = ctx
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	enc, done, err := memo.Open(enc, o.CacheDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	encodeBegan, encodeCPU := time.Now(), process.CPUTime()
	setting, err := p.setting(ctx, enc)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, setting.Close()) }()
	questions, err := p.encodeQuestions(ctx, setting)
	if err != nil {
		return nil, err
	}
	unanswered, err := p.encode(ctx, setting, p.unanswered)
	if err != nil {
		return nil, err
	}
	chunks := 0
	if setting.of != nil {
		chunks = setting.Targets.Len()
	}
	report = &Report{
		Data: p.corpus.Name, Documents: len(p.corpus.Passages), Distractors: p.distractors, Distinct: p.targets.Len(), Truncated: setting.Truncated(),
		Encoder: enc.Fingerprint().Model, Seed: p.Seed, Relevance: p.Relevance, Half: p.Half, Clean: p.Clean, Language: p.Language, Version: p.Version, Commit: p.Commit, Index: p.Index, Fit: map[string]Fit{}, BytesPerPassage: map[string]float64{},
		LeftOutTasks: p.leftOutTasks, Words: setting.readsWords(), Chunks: chunks,
		Cost: searchCost{
			EncodeSeconds: time.Since(encodeBegan).Seconds(), EncodeCPUSeconds: (process.CPUTime() - encodeCPU).Seconds(),
		},
	}
	if slices.ContainsFunc(p.systems, func(s System) bool { return s.Reranks }) {
		report.Reranker, report.RerankDepth = engine.RerankerName(p.Reranker), cmp.Or(p.RerankDepth, engine.DefaultRerank)
	}
	if err := p.answer(ctx, setting, questions, unanswered, report); err != nil {
		return nil, err
	}
	report.Cost.TotalSeconds = time.Since(began).Seconds()
	report.Cost.TotalCPUSeconds = (process.CPUTime() - cpuBegan).Seconds()
	return report, nil
}

// answer prepares the systems, runs them on every task, and reports the results.
func (p *plan) answer(ctx context.Context, setting *Setting, questions [][]Question, unanswered []Question, report *Report) error {
	results := make([][]Result, len(p.tasks)) // task → system
	for _, system := range p.systems {
		retriever, fit, err := setting.Prepare(ctx, system)
		if err != nil {
			return fmt.Errorf("preparing system %s: %w", system.Name, err)
		}
		if fit != nil {
			report.Fit[system.Name] = *fit
		}
		if n := bytesOf(retriever); n > 0 {
			report.BytesPerPassage[system.Name] = float64(n) / float64(p.targets.Len())
		}
		for i, task := range p.tasks {
			setting.Report(Progress{Stage: "search " + system.Name + " " + task.Name, Done: 0, Total: len(task.Queries)})
			r, err := p.measure(ctx, system, retriever, task, questions[i])
			if err != nil {
				return err
			}
			results[i] = append(results[i], r)
			setting.Report(Progress{Stage: "search " + system.Name + " " + task.Name, Done: len(task.Queries), Total: len(task.Queries)})
		}
		if len(unanswered) > 0 {
			a, err := p.answerable(ctx, retriever, results[0][len(results[0])-1], unanswered)
			if err != nil {
				return err
			}
			report.Answerable = append(report.Answerable, a)
		}
	}
	for i, row := range results {
		if err := p.weigh(ctx, row); err != nil {
			return err
		}
		report.Tasks = append(report.Tasks, TaskQueries{Task: p.tasks[i].Name, Queries: row[0].ids, Own: len(p.tasks[i].Own), KeepSelf: p.tasks[i].KeepSelf, Absent: p.tasks[i].Absent, NoPositive: p.tasks[i].NoPositive})
		report.Cases = append(report.Cases, p.cases(p.tasks[i], row, p.Cases)...)
		report.Results = append(report.Results, row...)
	}
	return p.overlaps(ctx, setting, report)
}

// compareBy is the metric that systems are compared by.
const compareBy = "ndcg@10"

// plan is an Options after its names were resolved and its data was read.
type plan struct {
	Options
	systems []System
	metrics []Metric
	depth   int             // ranks retrieved
	corpus  *Corpus         // what is asked for
	targets *Targets        // what is searched
	asked   *Targets        // see SettingOptions
	leftOut func() *Targets // see SettingOptions
	tasks   []*Task

	unanswered   []Query // see Options.Answerable
	distractors  int     // passages that are searched and not asked for
	leftOutTasks []LeftOutTask
}

func newPlan(o Options) (*plan, error) {
	if o.Systems == nil {
		o.Systems = DefaultSystems
	}
	if o.Tasks == nil {
		o.Tasks = DefaultTasks
	}
	if o.Metrics == nil {
		o.Metrics = DefaultMetrics
	}
	if !slices.Contains(o.Metrics, compareBy) {
		o.Metrics = append(slices.Clone(o.Metrics), compareBy)
	}
	o.Seed = cmp.Or(o.Seed, 1)
	if o.Relevance == 1 { // as without it
		o.Relevance = 0
	}
	for what, names := range map[string][]string{"system": o.Systems, "task": o.Tasks, "metric": o.Metrics} {
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				return nil, fmt.Errorf("%w: %s %q is given twice; name it once", ErrDuplicateID, what, name)
			}
		}
	}
	var err error
	if o.Half, err = ParseHalf(string(o.Half)); err != nil {
		return nil, err
	}
	if err := errors.Join(checkLanguage(o.Language), checkChunks(o.ChunkTokens, o.Clean)); err != nil {
		return nil, err
	}
	p := &plan{Options: o}
	if err := p.parse(); err != nil {
		return nil, err
	}
	if p.corpus, err = ReadCorpora(o.Data, o.Read); err != nil {
		return nil, err
	}
	if o.Lower {
		p.corpus.lower()
	}
	all := p.corpus
	p.corpus = all.Sample(o.PassagesLimit, o.Seed)
	p.targets = NewTargets(p.corpus.Passages)
	asked := p.targets
	switch {
	case p.corpus == all && o.Distractors:
		return nil, fmt.Errorf("%w: there are no distractors: all %d passages are asked for; limit the passages (--passages-limit) to fewer", ErrOption, len(all.Passages))
	case p.corpus == all:
	case o.Distractors:
		p.targets = NewTargets(all.Passages)
		asked = p.targets.of(p.corpus)
		p.asked, p.distractors = asked, len(all.Passages)-len(p.corpus.Passages)
	default:
		p.leftOut = func() *Targets { return leftOutTargets(all, p.targets) }
	}
	in := TaskInput{Corpus: p.corpus, Targets: asked, Seed: o.Seed, Limit: o.QueriesLimit, Half: o.Half, Clean: o.Clean, KeepSelf: o.KeepSelf, Read: o.Read, Language: o.Language}
	for _, name := range o.Tasks {
		t, err := MakeTask(name, in)
		if err != nil && o.without != nil && o.without(name, err) {
			continue
		}
		if o.without == nil && errors.Is(err, ErrNoQueries) && len(o.Tasks) > 1 {
			p.leftOutTasks = append(p.leftOutTasks, LeftOutTask{Task: name, Reason: err.Error()})
			continue
		}
		if err != nil {
			return nil, err
		}
		p.tasks = append(p.tasks, t)
	}
	if n := len(p.leftOutTasks); n > 0 && len(p.tasks) == 0 {
		return nil, fmt.Errorf("%w: each of the %d tasks lacks them; the first: %s", ErrNoQueries, n, p.leftOutTasks[0].Reason)
	}
	if o.Answerable {
		if p.unanswered, err = p.unansweredQueries(in); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// parse looks up the systems and metrics that the options name.
func (p *plan) parse() error {
	for _, name := range p.Systems {
		s, err := ParseSystem(name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(p.systems, func(other System) bool { return other.Name == s.Name }) {
			return fmt.Errorf("%w: system %q stands under two names; name it once", ErrDuplicateID, s.Name)
		}
		if s.Reranks && p.Reranker == nil {
			return errNoReranker
		}
		p.systems = append(p.systems, s)
	}
	var err error
	if p.metrics, err = ParseMetrics(p.Metrics, p.Relevance); err != nil {
		return err
	}
	for _, m := range p.metrics {
		p.depth = max(p.depth, m.depth())
	}
	return nil
}

// setting encodes the targets, for the systems of the plan.
func (p *plan) setting(ctx context.Context, enc encoder.Encoder) (*Setting, error) {
	return NewSetting(ctx, enc, p.targets, SettingOptions{
		Seed: p.Seed, QueriesPerPassage: p.QueriesPerPassage, MaxFitQueries: p.MaxFitQueries, FitSteps: p.FitSteps, FitRate: p.FitRate, FitPassages: p.FitPassages, Clean: p.Clean, ChunkTokens: p.ChunkTokens, Language: p.Language,
		CacheDir: p.CacheDir, Index: p.Index, Ef: p.Ef, Over: p.Over, Asked: p.asked, LeftOut: p.leftOut, Progress: p.Progress,
		Reranker: p.Reranker, RerankDepth: p.RerankDepth,
	})
}

// encodeQuestions encodes the queries of each task.
func (p *plan) encodeQuestions(ctx context.Context, setting *Setting) ([][]Question, error) {
	out := make([][]Question, len(p.tasks))
	for i, task := range p.tasks {
		var err error
		if out[i], err = p.encode(ctx, setting, task.Queries); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encode encodes queries into all the tensors that the systems need.
func (p *plan) encode(ctx context.Context, setting *Setting, queries []Query) ([]Question, error) {
	need := encoder.NeedDense
	for _, s := range p.systems {
		need |= s.Need
	}
	texts := make([]string, len(queries))
	for i, q := range queries {
		texts[i] = q.Text
	}
	out, err := setting.Questions(ctx, texts, need)
	for i := range out {
		out[i].ID = queries[i].ID
	}
	return out, err
}

// measure runs one system on one task and measures it.
func (p *plan) measure(ctx context.Context, system System, r Retriever, task *Task, questions []Question) (Result, error) {
	began, cpu := time.Now(), process.CPUTime()
	hits, err := r.Retrieve(ctx, questions, min(task.retrieved(p.depth), p.targets.Len()))
	if err != nil {
		return Result{}, fmt.Errorf("system %s on task %s: %w", system.Name, task.Name, err)
	}
	took, worked := time.Since(began), process.CPUTime()-cpu
	rankings := task.rankings(p.targets, hits, p.depth)
	scores, err := Evaluate(task.Qrels, rankings, p.metrics)
	if err != nil {
		return Result{}, fmt.Errorf("system %s on task %s: %w", system.Name, task.Name, err)
	}
	if p.RunsDir != "" {
		if err := keepRun(p.RunsDir, system.Name, task, rankings); err != nil {
			return Result{}, err
		}
	}
	result := Result{
		System: system.Name, Task: task.Name, Queries: len(scores.Queries), LeftOut: task.LeftOut,
		Metrics: scores.Mean, PerQuery: scores.Values,
		MsPerQuery:    took.Seconds() * 1000 / float64(len(questions)),
		CPUMsPerQuery: worked.Seconds() * 1000 / float64(len(questions)),
	}
	result.firsts(task, rankings, scores.Queries)
	return result, nil
}

// drops reports whether a passage is left out of the ranking of a query.
func (t *Task) drops(query, passage string) bool {
	if t.KeepSelf || query != passage {
		return false
	}
	_, own := t.Own[query]
	return own
}

// retrieved is the number of passages to request for rankings of that depth.
func (t *Task) retrieved(depth int) int {
	if len(t.Own) > 0 && !t.KeepSelf {
		return depth + 1
	}
	return depth
}

// rankings turns hits into ids. In a judged task all passages of a target get the target's score. In
// a task made from passages the target itself is the hit.
func (t *Task) rankings(targets *Targets, hits [][]Hit, depth int) Rankings {
	out := make(Rankings, len(hits))
	for i, answer := range hits {
		var ranked []Ranked
		for _, h := range answer {
			if !t.Judged {
				ranked = append(ranked, Ranked{targets.ID(h.Target), h.Score, h.Probability})
				continue
			}
			for _, id := range targets.Members[h.Target] {
				if !t.drops(t.Queries[i].ID, id) {
					ranked = append(ranked, Ranked{id, h.Score, h.Probability})
				}
			}
		}
		Rank(ranked)
		out[t.Queries[i].ID] = ranked[:min(depth, len(ranked))]
	}
	return out
}

// keepRun saves a run so that it can be scored again.
func keepRun(dir, system string, task *Task, r Rankings) error {
	base := filepath.Join(dir, fileName(task.Name))
	if err := private.MkdirAll(dir); err != nil {
		return fmt.Errorf("making the folder for runs: %w", err)
	}
	if err := writeFile(base+"."+fileName(system)+".trec", func(f *os.File) error { return writeRun(f, system, r) }); err != nil {
		return err
	}
	if err := writeFile(base+".qrels.tsv", func(f *os.File) error { return writeQrels(f, task.Qrels) }); err != nil {
		return err
	}
	if err := writeFile(base+".qrels", func(f *os.File) error { return writeTrecQrels(f, task.Qrels) }); err != nil {
		return err
	}
	return writeFile(base+".queries.jsonl", func(f *os.File) error { return writeQueries(f, task.Queries) })
}

// fileName replaces characters that file systems refuse.
func fileName(s string) string { return strings.NewReplacer(":", "-", "/", "-", `\`, "-").Replace(s) }

func writeFile(name string, write func(*os.File) error) error {
	if err := atomicfile.Write(name, write); err != nil {
		return fmt.Errorf("writing a run: %w", err)
	}
	return nil
}
