package command

import (
	"context"
	"io"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
)

var cmdBenchTune = command{
	name:    "bench tune",
	summary: "choose constants on the dev half of several corpora, report them on the test half",
	about: `
Tries values of a system's constants over several corpora, each searched for itself, and prints for each
constant and value what the dev half of the queries gives, and for the chosen constants and those that
it began with what the test half gives, with intervals, set by set. A set is a task of a corpus. Chosen is what leads
most, in the mean over the sets, over the best of --against on each set, less all that single sets lie
more than 0.3 of a hundred below it, of those with which no set loses more than that by the start. Weights of a fusion rank known candidates anew; other constants ask
for a search, those of fits for a fit. A task that a corpus has no queries of is left out there, and named.`,
	examples: []string{
		"lexsem bench tune --data beir/scifact --data beir/fiqa --try presence=0.2,0.3,0.4 --try pair",
		"lexsem bench tune --data beir/scifact --data my-corpus --system rlr --try alpha --tasks query,keyword --json tune.json",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		data := f.strs("data", "`DIR`a corpus: folder, .jsonl file or folder of texts; may be given several times")
		system := f.str("system", "hybrid", "`NAME`system whose constants are chosen")
		try := f.strs("try", "`NAME[=VALUES]`constant, and values with commas; may be given several times; default all weights of the fusion. Constants: "+names(bench.AllConstants(), func(c bench.Constant) string { return c.Name }))
		from := f.strs("from", "`NAME=VALUE`constant that the search begins with and is compared with, in place of the shipped one; may be given several times")
		against := f.str("against", "", "`LIST`systems to beat; default "+names(bench.DefaultRivals, func(s string) string { return s })+", for a system that is no fusion dense")
		search := f.str("search", bench.SearchCoordinate, "`HOW`coordinate (one constant after the other, until none gets better) or grid (all combinations)")
		tasks := f.str("tasks", "query,keyword,keyword-rake,part:8", "`LIST`tasks: "+names(bench.TaskKinds(), func(k bench.TaskKind) string { return k.Usage }))
		metric := f.str("metric", "ndcg@10", "metric that is raised")
		o := &benchOptions{
			limit:      f.int("queries-limit", 0, "queries of each task; default all"),
			passages:   f.int("passages-limit", 0, "passages of each corpus, drawn by the seed; default all"),
			clean:      f.bool("clean", "probes that share no run of words with what bridges are fitted by"),
			seed:       f.uint64("seed", 1, "seed of probes, fits and intervals"),
			perPassage: f.int("queries-per-passage", 10, "training queries of a fit for each passage"),
			cache:      f.str("encodings", "", "`DIR`keep encodings and fitted bridges for the next run"),
			skipBad:    f.bool("skip-bad", "leave out lines that cannot be read, naming each on stderr"),
			terms:      new(bool),
		}
		to := f.outFile("json", "", "`FILE`write the report as JSON; - is standard output, instead of the table")
		return func(ctx context.Context, a *app, args []string) error {
			if len(args) > 0 {
				return usagef("bench tune takes no arguments, got %q", args[0])
			}
			if len(*data) == 0 {
				return hinted(usagef("no corpus given"), "name each with --data DIR")
			}
			for _, dir := range *data {
				if err := bench.CheckData(dir); err != nil {
					return err
				}
			}
			if *o.limit < 0 || *o.passages < 0 || *o.perPassage < 1 {
				return usagef("--queries-limit and --passages-limit take numbers from 0, --queries-per-passage from 1")
			}
			opt := bench.TuneOptions{
				Options: bench.Options{
					Tasks: list(*tasks), Metrics: []string{*metric}, Clean: *o.clean, QueriesLimit: *o.limit, PassagesLimit: *o.passages,
					Seed: *o.seed, QueriesPerPassage: *o.perPassage, CacheDir: *o.cache, Version: versions().Version,
				},
				Data: *data, System: *system, Search: *search,
			}
			if *against != "" {
				opt.Against = list(*against)
			}
			for _, s := range *from {
				t, err := bench.ParseTrial(s)
				if err != nil {
					return benchError(err)
				}
				if _, again := opt.From[t.Name]; again || len(t.Values) != 1 || !strings.Contains(s, "=") {
					return usagef("--from %q: use NAME=VALUE, a constant once", s)
				}
				if opt.From == nil {
					opt.From = bench.Constants{}
				}
				opt.From[t.Name] = t.Values[0]
			}
			for _, s := range *try {
				t, err := bench.ParseTrial(s)
				if err != nil {
					return benchError(err)
				}
				opt.Trials = append(opt.Trials, t)
			}
			var r *bench.TuneReport
			err := o.measure(ctx, a, &opt.Options, func(enc encoder.Encoder) (err error) {
				r, err = bench.Tune(ctx, enc, opt)
				return err
			})
			if err != nil {
				return err
			}
			return writeReport(a, *to, func(w io.Writer) error { return bench.WriteJSON(w, r) }, r.WriteTable)
		}
	},
}
