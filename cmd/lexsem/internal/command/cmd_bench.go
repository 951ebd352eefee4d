package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/bench/report"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/process"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/internal/bench/repeat"
)

var cmdBench = command{
	name:    "bench",
	summary: "measure retrieval on a corpus, by probes and judged queries",
	about: `
Reads a corpus as BEIR, MTEB, MS MARCO, TREC or ir_datasets ship it (docs/data.md), or passages alone.
Makes probes from the passages and lets several systems answer them by exact
search. All systems share one encoding. Bridges are fitted on the corpus with other seeds than
those of the probes. A task without queries is left out and named. Equal scores are ordered by
falling passage id, as trec_eval does.

Each figure is the mean over all queries that have an answer, times 100. p comes from a paired
randomization test against dense, with Holm's correction over the systems of a task; JSON has both
p and p_holm. engine:hybrid/rerank measures the second stage that --rerank names. Make choices
on --half dev and report them on --half test.

--model exec:COMMAND measures a model behind a program of your own, which reads and writes JSON
lines; tools/process/lexsem_encoder.py serves those of sentence-transformers. Its source says how.`,
	examples: []string{
		"lexsem bench --data beir/scifact",
		"lexsem bench --data my-corpus --tasks keyword,part:8 --systems dense,rlr+slr --json report.json --html report.html",
	},
	declare: func(f *flags) action {
		o := declareBench(f)
		f.group("Output")
		o.json = f.outFile("json", "", "`FILE`write the report as JSON; - prints it instead of the table")
		o.md = f.outFile("md", "", "`FILE`write the report as Markdown")
		o.html = f.outFile("html", "", "`FILE`write the report as one HTML page with plots")
		o.latex = f.outFile("latex", "", "`FILE`write the report as a LaTeX table (booktabs)")
		o.csv = f.outFile("csv", "", "`FILE`write the means, intervals and p values as CSV")
		o.perQuery = f.outFile("per-query", "", "`FILE`write the scores of every query as CSV")
		o.runs = f.outDir("runs", "`DIR`write the TREC run files, queries and judgements of each task")
		o.seeds = f.int("seeds", 1, "measure with N seeds, from --seed on, and tell mean, spread and significance; vectors are made once")
		o.cases = f.int("cases", 5, "report N queries with their texts: the largest losses and gains of each system")
		return o.run
	},
}

