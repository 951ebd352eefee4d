package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/lexsem/lexsem/internal/runs"
)

// records reads values of docs/runs: value("judged", "scifact query dense ndcg@10").
type records struct {
	all map[string]*runs.Run
	err error // the first value that no run has
}

func recorded() (*records, error) {
	all, err := runs.Load(runsDir)
	return &records{all: all}, err
}

func (r *records) value(run, key string) float64 {
	if got := r.all[run]; got != nil {
		if v, ok := got.Values[key]; ok {
			return v
		}
	}
	r.err = cmp.Or(r.err, fmt.Errorf("docs/runs/%s.json has no value %q; .ci/figures all %s measures it", run, key, run))
	return math.NaN()
}

// gain is what a system has over dense: the median of the seeds, where the run has some.
func (r *records) gain(run, set, task, system, metric string) float64 {
	seeds := []string{""}
	if got := r.all[run]; got != nil && len(got.Seeds) > 0 {
		seeds = nil
		for _, n := range got.Seeds {
			seeds = append(seeds, fmt.Sprintf(" seed=%d", n))
		}
	}
	var gains []float64
	for _, seed := range seeds {
		of := func(system string) float64 {
			return r.value(run, strings.Join([]string{set, task, system, metric}, " ")+seed)
		}
		gains = append(gains, of(system)-of("dense"))
	}
	return median(gains)
}
