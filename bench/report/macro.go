package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/table"
)

// macro is one task by one metric on several corpora: a line for each system, a cell for each corpus, and a
// last column with the mean.
type macro struct {
	Task, Metric, Encoder string
	Corpora               []string
	Rows                  []row
	queries               []int     // of each corpus
	means                 []float64 // of each row
}

// macros returns the tasks that were run on two or more corpora with one encoder, each with the systems that
// all these corpora have. Reports of one corpus with several seeds count as one, by their mean.
func macros(reports []*bench.Report, metric string) (out []macro) {
	var encoders, tasks []string
	for _, r := range reports {
		if !slices.Contains(encoders, r.Encoder) {
			encoders = append(encoders, r.Encoder)
		}
		for _, task := range compare.Tasks(r.Results) {
			if !slices.Contains(tasks, task) {
				tasks = append(tasks, task)
			}
		}
	}
	for _, enc := range encoders {
		for _, task := range tasks {
			if m := macroOf(reports, enc, task, metric); len(m.Corpora) > 1 && len(m.Rows) > 0 {
				out = append(out, m)
			}
		}
	}
	return out
}

func macroOf(reports []*bench.Report, enc, task, metric string) macro {
	m := macro{Task: task, Metric: metric, Encoder: enc}
	of := map[string][]*bench.Report{} // by corpus
	for _, r := range reports {
		if i := slices.IndexFunc(r.Results, func(x bench.Result) bool { return x.Task == task && hasMetric(x, metric) }); r.Encoder != enc || i < 0 {
			continue
		} else if of[r.Data] == nil {
			m.Corpora = append(m.Corpora, r.Data)
			m.queries = append(m.queries, r.Results[i].Queries)
		}
		of[r.Data] = append(of[r.Data], r)
	}
	if len(m.Corpora) == 0 {
		return m
	}
	var values [][]float64
	for _, system := range compare.Systems(of[m.Corpora[0]][0].Results) {
		means := make([]float64, len(m.Corpora)+1)
		all := true
		for c, corpus := range m.Corpora {
			for _, r := range of[corpus] {
				res := compare.Find(r.Results, system, task)
				if all = all && res != nil && hasMetric(*res, metric); all {
					means[c] += res.Metrics[metric] / float64(len(of[corpus]))
				}
			}
			means[len(m.Corpora)] += means[c] / float64(len(m.Corpora))
		}
		if all {
			values, m.Rows, m.means = append(values, means), append(m.Rows, row{System: system}), append(m.means, means[len(m.Corpora)])
		}
	}
	for i, means := range values {
		for c, v := range means {
			better := slices.ContainsFunc(values, func(of []float64) bool { return shown(of[c]) > shown(v) })
			m.Rows[i].Cells = append(m.Rows[i].Cells, cell{Value: table.Percent(v), Best: !better})
		}
	}
	return m
}

func hasMetric(r bench.Result, metric string) bool { _, ok := r.Metrics[metric]; return ok }

// marked is the value between marks if it is the best.
func (c cell) marked(before, after string) string {
	if c.Best {
		return before + c.Value + after
	}
	return c.Value
}

func (m macro) markdown(out *strings.Builder) {
	fmt.Fprintf(out, "**%s over %d corpora**, %s, %s × 100\n\n| system |", table.Cell(m.Task), len(m.Corpora), table.Cell(m.Encoder), m.Metric)
	for i, c := range m.Corpora {
		fmt.Fprintf(out, " %s (%d) |", table.Cell(c), m.queries[i])
	}
	fmt.Fprintf(out, " mean |\n|---|%s\n", strings.Repeat("---|", len(m.Corpora)+1))
	for _, r := range m.Rows {
		fmt.Fprintf(out, "| %s |", table.Cell(r.System))
		for _, c := range r.Cells {
			fmt.Fprintf(out, " %s |", c.marked("**", "**"))
		}
		out.WriteString("\n")
	}
	out.WriteString("\n")
}

func (m macro) latex(out *strings.Builder) {
	fmt.Fprintf(out, "\\begin{table}\n\\centering\n\\begin{tabular}{l%s}\n\\toprule\nsystem", strings.Repeat("r", len(m.Corpora)+1))
	for _, c := range m.Corpora {
		fmt.Fprintf(out, " & %s", latexText(c))
	}
	out.WriteString(" & mean \\\\\n\\midrule\n")
	for _, r := range m.Rows {
		out.WriteString(latexText(r.System))
		for _, c := range r.Cells {
			out.WriteString(" & " + c.marked("\\textbf{", "}"))
		}
		out.WriteString(" \\\\\n")
	}
	fmt.Fprintf(out, "\\bottomrule\n\\end{tabular}\n\\caption{Task %s, %s $\\times$ 100, %s; every corpus counts alike in the mean, the best is bold.}\n\\label{tab:macro-%s-%s}\n\\end{table}\n",
		latexText(m.Task), latexText(title(m.Metric)), latexText(m.Encoder), latexLabel(m.Task), latexLabel(m.Encoder))
}
