package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/compare"
)

// WriteCSV writes every mean of the bench reports of b as one line of CSV, with all digits, and then the means
// over corpora.
func (b *Bundle) WriteCSV(w io.Writer) error {
	rows := [][]string{{"corpus", "model", "seed", "task", "system", "metric", "queries", "mean", "low", "high", "delta", "p", "p_holm"}}
	var all []bench.Result
	for _, r := range b.Benches {
		all = append(all, r.Results...)
		metrics := metricsOf(r.Results)
		for _, res := range r.Results {
			for _, m := range metrics {
				row := []string{r.Data, r.Encoder, strconv.FormatUint(r.Seed, 10), res.Task, res.System, m, strconv.Itoa(res.Queries), digits(res.Metrics[m]), "", "", "", "", ""}
				if iv, ok := res.Intervals[m]; ok {
					row[8], row[9] = digits(iv[0]), digits(iv[1])
				}
				if d, ok := res.VsDenseBy[m]; ok {
					row[10], row[11], row[12] = digits(d.Delta), digits(d.P), digits(d.PHolm)
				}
				rows = append(rows, row)
			}
		}
	}
	for _, metric := range metricsOf(all) {
		for _, m := range macros(b.Benches, metric) {
			for i, r := range m.Rows {
				queries := 0
				for _, n := range m.queries {
					queries += n
				}
				rows = append(rows, []string{fmt.Sprintf("mean of %d corpora", len(m.Corpora)), m.Encoder, "", m.Task, r.System, metric, strconv.Itoa(queries), digits(m.means[i]), "", "", "", "", ""})
			}
		}
	}
	return writeCSV(w, rows)
}

// WritePerQuery writes the score of every query of the bench reports of b as one line of CSV. A report must
// have per-query scores.
func (b *Bundle) WritePerQuery(w io.Writer) error {
	rows := [][]string{{"corpus", "model", "seed", "task", "system", "query", "metric", "score"}}
	for _, r := range b.Benches {
		for _, res := range r.Results {
			ids := compare.Queries(r, res.Task)
			for _, m := range metricsOf(r.Results) {
				if len(res.PerQuery[m]) != len(ids) {
					return fmt.Errorf("%w: %s on %s has no scores of single queries for %s; measure it with --metrics and --json", compare.ErrReport, res.System, res.Task, m)
				}
				for i, id := range ids {
					rows = append(rows, []string{r.Data, r.Encoder, strconv.FormatUint(r.Seed, 10), res.Task, res.System, id, m, digits(res.PerQuery[m][i])})
				}
			}
		}
	}
	return writeCSV(w, rows)
}

func writeCSV(w io.Writer, rows [][]string) error {
	c := csv.NewWriter(w)
	if err := c.WriteAll(rows); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

func digits(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// chosen returns the metrics that results have, in the order of metrics; nil means all.
func chosen(results []bench.Result, metrics []string) []string {
	if metrics == nil {
		return metricsOf(results)
	}
	return slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { _, ok := results[0].Metrics[m]; return !ok })
}
