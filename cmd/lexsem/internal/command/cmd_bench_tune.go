package command

import (
	"context"
	"io"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/tune"
)

var cmdBenchTune = command{
	name:    "bench tune",
	summary: "choose constants on dev halves, report on test halves",
	about: `
Tries values of a system's constants over several corpora, which are searched separately. For each
constant and value it prints the result on the dev half of the queries; for the start values and the
chosen values it prints the result on the test half, with intervals, set by set. A set is one task
of one corpus; a task without queries in a corpus is left out there and named.

The lead on a set is the score minus the best score of the systems of --against. The chosen
constants have the largest mean lead on the dev half, minus all by which single sets fall more than
0.3 points below those systems. Constants with which a set falls more than 0.3 points below the
start are excluded. Weights of a fusion only re-rank known candidates; other constants need a new search, and those of
fits a new fit.`,
	examples: []string{
		"lexsem bench tune --data beir/scifact --data beir/fiqa --try presence=0.2,0.3,0.4 --try pair",
		"lexsem bench tune --data beir/scifact --data my-corpus --system rlr --try alpha --tasks query,keyword --json tune.json",
	},
	declare: func(f *flags) action {
		data := f.strs("data", "`DIR`corpus: a folder, a .jsonl file or a folder of texts; may be repeated")
		system := f.str("system", "hybrid", "`NAME`system whose constants are chosen")
		try := f.strs("try", "`NAME[=VALUES]`constant to try, with values separated by commas; may be repeated; default all weights of the fusion. Constants: "+names(constants.All(), func(c constants.Constant) string { return c.Name }))
		from := f.strs("from", "`NAME=VALUE`start value of a constant, instead of the default; results are compared with it; may be repeated")
		against := f.str("against", "", "`LIST`systems to beat; default "+names(tune.DefaultRivals, func(s string) string { return s })+", or dense for a system without fusion")
		search := f.str("search", "coordinate", "`HOW`coordinate (one constant after another, until none improves) or grid (all combinations)")
		tasks := f.str("tasks", "query,keyword,keyword-rake,part:8", "`LIST`tasks: "+names(bench.TaskKinds(), func(k bench.TaskKind) string { return k.Usage }))
		metric := f.str("metric", "ndcg@10", "`METRIC`metric to maximise")
		o := &benchOptions{
			limit:      f.int("queries-limit", 0, "use at most N queries of each task; default all"),
			passages:   f.int("passages-limit", 0, "use N passages of each corpus, drawn by the seed; default all"),
			clean:      f.bool("clean", "draw probes that share no run of words with the texts of fits"),
			chunk:      f.int("chunk-tokens", 0, chunkUsage),
			language:   f.str("language", "", languageUsage),
			seed:       f.seed("seed of probes, fits and intervals"),
			perPassage: f.int("queries-per-passage", 10, "training queries of a fit per passage"),
			cache:      f.str("encodings", "", "`DIR`folder in which encodings and fitted bridges are kept for the next run"),
			skipBad:    f.bool("skip-bad", "skip lines that cannot be read, and name each on stderr"),
			terms:      new(bool),
		}
		to := f.outFile("json", "", "`FILE`write the report as JSON; - prints it instead of the table")
		return func(ctx context.Context, a *app, _ []string) error {
			if len(*data) == 0 {
				return hinted(usagef("no corpus given"), "name each with --data DIR")
			}
			for _, dir := range *data {
				if err := (bench.ReadOptions{}).Check(dir); err != nil {
					return err
				}
			}
			if *o.limit < 0 || *o.passages < 0 || *o.perPassage < 1 {
				return usagef("use numbers from 0 for --queries-limit and --passages-limit, and from 1 for --queries-per-passage")
			}
			opt := tune.Options{
				Options: bench.Options{
					Tasks: list(*tasks), Metrics: []string{*metric}, Clean: *o.clean, ChunkTokens: *o.chunk, Language: *o.language, QueriesLimit: *o.limit, PassagesLimit: *o.passages,
					Seed: *o.seed, QueriesPerPassage: *o.perPassage, CacheDir: *o.cache, Version: versions().Version,
				},
				Data: *data, System: *system, Search: *search,
			}
			if *against != "" {
				opt.Against = list(*against)
			}
			for _, s := range *from {
				t, err := tune.ParseTrial(s)
				if err != nil {
					return benchError(err)
				}
				if _, again := opt.From[t.Name]; again || len(t.Values) != 1 || !strings.Contains(s, "=") {
					return usagef("--from %q: use NAME=VALUE, each constant once", s)
				}
				if opt.From == nil {
					opt.From = constants.Values{}
				}
				opt.From[t.Name] = t.Values[0]
			}
			for _, s := range *try {
				t, err := tune.ParseTrial(s)
				if err != nil {
					return benchError(err)
				}
				opt.Trials = append(opt.Trials, t)
			}
			var r *tune.Report
			err := o.measure(ctx, a, &opt.Options, func(enc encoder.Encoder) (err error) {
				r, err = tune.Run(ctx, enc, opt)
				return err
			})
			if err != nil {
				return err
			}
			return writeReport(a, *to, func(w io.Writer) error { return bench.WriteJSON(w, r) }, r.WriteTable)
		}
	},
}
