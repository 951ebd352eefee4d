package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lexsem/lexsem/bench/internal/parallel"
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

// weigh fills in the intervals of the results of one task, and how each
// compares with dense.
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
		t, err := stat.RandomizationTest(row[at].PerQuery[compareBy], r.PerQuery[compareBy], stat.Permutations, p.Seed)
		if err != nil {
			return fmt.Errorf("comparing %s with dense on %s: %w", r.System, r.Task, err)
		}
		r.VsDense = &Comparison{Delta: t.Delta, P: t.P}
		return nil
	})
	if err != nil {
		return err
	}
	var ps []float64
	for _, r := range row {
		if r.VsDense != nil {
			ps = append(ps, r.VsDense.P)
		}
	}
	adjusted := stat.Holm(ps)
	for i := range row {
		if row[i].VsDense != nil {
			row[i].VsDense.PHolm, adjusted = adjusted[0], adjusted[1:]
		}
	}
	return nil
}