// declareBench declares the flags that every bench over a corpus has, in groups.
func declareBench(f *flags) *benchOptions {
	o := &benchOptions{}
	f.group("Corpus")
	o.data = f.str("data", "", "`DIR`corpus: a folder, a file of passages or a folder of texts; separate several by commas")
	o.split = f.str("split", "", "`SPLIT`judgements: those of a split, or a file of judgements; default test")
	o.queries = f.str("queries", "", "`FILE`queries in place of the corpus's own: JSONL, Parquet, .tsv of id and text, or topics of TREC")
	o.keepSelf = f.bool("keep-self", "rank the passage with the query's own id; by default it is left out where queries stand in the corpus, as in ArguAna")
	o.passages = f.int("passages-limit", 0, "use N passages of the corpus, drawn by the seed; default all")
	o.distract = f.bool("distractors", "also search the passages that --passages-limit leaves out; they get no probes and no fits")
	o.skipBad = f.bool("skip-bad", "skip lines that cannot be read, and name each on stderr")
	f.group("What is measured")
	o.systems = f.str("systems", strings.Join(bench.DefaultSystems, ","), "`LIST`systems: "+names(bench.SystemKinds(), func(k bench.SystemKind) string { return k.Usage })+", and variants joined by +")
	o.tasks = f.str("tasks", strings.Join(bench.DefaultTasks, ","), "`LIST`tasks: "+names(bench.TaskKinds(), func(k bench.TaskKind) string { return k.Usage }))
	o.metrics = f.str("metrics", strings.Join(bench.DefaultMetrics, ","), "`LIST`metrics: "+metricNames())
	o.relevance = f.int("relevance", 1, "least grade that counts as relevant; nDCG takes all grades as gains")
	o.limit = f.int("queries-limit", 0, "use at most N queries of each task; default all")
	o.language = f.str("language", "", languageUsage)
	o.half = f.str("half", string(bench.AllQueries), "`HALF`half of the queries: dev, test or all; the SHA-256 of a query's id decides its half")
	o.clean = f.bool("clean", "draw probes from one half of each passage and fit bridges on the other, so that they share no run of words")
	o.chunk = f.int("chunk-tokens", 0, chunkUsage)
	o.seed = f.seed("seed of probes, fits and tests")
	f.group("Fits and search")
	o.perPassage = f.int("queries-per-passage", 10, "training queries of a fit per passage")
	o.maxFit = f.int("max-fit-queries", 0, "most training queries of a fit; default no limit")
	o.rate = f.float("fit-rate", 0, "`RATE`initial learning rate of fits; default the trainer's")
	o.fitTo = f.int("fit-passages", 0, "`N`fit to N evenly drawn passages; default all")
	o.index = f.str("index", "", "`KIND`index for the vectors, for example hnsw; default exact search")
	o.ef = f.int("ef", 0, "candidate pool of an approximate index")
	o.cache = f.str("encodings", "", "`DIR`folder in which encodings and fitted bridges are kept for the next run")
	o.terms = f.bool("terms", "use the terms of words as tokens, as for an encoder without a tokenizer")
	o.over = f.str("elsewhere", "", "`URL`search engine for the system over: elasticsearch://HOST:PORT, weaviate://HOST:PORT or postgres://HOST:PORT/DATABASE; an index is made there and removed")
	o.second = declareRerank(f)
	return o
}

const chunkUsage = "most tokens of a chunk, as of lexsem index; a text has the score of its best chunk; default what the model reads; -1 takes texts whole, cut there, as --clean does"

const languageUsage = "`CODE`language of the texts, for stems and function words of BM25 and of keyword probes: en, de, …, or none; default en"

// metricNames lists the metrics for help.
func metricNames() string {
	return names(bench.MetricKinds(), func(k bench.MetricKind) string {
		if k.Whole {
			return k.Name + "[@K]"
		}
		return k.Name + "@K"
	})
}

type benchOptions struct {
	data, systems, tasks, metrics, json, md, html, runs, cache, index, half, over, split, queries, latex, csv, perQuery, language *string
	limit, passages, perPassage, maxFit, fitTo, ef, cases, seeds, relevance, chunk                                                *int
	seed                                                                                                                          *uint64
	rate                                                                                                                          *float64
	skipBad, distract, terms, clean, keepSelf                                                                                     *bool
	second                                                                                                                        rerankFlags
}

func names[T any](list []T, name func(T) string) string {
	var out []string
	for _, x := range list {
		out = append(out, name(x))
	}
	return strings.Join(out, ", ")
}

func (o *benchOptions) run(ctx context.Context, a *app, args []string) error {
	if len(args) > 0 {
		return hinted(usagef("bench has no part %q", args[0]), "`lexsem help bench` lists the parts: bench compare, bench sure, …; everything else is a flag")
	}
	opt, err := o.options()
	if err != nil {
		return err
	}
	if *o.cases < 0 {
		return usagef("--cases: use a number from 0")
	}
	if *o.seeds < 1 {
		return usagef("--seeds %d: use a number from 1", *o.seeds)
	}
	opt.RunsDir, opt.Cases, opt.Commit = *o.runs, *o.cases, versions().Commit
	if *o.over != "" {
		where, err := scratch(*o.over)
		if err != nil {
			return err
		}
		if _, err := a.openBackend(where); err != nil {
			return err
		}
		opt.Over = func() (remote.Backend, error) { return a.openBackend(where) }
	}
	if *o.seeds > 1 {
		return o.runSeeds(ctx, a, opt)
	}
	var rep *bench.Report
	err = o.measure(ctx, a, &opt, func(enc encoder.Encoder) (err error) {
		rep, err = bench.Run(ctx, enc, opt)
		return err
	})
	if err != nil {
		return err
	}
	b := &report.Bundle{Benches: []*bench.Report{rep}}
	if err := o.writeTables(b, opt.Metrics); err != nil {
		return err
	}
	return writeReport(a, *o.json, rep.WriteJSON, func(w io.Writer) error { return rep.WriteTable(w, opt.Metrics) })
}

