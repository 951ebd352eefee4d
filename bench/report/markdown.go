package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/repeat"
	"github.com/lexsem/lexsem/internal/bench/table"
)

// WriteMarkdown writes every bench report of b as Markdown tables, one a task. The highest value of
// each column is bold, and a dagger marks systems that differ from dense (Holm-corrected p < .05).
// Tables over all corpora, curves, indexes, soaks and databases follow.
func (b *Bundle) WriteMarkdown(w io.Writer) error {
	var out strings.Builder
	for _, r := range b.Benches {
		markdownBench(&out, r)
	}
	for _, m := range macros(b.Benches, mainMetric) {
		m.markdown(&out)
	}
	for _, c := range b.Curves {
		markdownCurve(&out, c)
	}
	for _, a := range b.ANN {
		fmt.Fprintf(&out, "## Index %s\n\n%d vectors of %d dimensions, %.1f s to build.\n\n", table.Cell(a.Index), a.N, a.Dim, a.BuildSeconds)
		out.WriteString("| ef | recall@10 | queries/s | p50 µs | p99 µs |\n|---|---|---|---|---|\n")
		for _, p := range a.Points {
			fmt.Fprintf(&out, "| %d | %.4f | %.0f | %.0f | %.0f |\n", p.Ef, p.Recall, p.QPS, p.P50, p.P99)
		}
		out.WriteString("\n")
	}
	for _, r := range b.Soaks {
		fmt.Fprintf(&out, "## Soak\n\n```\n")
		if err := r.WriteTable(&out); err != nil {
			return err
		}
		out.WriteString("```\n\n")
	}
	if lives := sizes(b.Lives); len(lives) > 0 {
		out.WriteString("## Databases\n\n| documents |")
		for _, r := range lives {
			fmt.Fprintf(&out, " %d |", r.Docs)
		}
		fmt.Fprintf(&out, " slope |\n|---%s|---|\n", strings.Repeat("|---", len(lives)))
		for _, g := range growths(lives) {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", g.Name, strings.Join(g.Values, " | "), g.Slope)
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(out.String(), "\n")+"\n")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func markdownBench(out *strings.Builder, r *bench.Report) {
	fmt.Fprintf(out, "## %s\n\n%s, %s (%d distinct), seed %d%s. Means × 100 with 95 %% bootstrap intervals; Δ and p (Holm-corrected) against dense in %s.\n\n",
		table.Cell(r.Data), table.Cell(r.Encoder), r.Searched("passages"), r.Distinct, r.Seed, r.Asked(", "), mainMetric)
	for _, note := range r.Notes() {
		out.WriteString(table.Cell(note) + "\n\n")
	}
	for _, t := range tables(r) {
		fmt.Fprintf(out, "**%s**, %d queries", table.Cell(t.Task), t.Queries)
		if t.LeftOut > 0 {
			fmt.Fprintf(out, " (%d left out)", t.LeftOut)
		}
		fmt.Fprintf(out, "\n\n| system | %s | Δ | p |\n|---%s|---|---|\n", strings.Join(t.Metrics, " | "), strings.Repeat("|---", len(t.Metrics)))
		for _, line := range t.Rows {
			fmt.Fprintf(out, "| %s |", table.Cell(line.System))
			for _, c := range line.Cells {
				v := c.Value
				if c.Best {
					v = "**" + v + "**"
				}
				if c.Interval != "" {
					v += " (" + c.Interval + ")"
				}
				fmt.Fprintf(out, " %s |", v)
			}
			mark := ""
			if line.Sure {
				mark = " †"
			}
			fmt.Fprintf(out, " %s | %s%s |\n", line.Delta, line.P, mark)
		}
		out.WriteString("\n")
	}
}

func markdownCurve(out *strings.Builder, c *repeat.Curve) {
	fmt.Fprintf(out, "## %s over %s\n\n%s, seed %d%s, %s × 100.\n\n", table.Cell(c.Data), c.Over, table.Cell(c.Encoder), c.Seed, c.Asked(", "), mainMetric)
	if len(c.Points) == 0 {
		return
	}
	for _, task := range compare.Tasks(c.Points[0].Results) {
		systems := compare.Systems(c.Points[0].Results)
		fmt.Fprintf(out, "| %s: %s | %s |\n|---%s|\n", table.Cell(task), c.Over, strings.Join(systems, " | "), strings.Repeat("|---", len(systems)))
		for _, p := range c.Points {
			fmt.Fprintf(out, "| %d |", p.X)
			for _, s := range systems {
				if res := compare.Find(p.Results, s, task); res != nil {
					fmt.Fprintf(out, " %s |", table.Percent(res.Metrics[mainMetric]))
				} else {
					out.WriteString(" |")
				}
			}
			out.WriteString("\n")
		}
		out.WriteString("\n")
	}
}
