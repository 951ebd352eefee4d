package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/kinds"
	"github.com/lexsem/lexsem/internal/bench/table"
	"github.com/lexsem/lexsem/internal/stat"
)

// Summary is a table over several corpora: the mean of each system for each kind of query and over the
// kinds, with its cost.
type Summary struct {
	Half    bench.Half `json:"half"`
	Metric  string     `json:"metric"`
	Clean   bool       `json:"clean"`
	Encoder string     `json:"encoder"`
	Version string     `json:"version"`
	Seeds   []uint64   `json:"seeds"`
	// Kinds are the kinds with a task in some report, in the order of kinds.All.
	Kinds []summaryKind `json:"kinds"`
	Rows  []summaryRow  `json:"rows"`
}

// summaryKind lists the data of a column.
type summaryKind struct {
	Kind    string   `json:"kind"`
	Corpora []string `json:"corpora"`
	Queries int      `json:"queries"`
}

// summaryRow is one system. Cells[0] is the mean over the kinds; one cell for each kind follows.
// Figures are in [0, 1].
type summaryRow struct {
	System string        `json:"system"`
	Cells  []summaryCell `json:"cells"`
	// CPUMsPerQuery is the mean over the corpora. BytesPerPassage is the memory of all corpora divided
	// by all their passages, so that the fixed cost of small corpora weighs little. Both are 0 if a
	// report lacks them.
	CPUMsPerQuery   float64 `json:"cpu_ms_per_query"`
	BytesPerPassage float64 `json:"bytes_per_passage"`
}

// summaryCell is a mean with its 95 % bootstrap interval over the queries.
type summaryCell struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// kindOf is the number of the kind of a task. A summary leaves out tasks without a kind, such as those
// that other packages register.
func kindOf(task string) int { return slices.Index(kinds.All, kinds.Of(task)) }

// scored is one task of one corpus, over the queries of a half.
type scored struct {
	name kinds.Name
	kind int
	rows [][]float64 // system → query
}

