package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/stat"
)

// Comparison says how a system differs from dense on the same queries, by ndcg@10.
type Comparison struct {
	// Delta is the mean of the per-query differences, in [-1, 1].
	Delta float64 `json:"delta_ndcg@10"`
	// P is the two-sided p value of stat.RandomizationTest, in (0, 1], without correction.
	P float64 `json:"p"`
	// PHolm is P with Holm's correction over the systems of the task, in (0, 1]. Reports show this
	// value.
	PHolm float64 `json:"p_holm"`
}

// Difference says how a system differs from dense on the same queries, by one metric.
type Difference struct {
	Delta float64 `json:"delta"`  // as in Comparison
	P     float64 `json:"p"`      // as in Comparison
	PHolm float64 `json:"p_holm"` // P with Holm's correction over the systems of the task
}

// weigh computes the intervals of the results of one task and their comparison with
// dense.
func (p *plan) weigh(ctx context.Context, row []Result) error {
	at := slices.IndexFunc(row, func(r Result) bool { return r.System == "dense" })
	err := parallel.Each(ctx, len(row), func(i int) error {
		r := &row[i]
		names := slices.Sorted(maps.Keys(r.PerQuery))
		rows := make([][]float64, len(names))
		for j, name := range names {
			rows[j] = r.PerQuery[name]
		}
		intervals, err := stat.Bootstrap(rows, stat.Resamples, p.Seed)
		if err != nil {
			return fmt.Errorf("intervals of %s on %s: %w", r.System, r.Task, err)
		}
		r.Intervals = map[string][2]float64{}
		for j, name := range names {
			r.Intervals[name] = [2]float64{intervals[j].Low, intervals[j].High}
		}
		if at < 0 || i == at {
			return nil
		}
		r.VsDenseBy = map[string]Difference{}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return err
			}
			t, err := stat.RandomizationTest(row[at].PerQuery[name], r.PerQuery[name], stat.Permutations, p.Seed)
			if err != nil {
				return fmt.Errorf("comparing %s with dense on %s by %s: %w", r.System, r.Task, name, err)
			}
			r.VsDenseBy[name] = Difference{Delta: t.Delta, P: t.P}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, m := range p.metrics {
		holm(row, m.Name)
	}
	for i := range row {
		if d, ok := row[i].VsDenseBy[compareBy]; ok {
			row[i].VsDense = &Comparison{Delta: d.Delta, P: d.P, PHolm: d.PHolm}
		}
	}
	return nil
}

// holm corrects the p values of one metric over the systems of a task.
func holm(row []Result, metric string) {
	var ps []float64
	for _, r := range row {
		if d, ok := r.VsDenseBy[metric]; ok {
			ps = append(ps, d.P)
		}
	}
	adjusted := stat.Holm(ps)
	for _, r := range row {
		if d, ok := r.VsDenseBy[metric]; ok {
			d.PHolm, adjusted = adjusted[0], adjusted[1:]
			r.VsDenseBy[metric] = d
		}
	}
}
