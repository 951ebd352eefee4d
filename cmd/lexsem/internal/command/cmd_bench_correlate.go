package command

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/sure"
)

var cmdBenchCorrelate = command{
	name:    "bench correlate",
	args:    "FILE…",
	summary: "do SURE's measures and nDCG@10 rank systems alike?",
	about: `
Reads the files that bench sure --json wrote for several encoders on the same sets, and prints
Spearman's rank correlations over their systems: of RDC and ROC with nDCG@10 on each set (Table 5
of the paper), and between the testbeds by their means over the sets (Fig. 5).`,
	examples: []string{
		"lexsem bench correlate minilm-nq.json minilm-fiqa.json bge-nq.json bge-fiqa.json",
		"lexsem bench correlate --json correlations.json *.json",
	},
	declare: func(f *flags) action {
		to := f.outFile("json", "", "`FILE`write the correlations as JSON; - prints them instead of the table")
		return func(_ context.Context, a *app, args []string) error {
			if len(args) == 0 {
				return hinted(usagef("no report given"), "name files that `lexsem bench sure --json FILE` wrote")
			}
			reports, err := sure.ReadReports(args...)
			if err != nil {
				return err
			}
			c, err := sure.Correlate(reports)
			if err != nil {
				return err
			}
			return writeReport(a, *to, func(w io.Writer) error { return bench.WriteJSON(w, c) }, func(w io.Writer) error {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "over\tmeasure\tbetween\tSpearman")
				for _, r := range c.Rows {
					fmt.Fprintf(t, "%s\t%s\t%s\t%+.2f\n", r.Over, r.Measure, r.Between, r.Spearman)
				}
				fmt.Fprintf(t, "%d systems\n", len(c.Systems))
				return t.Flush()
			})
		}
	},
}