// runSeeds measures with several seeds.
func (o *benchOptions) runSeeds(ctx context.Context, a *app, opt bench.Options) error {
	var s *repeat.Seeds
	err := o.measure(ctx, a, &opt, func(enc encoder.Encoder) (err error) {
		s, err = repeat.RunSeeds(ctx, enc, opt, *o.seeds)
		return err
	})
	if err != nil {
		return err
	}
	if err := o.writeTables(&report.Bundle{Benches: s.Reports, Seeds: s}, opt.Metrics); err != nil {
		return err
	}
	return writeReport(a, *o.json, s.WriteJSON, func(w io.Writer) error { return s.WriteTable(w, opt.Metrics) })
}

// writeTables writes the requested files except JSON.
func (o *benchOptions) writeTables(b *report.Bundle, metrics []string) error {
	latex := func(w io.Writer) error { return b.WriteLaTeX(w, metrics) }
	return errors.Join(writePages(*o.md, *o.html, b), writeAsked(*o.latex, latex), writeAsked(*o.csv, b.WriteCSV), writeAsked(*o.perQuery, b.WritePerQuery))
}

// writeAsked writes a file if its name is not empty.
func writeAsked(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	return writeFile(name, write)
}

// options checks the flags that every bench over a corpus has.
func (o *benchOptions) options() (bench.Options, error) {
	if *o.data == "" {
		return bench.Options{}, hinted(usagef("no corpus given"), "name its folder with --data DIR")
	}
	if err := (bench.ReadOptions{}).Check(*o.data); err != nil {
		return bench.Options{}, err
	}
	if *o.limit < 0 || *o.passages < 0 || *o.perPassage < 1 || *o.maxFit < 0 || *o.fitTo < 0 || *o.ef < 0 {
		return bench.Options{}, usagef("use numbers from 0 for --queries-limit, --passages-limit, --max-fit-queries, --fit-passages and --ef, and from 1 for --queries-per-passage")
	}
	if !(*o.rate >= 0 && *o.rate <= 10) {
		return bench.Options{}, usagef("--fit-rate %v: use a number above 0 and up to 10, or 0 for the trainer's", *o.rate)
	}
	if *o.relevance < 1 {
		return bench.Options{}, usagef("--relevance %d: use the least grade that counts as relevant, from 1", *o.relevance)
	}
	half, err := bench.ParseHalf(*o.half)
	if err != nil {
		return bench.Options{}, usagef("--half %q: use dev, test or all", *o.half)
	}
	return bench.Options{
		Data: *o.data, Systems: list(*o.systems), Tasks: list(*o.tasks), Metrics: list(*o.metrics), Relevance: *o.relevance, Half: half, Clean: *o.clean, ChunkTokens: *o.chunk,
		KeepSelf: *o.keepSelf, Read: bench.ReadOptions{Split: *o.split, Queries: *o.queries},
		Language: *o.language, QueriesLimit: *o.limit, PassagesLimit: *o.passages, Distractors: *o.distract, Seed: *o.seed, QueriesPerPassage: *o.perPassage, MaxFitQueries: *o.maxFit, FitPassages: *o.fitTo, FitRate: *o.rate,
		Index: *o.index, Ef: *o.ef, CacheDir: *o.cache, Version: versions().Version,
	}, nil
}

