package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/repeat"
	"github.com/lexsem/lexsem/internal/bench/table"
)

// WriteLaTeX writes each bench report of b as a LaTeX table in the style of booktabs: a block of lines
// for each task, a column for each metric. The best value of a column is bold. A dagger marks a value
// that differs from that of dense (Holm-corrected p < .05). The caption names corpus, model, seed and
// commit; a comment has the entry for BibTeX. metrics are the columns; nil means all. With Seeds it is one table of the
// means and standard deviations. Of several corpora, a table for each task follows, by nDCG@10 and with the mean over
// the corpora.
func (b *Bundle) WriteLaTeX(w io.Writer, metrics []string) error {
	if b.Seeds != nil {
		return writeSeeds(w, b.Seeds, metrics)
	}
	var out strings.Builder
	for i, r := range b.Benches {
		if i == 0 {
			out.WriteString(citation(r))
		} else {
			out.WriteString("\n")
		}
		t := latexTable{report: r, metrics: chosen(r.Results, metrics), seeds: fmt.Sprintf("seed %d", r.Seed)}
		for _, res := range r.Results {
			line := latexLine{task: res.Task, system: res.System}
			for _, m := range t.metrics {
				d, ok := res.VsDenseBy[m]
				line.cells = append(line.cells, latexCell{mean: res.Metrics[m], sure: ok && d.PHolm < .05})
			}
			t.lines = append(t.lines, line)
		}
		t.write(&out)
	}
	for _, m := range macros(b.Benches, mainMetric) {
		out.WriteString("\n")
		m.latex(&out)
	}
	return writeText(w, out.String())
}

// writeSeeds writes a table of the means over several seeds, each with its standard deviation.
func writeSeeds(w io.Writer, s *repeat.Seeds, metrics []string) error {
	r := s.Reports[0]
	t := latexTable{report: r, metrics: chosen(r.Results, metrics), spread: true, seeds: fmt.Sprintf("mean and standard deviation over seeds %d to %d", s.Seeds[0], s.Seeds[len(s.Seeds)-1])}
	for _, res := range s.Results {
		line := latexLine{task: res.Task, system: res.System}
		for _, m := range t.metrics {
			d, ok := res.VsDense[m]
			line.cells = append(line.cells, latexCell{mean: res.Metrics[m].Mean, sd: res.Metrics[m].SD, sure: ok && d.PHolm < .05})
		}
		t.lines = append(t.lines, line)
	}
	var out strings.Builder
	out.WriteString(citation(r))
	t.write(&out)
	return writeText(w, out.String())
}

func writeText(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("writing LaTeX: %w", err)
	}
	return nil
}

// latexTable is what a table shows.
type latexTable struct {
	report  *bench.Report
	metrics []string
	lines   []latexLine
	spread  bool // cells show sd
	seeds   string
}

type latexLine struct {
	task, system string
	cells        []latexCell
}

type latexCell struct {
	mean, sd float64
	sure     bool // differs from dense
}

func (t latexTable) write(out *strings.Builder) {
	fmt.Fprintf(out, "%% Needs \\usepackage{booktabs}.\n\\begin{table}\n\\centering\n\\begin{tabular}{l%s}\n\\toprule\nsystem", strings.Repeat("r", len(t.metrics)))
	for _, m := range t.metrics {
		fmt.Fprintf(out, " & %s", latexText(title(m)))
	}
	out.WriteString(" \\\\\n")
	tasks := map[string][]float64{} // the best of each column, as it is shown
	for _, line := range t.lines {
		best := tasks[line.task]
		if best == nil {
			best = make([]float64, len(t.metrics))
			tasks[line.task] = best
		}
		for i, c := range line.cells {
			best[i] = max(best[i], shown(c.mean))
		}
	}
	task := ""
	for i, line := range t.lines {
		if i == 0 || line.task != task {
			task = line.task
			fmt.Fprintf(out, "\\midrule\n\\multicolumn{%d}{l}{\\emph{%s}} \\\\\n", len(t.metrics)+1, latexText(task))
		}
		out.WriteString(latexText(line.system))
		for j, c := range line.cells {
			v := table.Percent(c.mean)
			if shown(c.mean) == tasks[task][j] {
				v = "\\textbf{" + v + "}"
			}
			if t.spread {
				v += fmt.Sprintf(" $\\pm$ %.1f", 100*c.sd)
			}
			if c.sure {
				v += "$^\\dagger$"
			}
			out.WriteString(" & " + v)
		}
		out.WriteString(" \\\\\n")
	}
	r := t.report
	by := builtAs(r)
	fmt.Fprintf(out, "\\bottomrule\n\\end{tabular}\n\\caption{%s, %s, %s, %s%s, %s. Values $\\times$ 100; the best of each task is bold; $\\dagger$: differs from dense (paired randomization test over the queries, $p < .05$ with Holm's correction over the systems of a task).}\n\\label{tab:%s}\n\\end{table}\n",
		latexText(r.Data), latexText(r.Searched("passages")), latexText(r.Encoder), t.seeds, latexText(r.Asked(", ")), latexText(by), latexLabel(r.Data))
}

// builtAs names the program and its commit.
func builtAs(r *bench.Report) string {
	by := strings.TrimSpace("lexsem " + r.Version)
	if r.Commit != "" {
		by += ", commit " + r.Commit[:min(len(r.Commit), 12)]
	}
	return by
}

// citation is a comment with the entry of the program for BibTeX.
func citation(r *bench.Report) string {
	return "% Cite: @software{lexsem, author = {{The lexsem authors}}, title = {" + latexText(builtAs(r)) + "}, url = {https://github.com/lexsem/lexsem}}\n"
}

// shown is a mean as the table rounds it.
func shown(mean float64) float64 {
	x, err := strconv.ParseFloat(table.Percent(mean), 64)
	if err != nil { // no number
		return 0
	}
	return x
}

// latexText escapes what LaTeX reads as commands.
func latexText(s string) string {
	return strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`,
		"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "\n", " ").Replace(s)
}

// latexLabel keeps the characters of a name that a label may have.
func latexLabel(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
}
