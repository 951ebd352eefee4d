package repeat

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/stat"
)

// Seeds holds the results of Run for several seeds.
type Seeds struct {
	Seeds []uint64 `json:"seeds"`
	// Results are in the order of Report.Results.
	Results []SeedResult `json:"over_seeds"`
	// Reports has a report for each seed.
	Reports []*bench.Report `json:"reports"`
}

// SeedResult is one system on one task over all seeds.
type SeedResult struct {
	System  string            `json:"system"`
	Task    string            `json:"task"`
	Metrics map[string]Spread `json:"metrics"`
	// VsDense is the comparison with dense by each metric. It is nil for dense and without dense.
	VsDense map[string]SeedDifference `json:"vs_dense,omitempty"`
}

// Spread says how a mean varies with the seed.
type Spread struct {
	Mean float64 `json:"mean"` // of the means of all seeds
	// SD is the standard deviation of the means, with n − 1 for n seeds.
	SD   float64 `json:"sd"`
	Low  float64 `json:"low"`  // the least mean
	High float64 `json:"high"` // the greatest mean
}

// SeedDifference says how a system differs from dense over all seeds.
type SeedDifference struct {
	Delta float64 `json:"delta"` // mean of the differences of all seeds
	// P is the p value of the paired randomization test over the queries. The difference of a query is
	// its mean over the seeds that have the query.
	P     float64 `json:"p"`
	PHolm float64 `json:"p_holm"` // P with Holm's correction over the systems of the task
	// PSeeds is the p value of the same test over the means of the seeds. With n seeds it cannot be
	// below about 2/2^n, 0.06 for five.
	PSeeds float64 `json:"p_seeds"`
	Better int     `json:"better"` // number of seeds with a higher mean than that of dense
}

// RunSeeds calls Run for n seeds, from o.Seed on. The vector of every text is made once, and the token states of
// every passage. Token states and logits of queries, which llr, mlm and tokens read, are made for each seed. A
// folder of runs gets a folder "seed-N" for each seed.
func RunSeeds(ctx context.Context, enc encoder.Encoder, o bench.Options, n int) (*Seeds, error) {
	if n < 2 {
		return nil, fmt.Errorf("%w: %d seeds; use 2 or more", bench.ErrOption, n)
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.CacheDir == "" {
		dir, err := os.MkdirTemp("", "lexsem-seeds-")
		if err != nil {
			return nil, fmt.Errorf("keeping encodings between the seeds: %w", err)
		}
		defer os.RemoveAll(dir)
		o.CacheDir = dir
	}
	s := &Seeds{}
	for i := range n {
		at := o
		at.Seed = o.Seed + uint64(i)
		if o.RunsDir != "" {
			at.RunsDir = filepath.Join(o.RunsDir, fmt.Sprintf("seed-%d", at.Seed))
		}
		if o.Progress != nil {
			at.Progress = func(p bench.Progress) {
				p.Stage = fmt.Sprintf("seed %d of %d: %s", i+1, n, p.Stage)
				o.Progress(p)
			}
		}
		rep, err := bench.Run(ctx, enc, at)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", at.Seed, err)
		}
		s.Seeds, s.Reports = append(s.Seeds, at.Seed), append(s.Reports, rep)
	}
	return s, s.summarize(ctx)
}

// summarize fills in Results.
func (s *Seeds) summarize(ctx context.Context) error {
	for _, r := range s.Reports[0].Results {
		out := SeedResult{System: r.System, Task: r.Task, Metrics: map[string]Spread{}}
		for name := range r.Metrics {
			means, err := s.means(r.System, r.Task, name)
			if err != nil {
				return err
			}
			out.Metrics[name] = spreadOf(means)
		}
		if r.VsDenseBy != nil {
			out.VsDense = map[string]SeedDifference{}
			for name := range r.VsDenseBy {
				if err := ctx.Err(); err != nil {
					return err
				}
				d, err := s.difference(r.System, r.Task, name)
				if err != nil {
					return fmt.Errorf("comparing %s with dense on %s over the seeds: %w", r.System, r.Task, err)
				}
				out.VsDense[name] = d
			}
		}
		s.Results = append(s.Results, out)
	}
	for _, t := range s.Reports[0].Tasks {
		for name := range s.Reports[0].Results[0].Metrics {
			s.holm(t.Task, name)
		}
	}
	return nil
}

// find is a result of the report of a seed.
func (s *Seeds) find(report int, system, task string) (*bench.Result, []string, error) {
	rep := s.Reports[report]
	i := slices.IndexFunc(rep.Results, func(r bench.Result) bool { return r.System == system && r.Task == task })
	j := slices.IndexFunc(rep.Tasks, func(t bench.TaskQueries) bool { return t.Task == task })
	if i < 0 || j < 0 {
		return nil, nil, fmt.Errorf("%w: seed %d has no task %s, and another seed has it; leave that task out, or use more passages", bench.ErrNoQueries, s.Seeds[report], task)
	}
	return &rep.Results[i], rep.Tasks[j].Queries, nil
}

func (s *Seeds) means(system, task, metric string) ([]float64, error) {
	out := make([]float64, len(s.Reports))
	for i := range s.Reports {
		r, _, err := s.find(i, system, task)
		if err != nil {
			return nil, err
		}
		out[i] = r.Metrics[metric]
	}
	return out, nil
}

func spreadOf(means []float64) Spread {
	m := stat.Mean(means)
	squares := 0.0
	for _, x := range means {
		squares += (x - m) * (x - m)
	}
	return Spread{Mean: m, SD: math.Sqrt(squares / float64(len(means)-1)), Low: slices.Min(means), High: slices.Max(means)}
}

func (s *Seeds) difference(system, task, metric string) (d SeedDifference, err error) {
	sums, seen := map[string]float64{}, map[string]float64{}
	var ids []string // in the order of their first seed
	theirs, ours := make([]float64, len(s.Reports)), make([]float64, len(s.Reports))
	for i := range s.Reports {
		r, queries, err := s.find(i, system, task)
		if err != nil {
			return d, err
		}
		dense, _, err := s.find(i, "dense", task)
		if err != nil {
			return d, err
		}
		theirs[i], ours[i] = dense.Metrics[metric], r.Metrics[metric]
		d.Delta += (ours[i] - theirs[i]) / float64(len(s.Reports))
		if ours[i] > theirs[i] {
			d.Better++
		}
		for j, id := range queries {
			if seen[id] == 0 {
				ids = append(ids, id)
			}
			sums[id] += r.PerQuery[metric][j] - dense.PerQuery[metric][j]
			seen[id]++
		}
	}
	differences := make([]float64, len(ids))
	for i, id := range ids {
		differences[i] = sums[id] / seen[id]
	}
	over, err := stat.RandomizationTest(make([]float64, len(ids)), differences, stat.Permutations, s.Seeds[0])
	if err != nil {
		return d, err
	}
	seeds, err := stat.RandomizationTest(theirs, ours, stat.Permutations, s.Seeds[0])
	d.P, d.PSeeds = over.P, seeds.P
	return d, err
}

// holm corrects the p values of one metric over the systems of a task.
func (s *Seeds) holm(task, metric string) {
	var ps []float64
	for _, r := range s.Results {
		if d, ok := r.VsDense[metric]; ok && r.Task == task {
			ps = append(ps, d.P)
		}
	}
	adjusted := stat.Holm(ps)
	for _, r := range s.Results {
		if d, ok := r.VsDense[metric]; ok && r.Task == task {
			d.PHolm, adjusted = adjusted[0], adjusted[1:]
			r.VsDense[metric] = d
		}
	}
}