// measure opens the encoder, shows progress and counts lines left out while fn
// works with opt.
func (o *benchOptions) measure(ctx context.Context, a *app, opt *bench.Options, fn func(encoder.Encoder) error) (err error) {
	left := 0
	if *o.skipBad {
		opt.Read.OnProblem = func(e *bench.LineError) error {
			left++
			if !a.quiet {
				fmt.Fprintf(a.Stderr, "left out: %s\n", oneLine(e.Error()))
			}
			return nil
		}
	}
	if o.second.given() {
		second, closeSecond, err := a.reranker(ctx, o.second)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeSecond()) }()
		opt.Reranker, opt.RerankDepth = second, *o.second.depth
	}
	err = a.measured(ctx, func(enc encoder.Encoder, progress func(bench.Progress)) error {
		opt.Progress = progress
		if *o.terms && enc.VocabSize() > 0 {
			var err error
			if enc, err = bench.ByTerms(enc); err != nil {
				return err
			}
		}
		return fn(enc)
	})
	if err != nil {
		return err
	}
	if left > 0 && !a.quiet {
		fmt.Fprintf(a.Stderr, "%s left out\n", count(left, "line", "lines"))
	}
	return nil
}

// measured opens the encoder and shows progress while fn measures with it.
func (a *app) measured(ctx context.Context, fn func(encoder.Encoder, func(bench.Progress)) error) error {
	enc, err := a.openBenched(ctx)
	if err != nil {
		return err
	}
	defer enc.Close()
	if enc.VocabSize() == 0 {
		if enc, err = bench.ByTerms(enc); err != nil {
			return err
		}
	}
	p := a.progress()
	defer p.done()
	err = fn(enc, p.bench)
	p.done()
	return benchError(err)
}

// openBenched opens the model to measure, which may be an external program. Other commands accept
// no program: a database stores the name of its model, and must not name a program to be run on the
// machine of the user who opens it.
func (a *app) openBenched(ctx context.Context) (encoder.Encoder, error) {
	command, ok := strings.CutPrefix(a.model, "exec:")
	if !ok {
		return a.openEncoder(ctx, cmp.Or(a.model, floatModel))
	}
	var words []string
	for _, w := range shellWords(command) {
		if n := len(w); n > 1 && (w[0] == '"' || w[0] == '\'') && w[n-1] == w[0] {
			w = w[1 : n-1]
		}
		words = append(words, w)
	}
	o := process.Options{Command: words}
	if !a.quiet {
		o.Stderr = a.Stderr
	}
	return process.New(ctx, o)
}

// writePages writes the requested Markdown and HTML files.
func writePages(md, html string, b *report.Bundle) error {
	return errors.Join(writeAsked(md, b.WriteMarkdown), writeAsked(html, b.WriteHTML))
}

// writeReport writes the table, the JSON file, or both.
func writeReport(a *app, jsonTo string, asJSON, asTable func(io.Writer) error) error {
	switch {
	case standardOutput(jsonTo):
		return asJSON(a.Stdout)
	case jsonTo == "":
		return asTable(a.Stdout)
	}
	if err := writeFile(jsonTo, asJSON); err != nil {
		return err
	}
	return asTable(a.Stdout)
}

func list(s string) []string {
	var out []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// benchError turns errors that other flags can avoid into usage errors.
func benchError(err error) error {
	if errors.Is(err, bench.ErrUnknownName) || errors.Is(err, bench.ErrOption) {
		return &usageError{msg: err.Error(), hint: "`lexsem help bench flags` lists systems, tasks and metrics"}
	}
	return err
}

// bench shows the progress of a benchmark.
func (p *progress) bench(e bench.Progress) {
	s := step{stage: e.Stage, done: e.Done, total: e.Total}
	if e.Loss > 0 {
		s.note = fmt.Sprintf("loss %.3f", e.Loss)
	}
	p.update(s)
}
