package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/bench/report"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/repeat"
)

var cmdBenchCurve = command{
	name:    "bench curve",
	summary: "gain against training queries, steps or corpus size",
	about: `
Runs the bench once for each amount of --at. --over queries varies the training queries per
passage, which gives the training curve of a bridge. --over steps varies the steps of its descent.
--over passages varies the number of passages that are drawn from the corpus. Texts are encoded
once. The last table shows the training loss.`,
	examples: []string{
		"lexsem bench curve --data my-corpus --over queries --at 1,2,4,8,16 --systems dense,slr,rlr+slr --html curve.html",
		"lexsem bench curve --data my-corpus --over passages --at 500,1000,2000 --tasks keyword --json curve.json",
	},
	declare: func(f *flags) action {
		o := declareBench(f)
		f.group("Curve")
		over := f.str("over", repeat.OverQueries, "`WHAT`what varies: queries, steps or passages")
		at := f.str("at", "1,2,4,8,16", "`LIST`amounts")
		o.json = f.outFile("json", "", "`FILE`write the curve as JSON; - prints it instead of the table")
		o.md = f.outFile("md", "", "`FILE`write the curve as Markdown")
		o.html = f.outFile("html", "", "`FILE`write the curve as one HTML page with plots")
		return func(ctx context.Context, a *app, _ []string) error {
			var amounts []int
			for _, s := range list(*at) {
				n, err := strconv.Atoi(s)
				if err != nil || n < 1 {
					return usagef("--at %q: use numbers from 1, separated by commas", *at)
				}
				amounts = append(amounts, n)
			}
			opt, err := o.options()
			if err != nil {
				return err
			}
			if *over == "passages" && opt.PassagesLimit > 0 {
				return hinted(usagef("--passages-limit %d does not go with --over passages", opt.PassagesLimit), "leave it out: --at says how many passages are drawn")
			}
			var c *repeat.Curve
			err = o.measure(ctx, a, &opt, func(enc encoder.Encoder) (err error) {
				c, err = repeat.RunCurve(ctx, enc, opt, *over, amounts)
				return err
			})
			if err != nil {
				return err
			}
			if err := writePages(*o.md, *o.html, &report.Bundle{Curves: []*repeat.Curve{c}}); err != nil {
				return err
			}
			return writeReport(a, *o.json, func(w io.Writer) error { return bench.WriteJSON(w, c) },
				func(w io.Writer) error { return writeCurve(w, c) })
		}
	},
}

// writeCurve writes ndcg@10 in hundredths, a column an amount.
func writeCurve(w io.Writer, c *repeat.Curve) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "task%s\tsystem\tndcg@10 at", c.Asked(", "))
	for _, p := range c.Points {
		fmt.Fprintf(t, "\t%s", thousands(p.X))
	}
	fmt.Fprintln(t, "\t")
	for i, r := range c.Points[0].Results {
		fmt.Fprintf(t, "%s\t%s\t", r.Task, r.System)
		for _, p := range c.Points {
			fmt.Fprintf(t, "\t%.1f", 100*p.Results[i].Metrics["ndcg@10"])
		}
		fmt.Fprintln(t, "\t")
	}
	last := c.Points[len(c.Points)-1].Fit
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if last[name].Loss == 0 {
			continue
		}
		fmt.Fprintf(t, "loss\t%s\t", name)
		for _, p := range c.Points {
			fmt.Fprintf(t, "\t%.3f", p.Fit[name].Loss)
		}
		fmt.Fprintln(t, "\t")
	}
	return t.Flush()
}
