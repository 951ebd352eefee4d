package command

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/bench/report"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/private"
)

var cmdBenchReport = command{
	name:    "bench report",
	args:    "FILE…",
	summary: "make one page, table or Markdown of files of --json",
	about: `
Reads files that these commands wrote with --json and makes one HTML page with plots, or Markdown,
of all of them: scores with intervals, score against span length, wins and losses with texts, gain
against amounts, recall against speed, memory during a soak. Of several corpora, tables with a
column for each and the mean over them follow, by nDCG@10; the CSV has these means of every metric.`,
	examples: []string{
		"lexsem bench report bench.json curve.json ann.json --html page.html",
		"lexsem bench report scifact.json fiqa.json nq.json --latex table.tex",
	},
	declare: func(f *flags) action {
		md := f.outFile("md", "", "`FILE`write Markdown; without a file or folder to write, Markdown is printed")
		html := f.outFile("html", "", "`FILE`write one HTML page with plots")
		latex := f.outFile("latex", "", "`FILE`write the reports of bench as LaTeX tables (booktabs)")
		csv := f.outFile("csv", "", "`FILE`write their means, intervals and p values as CSV")
		perQuery := f.outFile("per-query", "", "`FILE`write their scores of every query as CSV")
		svg := f.outDir("svg", "`DIR`write each plot as an SVG file")
		return func(_ context.Context, a *app, args []string) error {
			if len(args) == 0 {
				return hinted(usagef("no report given"), "name files that `lexsem bench … --json FILE` wrote")
			}
			b, err := report.Read(args...)
			if err != nil {
				return err
			}
			if *md+*html+*svg+*latex+*csv+*perQuery == "" {
				return b.WriteMarkdown(a.Stdout)
			}
			if len(b.Benches) == 0 && *latex+*csv+*perQuery != "" {
				return hinted(usagef("no report of bench among the files"), "--latex, --csv and --per-query show what `lexsem bench --json FILE` wrote")
			}
			return errors.Join(writePages(*md, *html, b), writeCharts(*svg, b), writeAsked(*latex, func(w io.Writer) error { return b.WriteLaTeX(w, nil) }),
				writeAsked(*csv, b.WriteCSV), writeAsked(*perQuery, b.WritePerQuery))
		}
	},
}

// writeCharts writes the plots of b into a folder, which it creates.
func writeCharts(dir string, b *report.Bundle) error {
	if dir == "" {
		return nil
	}
	if err := private.MkdirAll(dir); err != nil {
		return err
	}
	for _, c := range b.Charts() {
		if err := writeFile(filepath.Join(dir, c.Name+".svg"), c.WriteSVG); err != nil {
			return err
		}
	}
	return nil
}

var cmdBenchCompare = command{
	name:    "bench compare",
	args:    "A.json B.json",
	summary: "tell which differences of two reports exceed chance",
	about: `
Compares every system of the second report with the system of the same name in the first, task by
task, over the queries that both have. Prints the difference of the means, p of a paired
randomization test, and p with Holm's correction over all lines. --base compares all systems with
one system of the first report; that system itself is left out, also of the correction.`,
	examples: []string{
		"lexsem bench compare before.json after.json --metric ndcg@1",
		"lexsem bench compare bench.json bench.json --base bm25 --json -",
	},
	declare: func(f *flags) action {
		metric := f.str("metric", "ndcg@10", "`METRIC`metric to compare by")
		base := f.str("base", "", "`SYSTEM`compare all systems with this system of the first report")
		seed := f.seed("seed of the test")
		to := f.outFile("json", "", "`FILE`write the comparison as JSON; - prints it instead of the table")
		return func(_ context.Context, a *app, args []string) error {
			if len(args) != 2 {
				return hinted(usagef("bench compare takes two reports, got %d", len(args)), "name two files that `lexsem bench --json FILE` wrote")
			}
			var reports [2]*bench.Report
			for i, name := range args {
				b, err := report.Read(name)
				if err != nil {
					return err
				}
				if len(b.Benches) != 1 {
					return usagef("%s holds %d reports of bench; bench compare takes one report per file", name, len(b.Benches))
				}
				reports[i] = b.Benches[0]
			}
			cs, err := compare.Compare(reports[0], reports[1], *metric, *base, *seed)
			if err != nil {
				return err
			}
			return writeReport(a, *to, func(w io.Writer) error { return bench.WriteJSON(w, cs) }, cs.WriteTable)
		}
	},
}
