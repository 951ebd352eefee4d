package command

import (
	"context"
	"io"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/bench/report"
)

var cmdBenchSummary = command{
	name:    "bench summary",
	args:    "FILE…",
	summary: "sum up reports of several corpora in one table for each half of the queries",
	about: `
Reads what bench --json wrote, one report a corpus, all with the same systems, and prints a table as
Markdown for each half of the queries: means over questions (query), keywords (keyword, queries:…) and
spans (part:…) and over these kinds, with 95 % bootstrap intervals, processor time a query and memory a
passage. Within a kind every corpus counts alike. What was chosen on the dev half is quoted of the
test half.`,
	examples: []string{
		"lexsem bench summary nq.json fiqa.json cranfield.json",
		"lexsem bench summary --half test --metric ndcg@1 --json summary.json *.json",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		half := f.str("half", "dev,test", "`LIST`halves, a table each: dev, test, all")
		metric := f.str("metric", "ndcg@10", "metric of the table")
		seed := f.uint64("seed", 1, "seed of the intervals")
		to := f.outFile("json", "", "`FILE`write the tables as JSON; - is standard output, instead of Markdown")
		return func(_ context.Context, a *app, args []string) error {
			var halves []bench.Half
			for _, name := range list(*half) {
				h, err := bench.ParseHalf(name)
				if err != nil {
					return usagef("--half %q: use dev, test and all, separated by commas", *half)
				}
				halves = append(halves, h)
			}
			if len(args) == 0 || len(halves) == 0 {
				return hinted(usagef("no report or no half given"), "name files that `lexsem bench … --json FILE` wrote")
			}
			b, err := report.Read(args...)
			if err != nil {
				return err
			}
			var tables []*report.Summary
			for _, h := range halves {
				s, err := report.Summarize(b.Benches, h, *metric, *seed)
				if err != nil {
					return err
				}
				tables = append(tables, s)
			}
			return writeReport(a, *to, func(w io.Writer) error { return bench.WriteJSON(w, tables) },
				func(w io.Writer) error { return report.WriteSummaries(w, tables) })
		}
	},
}
