package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lexsem/lexsem/bench"
)

var cmdBench = command{
	name:    "bench",
	args:    "| bench ann",
	summary: "measure retrieval on a corpus: probes, judged queries, several systems",
	about: `
Reads a corpus in BEIR's layout (corpus.jsonl, and queries.jsonl with qrels/test.tsv for the
task query), makes probes from its passages, and lets systems that share one encoding answer
them by exact search. Bridges are fitted on the corpus with other seeds than the probes'.
Figures are means over all queries that have an answer, in hundredths; p is that of a paired
randomization test against dense. lexsem help bench ann measures indexes.`,
	examples: []string{
		"lexsem bench --data beir/scifact",
		"lexsem bench --data my-corpus --tasks keyword,part:8 --systems dense,rlr+slr --json report.json",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		o := benchOptions{
			data:       f.str("data", "", "`DIR`folder of the corpus"),
			systems:    f.str("systems", strings.Join(bench.DefaultSystems, ","), "`LIST`systems: "+names(bench.SystemKinds(), func(k bench.SystemKind) string { return k.Usage })+", and variants joined by +"),
			tasks:      f.str("tasks", strings.Join(bench.DefaultTasks, ","), "`LIST`tasks: "+names(bench.TaskKinds(), func(k bench.TaskKind) string { return k.Usage })),
			metrics:    f.str("metrics", strings.Join(bench.DefaultMetrics, ","), "`LIST`metrics"),
			limit:      f.int("queries-limit", 0, "queries of each task; default all"),
			seed:       f.uint64("seed", 1, "seed of probes, fits and tests"),
			perPassage: f.int("queries-per-passage", 10, "training queries of a fit for each passage"),
			maxFit:     f.int("max-fit-queries", 0, "training queries of a fit in all; default no limit"),
			json:       f.str("json", "", "`FILE`write the report as JSON; - is standard output, instead of the table"),
			runs:       f.str("runs", "", "`DIR`write TREC run files, queries and judgements of each task"),
			encodings:  f.str("encodings", "", "`DIR`keep encodings for the next run"),
			skipBad:    f.bool("skip-bad", "leave out lines that cannot be read, naming each on stderr"),
		}
		return o.run
	},
}

type benchOptions struct {
	data, systems, tasks, metrics, json, runs, encodings *string
	limit, perPassage, maxFit                            *int
	seed                                                 *uint64
	skipBad                                              *bool
}

func names[T any](list []T, name func(T) string) string {
	var out []string
	for _, x := range list {
		out = append(out, name(x))
	}
	return strings.Join(out, ", ")
}

func (o benchOptions) run(ctx context.Context, a *app, args []string) error {
	if len(args) > 0 {
		return hinted(usagef("bench has no part %q", args[0]), "`lexsem bench ann` measures indexes; everything else goes by flags")
	}
	if *o.data == "" {
		return hinted(usagef("no corpus given"), "name its folder with --data DIR")
	}
	if *o.limit < 0 || *o.perPassage < 1 || *o.maxFit < 0 {
		return usagef("--queries-limit and --max-fit-queries take numbers from 0, --queries-per-passage from 1")
	}
	opt := bench.Options{
		Data: *o.data, Systems: list(*o.systems), Tasks: list(*o.tasks), Metrics: list(*o.metrics),
		QueriesLimit: *o.limit, Seed: *o.seed, QueriesPerPassage: *o.perPassage, MaxFitQueries: *o.maxFit,
		RunsDir: *o.runs, CacheDir: *o.encodings, Version: versions().Version,
	}
	left := 0
	if *o.skipBad {
		opt.Read.OnProblem = func(e *bench.LineError) error {
			left++
			if !a.quiet {
				fmt.Fprintf(a.Stderr, "left out: %v\n", e)
			}
			return nil
		}
	}
	model := a.model
	if model == "" {
		model = defaultModel
	}
	enc, err := a.openEncoder(ctx, model)
	if err != nil {
		return err
	}
	defer enc.Close()
	p := a.progress()
	defer p.done()
	opt.Progress = p.bench
	rep, err := bench.Run(ctx, enc, opt)
	p.done()
	if err != nil {
		return benchError(err)
	}
	if left > 0 && !a.quiet {
		fmt.Fprintf(a.Stderr, "%s left out\n", count(left, "line", "lines"))
	}
	return writeReport(a, *o.json, rep.WriteJSON, func(w io.Writer) error { return rep.WriteTable(w, opt.Metrics) })
}

// writeReport writes the table, the JSON file, or both. "1" and "true" mean
// standard output, so that LEXSEM_JSON=1 works for every command.
func writeReport(a *app, jsonTo string, asJSON, asTable func(io.Writer) error) error {
	switch jsonTo {
	case "-", "1", "true":
		return asJSON(a.Stdout)
	case "":
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

// benchError makes usage errors of what the command line can mend.
func benchError(err error) error {
	if errors.Is(err, bench.ErrUnknownName) || errors.Is(err, bench.ErrOption) {
		return &usageError{msg: err.Error(), hint: "`lexsem help bench` lists what there is"}
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
