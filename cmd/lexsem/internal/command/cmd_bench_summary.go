package command

import (
	"context"
	"io"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/bench/report"
	"github.com/lexsem/lexsem/internal/bench/compare"
)

var cmdBenchSummary = command{
	name:    "bench summary",
	args:    "FILE…",
	summary: "one table over several corpora, with macro means",
	about: `
Reads the files that bench --json wrote, one per corpus and all with the same systems. Prints a
Markdown table for each half of the queries: means over questions (query), keywords (keyword,
queries:…) and spans (part:…) and over these kinds, with 95 % bootstrap intervals, processor time
per query and memory per passage. Within a kind every corpus counts the same. Quote choices that
were made on the dev half with the figures of the test half.`,
	examples: []string{
		"lexsem bench summary nq.json fiqa.json cranfield.json",
		"lexsem bench summary --half test --metric ndcg@1 --json summary.json *.json",
	},
	declare: func(f *flags) action {
		half := f.str("half", "dev,test", "`LIST`halves, each with its own table: dev, test, all")
		metric := f.str("metric", "ndcg@10", "`METRIC`metric of the table")
		seed := f.seed("seed of the intervals")
		to := f.outFile("json", "", "`FILE`write the tables as JSON; - prints them instead of Markdown")
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
			var tables []*compare.Summary
			for _, h := range halves {
				s, err := compare.Summarize(b.Benches, h, *metric, *seed)
				if err != nil {
					return err
				}
				tables = append(tables, s)
			}
			return writeReport(a, *to, func(w io.Writer) error { return bench.WriteJSON(w, tables) },
				func(w io.Writer) error { return compare.WriteSummaries(w, tables) })
		}
	},
}
