package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/table"
	"github.com/lexsem/lexsem/internal/stat"
)

// Comparisons compare two reports, a system on a task each.
type Comparisons []comparison

// comparison compares one system on one task between two reports.
type comparison struct {
	Task    string  `json:"task"`
	System  string  `json:"system"` // system of the second report
	Base    string  `json:"base"`   // system of the first report
	Metric  string  `json:"metric"`
	Queries int     `json:"queries"` // number of common queries
	A       float64 `json:"a"`       // mean of the first report over those queries
	B       float64 `json:"b"`       // mean of the second report
	Delta   float64 `json:"delta"`   // B − A
	Low     float64 `json:"low"`     // 95 % bootstrap interval of Delta over the queries
	High    float64 `json:"high"`
	P       float64 `json:"p"`      // p value of the paired randomization test
	PHolm   float64 `json:"p_holm"` // P, corrected over all comparisons
	Better  int     `json:"better"` // number of queries with a higher score in the second report
	Worse   int     `json:"worse"`
}

// Compare compares every system of b with the one of the same name in a, task by task, over the
// queries of both. With base it compares all others with that system of a. The corpora must agree in name and
// number of passages, and the seeds must agree if queries are drawn by seed. Reports must have
// per-query scores.
func Compare(a, b *bench.Report, metric, base string, seed uint64) (Comparisons, error) {
	if a.Data != b.Data {
		return nil, fmt.Errorf("%w: one is of %s, the other of %s; compare runs on the same corpus", ErrReport, a.Data, b.Data)
	}
	if a.Documents != b.Documents {
		return nil, fmt.Errorf("%w: one is of %d passages, the other of %d; compare runs over the same passages", ErrReport, a.Documents, b.Documents)
	}
	var out Comparisons
	itself := false
	for _, rb := range b.Results {
		name := rb.System
		if base != "" {
			name = base
		}
		ra := Find(a.Results, name, rb.Task)
		if ra == nil {
			continue
		}
		if a.Seed != b.Seed && !judged(rb.Task) {
			return nil, fmt.Errorf("%w: the queries of %s were drawn with seed %d in one and %d in the other, and are not the same under the same names; measure both with one --seed, or with judged tasks alone", ErrReport, rb.Task, a.Seed, b.Seed)
		}
		x, y, err := paired(a, b, ra, &rb, metric)
		if err != nil {
			return nil, err
		}
		if base != "" && rb.System == base && slices.Equal(x, y) {
			itself = true
			continue // the base against itself is no comparison, and would widen Holm's family
		}
		t, err := stat.RandomizationTest(x, y, stat.Permutations, seed)
		if err != nil {
			return nil, err
		}
		differences := make([]float64, len(x))
		for i := range x {
			differences[i] = y[i] - x[i]
		}
		interval, err := stat.Bootstrap([][]float64{differences}, stat.Resamples, seed)
		if err != nil {
			return nil, err
		}
		c := comparison{Task: rb.Task, System: rb.System, Base: name, Metric: metric, Queries: len(x), Delta: t.Delta, P: t.P, Low: interval[0].Low, High: interval[0].High}
		for i := range x {
			c.A += x[i] / float64(len(x))
			c.B += y[i] / float64(len(x))
			if y[i] > x[i] {
				c.Better++
			} else if y[i] < x[i] {
				c.Worse++
			}
		}
		out = append(out, c)
	}
	if len(out) == 0 && itself {
		return nil, fmt.Errorf("%w: they share nothing but %s, which is the base; compare it with another system", ErrReport, base)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: they share no system on the same task; name one of the first with --base", ErrReport)
	}
	var ps []float64
	for _, c := range out {
		ps = append(ps, c.P)
	}
	for i, p := range stat.Holm(ps) {
		out[i].PHolm = p
	}
	return out, nil
}

// paired returns the scores of the queries that both results contain.
func paired(a, b *bench.Report, ra, rb *bench.Result, metric string) (x, y []float64, err error) {
	va, vb := ra.PerQuery[metric], rb.PerQuery[metric]
	ia, ib := Queries(a, ra.Task), Queries(b, rb.Task)
	if len(va) == 0 || len(vb) == 0 || len(va) != len(ia) || len(vb) != len(ib) {
		return nil, nil, fmt.Errorf("%w: %s on %s has no scores of single queries for %s in both; measure it with --metrics and --json", ErrReport, rb.System, rb.Task, metric)
	}
	at := make(map[string]int, len(ia))
	for i, id := range ia {
		at[id] = i
	}
	for j, id := range ib {
		if i, ok := at[id]; ok {
			x, y = append(x, va[i]), append(y, vb[j])
		}
	}
	if len(x) == 0 {
		return nil, nil, fmt.Errorf("%w: the reports share no query of %s", ErrReport, rb.Task)
	}
	return x, y, nil
}

// judged reports whether the queries of a task come from files, so that they do not depend on the seed.
func judged(task string) bool {
	family, _, _ := strings.Cut(task, ":")
	return family == "query" || family == "queries"
}

// WriteTable writes comparisons as a table for the terminal.
func (cs Comparisons) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "task\tsystem\tqueries\ta\tb\tΔ %s\t95 %%\tp\tp (Holm)\tbetter\tworse\t\n", cs[0].Metric)
	signed := func(v float64) string { return strings.Replace(fmt.Sprintf("%+.2f", 100*v), "-", "−", 1) }
	for _, c := range cs {
		name := c.System
		if c.Base != c.System {
			name += " against " + c.Base
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s to %s\t%.4f\t%.4f\t%d\t%d\t\n", c.Task, name, c.Queries,
			table.Percent(c.A), table.Percent(c.B), signed(c.Delta), signed(c.Low), signed(c.High), c.P, c.PHolm, c.Better, c.Worse)
	}
	return t.Flush()
}