// Summarize makes the table of one half of the queries. Within a kind every corpus has equal weight,
// within a corpus every task, and in the mean every kind.
//
// Each report must be of a different corpus. All must have the same systems, encoder and program
// version, and per-query scores. Clean queries must be used in all or in none. seed determines the
// intervals.
func Summarize(reports []*bench.Report, half bench.Half, metric string, seed uint64) (*Summary, error) {
	if len(reports) == 0 {
		return nil, fmt.Errorf("%w: nothing to sum up", ErrReport)
	}
	first := reports[0]
	systems := Systems(first.Results)
	s := &Summary{Half: half, Metric: metric, Clean: first.Clean, Encoder: first.Encoder, Version: first.Version}
	var all []scored
	var seen []string
	for _, r := range reports {
		if slices.Contains(seen, r.Data) {
			return nil, fmt.Errorf("%w: two of %s; give one a corpus", ErrReport, r.Data)
		}
		seen = append(seen, r.Data)
		if r.Encoder != first.Encoder || r.Version != first.Version || r.Clean != first.Clean {
			return nil, fmt.Errorf("%w: %s was measured with %s, program %q, clean probes %v, and %s with %s, %q, %v; measure all alike",
				ErrReport, first.Data, first.Encoder, first.Version, first.Clean, r.Data, r.Encoder, r.Version, r.Clean)
		}
		if !slices.Contains(s.Seeds, r.Seed) {
			s.Seeds = append(s.Seeds, r.Seed)
		}
		for _, task := range Tasks(r.Results) {
			t, err := scoresOf(r, task, systems, half, metric)
			if err != nil {
				return nil, err
			}
			if t.kind >= 0 && len(t.rows[0]) > 0 {
				all = append(all, t)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: none of them asks a query of the %s half", ErrReport, half)
	}
	var present []int
	for k := range kinds.All {
		column := summaryKind{Kind: kinds.All[k]}
		for _, t := range all {
			if t.kind != k {
				continue
			}
			column.Queries += len(t.rows[0])
			if !slices.Contains(column.Corpora, t.name.Corpus) {
				column.Corpora = append(column.Corpora, t.name.Corpus)
			}
		}
		if column.Queries > 0 {
			s.Kinds, present = append(s.Kinds, column), append(present, k)
		}
	}
	for _, name := range systems {
		s.Rows = append(s.Rows, summaryRow{System: name, CPUMsPerQuery: costOf(reports, name), BytesPerPassage: bytesOf(reports, name)})
	}
	for _, of := range append([][]int{present}, each(present)...) {
		means, intervals, err := stat.StratifiedMeans(strata(all, of), stat.Resamples, seed)
		if err != nil {
			return nil, err
		}
		for i := range s.Rows {
			s.Rows[i].Cells = append(s.Rows[i].Cells, summaryCell{means[i], intervals[i].Low, intervals[i].High})
		}
	}
	return s, nil
}

func each(list []int) (out [][]int) {
	for _, x := range list {
		out = append(out, []int{x})
	}
	return out
}

// strata returns the tasks of the given kinds, each with its weight.
func strata(all []scored, of []int) []stat.Stratum {
	var names []kinds.Name
	for _, t := range all {
		names = append(names, t.name)
	}
	weights := kinds.Weights(names)
	var out []stat.Stratum
	for i, t := range all {
		if slices.Contains(of, t.kind) {
			out = append(out, stat.Stratum{Rows: t.rows, Weight: weights[i]})
		}
	}
	return out
}

// scoresOf returns the scores of the systems on the queries of a half.
func scoresOf(r *bench.Report, task string, systems []string, half bench.Half, metric string) (scored, error) {
	t := scored{name: kinds.Name{Corpus: r.Data, Task: task}, kind: kindOf(task)}
	in := bench.TaskInput{Corpus: &bench.Corpus{Parts: strings.Split(r.Data, "+")}, Half: half}
	ids := Queries(r, task)
	for _, name := range systems {
		res := Find(r.Results, name, task)
		if res == nil {
			return t, fmt.Errorf("%w: %s has no %s on %s, which others have; measure all systems on each corpus", ErrReport, r.Data, name, task)
		}
		values := res.PerQuery[metric]
		if len(values) != len(ids) || len(ids) == 0 {
			return t, fmt.Errorf("%w: %s has no scores of single queries of %s on %s for %s; measure it with --metrics and --json", ErrReport, r.Data, name, task, metric)
		}
		row := []float64{}
		for i, id := range ids {
			if in.Asks(id) {
				row = append(row, values[i])
			}
		}
		t.rows = append(t.rows, row)
	}
	if half != bench.AllQueries && r.Half.Label() != "" && r.Half != half {
		return t, fmt.Errorf("%w: %s asks the %s alone; measure it with --half all, or the %s half", ErrReport, r.Data, r.Half.Label(), half)
	}
	return t, nil
}

// costOf is the mean over the reports of the processor time of a query.
func costOf(reports []*bench.Report, system string) float64 {
	sum := 0.0
	for _, r := range reports {
		n, total := 0, 0.0
		for _, res := range r.Results {
			if res.System == system {
				if res.CPUMsPerQuery == 0 {
					return 0
				}
				n, total = n+1, total+res.CPUMsPerQuery
			}
		}
		sum += total / float64(max(n, 1))
	}
	return sum / float64(len(reports))
}

// bytesOf is the memory of a passage over all reports.
func bytesOf(reports []*bench.Report, system string) float64 {
	bytes, passages := 0.0, 0
	for _, r := range reports {
		if r.BytesPerPassage[system] == 0 {
			return 0
		}
		bytes += r.BytesPerPassage[system] * float64(r.Distinct)
		passages += r.Distinct
	}
	return bytes / float64(passages)
}

// WriteSummaries writes summaries of the same reports as Markdown, one table for each half. The best
// value of each column is bold.
func WriteSummaries(w io.Writer, summaries []*Summary) error {
	var out strings.Builder
	for i, s := range summaries {
		if i > 0 {
			out.WriteString("\n")
		}
		what := s.Metric + " × 100"
		if h := s.Half.Label(); h != "" {
			what = h + ", " + what
		}
		head := []string{what, "mean"}
		for _, k := range s.Kinds {
			head = append(head, fmt.Sprintf("%s (%d)", k.Kind, len(k.Corpora)))
		}
		head = append(head, "CPU µs a query", "bytes a passage")
		fmt.Fprintf(&out, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, row := range s.Rows {
			fmt.Fprintf(&out, "| %s |", table.Cell(row.System))
			for c, cell := range row.Cells {
				v := table.Percent(cell.Mean)
				shown := func(x float64) float64 { return math.Round(1000 * x) }
				if !slices.ContainsFunc(s.Rows, func(o summaryRow) bool { return shown(o.Cells[c].Mean) > shown(cell.Mean) }) {
					v = "**" + v + "**"
				}
				fmt.Fprintf(&out, " %s (%s–%s) |", v, table.Percent(cell.Low), table.Percent(cell.High))
			}
			fmt.Fprintf(&out, " %s | %s |\n", rounded(1000*row.CPUMsPerQuery), rounded(row.BytesPerPassage))
		}
	}
	s := summaries[0]
	probes := ""
	if s.Clean {
		probes = ", clean probes"
	}
	var seeds []string
	for _, x := range s.Seeds {
		seeds = append(seeds, fmt.Sprint(x))
	}
	fmt.Fprintf(&out, "\n%s, seed %s%s, lexsem %s. ", table.Cell(s.Encoder), strings.Join(seeds, ", "), probes, table.Cell(s.Version))
	for _, k := range s.Kinds {
		queries := make([]string, len(summaries))
		for i, half := range summaries {
			j := slices.IndexFunc(half.Kinds, func(o summaryKind) bool { return o.Kind == k.Kind })
			if j < 0 {
				queries[i] = "0"
				continue
			}
			queries[i] = fmt.Sprint(half.Kinds[j].Queries)
		}
		fmt.Fprintf(&out, "%s: %s (%s queries). ", strings.ToUpper(k.Kind[:1])+k.Kind[1:], table.Cell(strings.Join(k.Corpora, ", ")), strings.Join(queries, " and "))
	}
	out.WriteString("Every corpus counts alike in a kind, every kind in the mean; 95 % bootstrap intervals over the queries. " +
		"CPU time of modulating and exact search, all threads, without the encoder; memory that is searched, without texts and encoder.\n")
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

// rounded shows two significant digits below 100, and whole numbers above; "–" for an unknown value.
func rounded(x float64) string {
	switch {
	case x == 0:
		return "–"
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", math.Round(x))
}
