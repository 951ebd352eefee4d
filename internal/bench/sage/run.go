package sage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/memo"
)

// Run computes each similarity on each task.
func Run(ctx context.Context, enc encoder.Encoder, o Options) (report *Report, err error) {
	measures, err := chosen(o.Similarities)
	if err != nil {
		return nil, err
	}
	for _, name := range o.Tasks {
		if !slices.Contains(Tasks(), name) {
			return nil, unknown("task", name, Tasks())
		}
	}
	enc, done, err := memo.Open(enc, o.CacheDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	report = &Report{Encoder: enc.Fingerprint().Model, Seed: o.Seed, Limit: o.Limit, Version: o.Version}
	for _, t := range tasks {
		if o.Tasks != nil && !slices.Contains(o.Tasks, t.name) {
			continue
		}
		dir := firstWith(o.Data, t.files)
		if dir == "" {
			if o.Tasks != nil {
				return nil, fmt.Errorf("%w: %s needs a folder with %v, none of %v has them", errData, t.name, t.files, o.Data)
			}
			continue
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("resolving the data folder: %w", err)
		}
		results, err := t.run(input{
			ctx: ctx, enc: enc, dir: dir, limit: o.Limit, uncut: o.Uncut, seed: o.Seed, measure: measures,
			report: func(p bench.Progress) {
				if o.Progress != nil {
					o.Progress(p)
				}
			},
		})
		if err != nil {
			return nil, fmt.Errorf("task %s on %s: %w", t.name, dir, err)
		}
		for i := range results {
			results[i].Task, results[i].Data = t.name, filepath.Base(abs)
		}
		report.Results = append(report.Results, results...)
	}
	if len(report.Results) == 0 {
		return nil, fmt.Errorf("%w: none of %v has the files of any task; `lexsem help bench sage` lists them", errData, o.Data)
	}
	report.Overall = overall(report.Results)
	return report, nil
}

// overall is the mean of the scores of each similarity, nil unless all tasks ran.
func overall(results []result) map[string]float64 {
	sums, n := map[string]float64{}, map[string]int{}
	for _, r := range results {
		sums[r.Similarity] += r.Score / float64(len(tasks))
		n[r.Similarity]++
	}
	for _, ran := range n {
		if ran < len(tasks) {
			return nil
		}
	}
	return sums
}

// firstWith is the first folder that has all files, or "".
func firstWith(dirs, files []string) string {
	for _, dir := range dirs {
		if !slices.ContainsFunc(files, func(f string) bool {
			_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f)))
			return err != nil
		}) {
			return dir
		}
	}
	return ""
}

func chosen(names []string) ([]similarity, error) {
	if names == nil {
		return similarities, nil
	}
	var out []similarity
	for _, name := range names {
		i := slices.IndexFunc(similarities, func(s similarity) bool { return s.Name == name })
		if i < 0 {
			return nil, unknown("similarity", name, Similarities())
		}
		out = append(out, similarities[i])
	}
	return out, nil
}
