package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// best04 is the fitted stack that the goals of issue 4 for "the best stack" are
// held against. Local bridges, which are fitted to nothing, have rows of their
// own.
const best04 = "rlr+slr"

const union04 = "sure-nq,sure-msmarco,sure-fiqa"

var tasks04 = []string{"keyword", "keyword-rake", "part:8", "part:16", "query:sure-nq", "query:sure-msmarco", "query:sure-fiqa"}

// short is a task as ids name it.
func short(task string) string {
	return strings.NewReplacer("query:sure-", "", "keyword-rake", "rake", ":", "").Replace(task)
}

// union is the rows of a system over all tasks and the mean of the judged ones.
func union(name, system string) []figure {
	var fs []figure
	for i, task := range tasks04 {
		target := []float64{27, 21, 25, 16, -0.3, -0.3, -0.3}[i]
		fs = append(fs, figure{id: "04." + name + "." + short(task), target: target,
			what: "nDCG@1 points of " + system + " over dense, " + task + ", union of the sure sets"})
	}
	return append(fs, figure{id: "04." + name + ".judged", target: 0.5, what: "mean of the three judged sets, points of " + system + " over dense"})
}

func init() {
	figures := union("best", best04)
	for _, f := range []struct {
		system          string
		keyword, part16 float64
	}{{"slr", 20, 14}, {"llr", 12, 6}, {"rlr", 12, 6}, {"clr", 0, 0}} {
		for task, target := range map[string]float64{"keyword": f.keyword, "part:16": f.part16} {
			figures = append(figures, figure{id: "04." + f.system + "." + short(task), target: target,
				what: "nDCG@1 points of " + f.system + " over dense, " + task + ", union of the sure sets"})
		}
	}
	register("04", fitted04, figures...)
	register("04", fit04,
		limit("04.fit.cpu", "CPU-seconds of fitting slr to 23 queries a passage of the union, queries encoded before: two cores for a minute", 120),
		limit("04.fit.encode", "CPU-seconds of encoding these queries: two cores for three minutes", 360))
	register("04", fitted20k04,
		goal("04.20k.keyword", "nDCG@1 points of "+best04+" over dense, fitted to 20,000 of scale-mix", 18),
		goal("04.20k.part8", "the same", 18),
		goal("04.20k.part16", "the same", 13),
		goal("04.grown.keyword", "the same fit, asked for the same 20,000 among all 78,703", 18),
		goal("04.grown.part16", "the same", 16))
	register("04", fitted79k04,
		goal("04.79k.keyword", "nDCG@1 points of "+best04+" over dense, fitted to all 78,703 of scale-mix", 15),
		goal("04.79k.part16", "the same", 15))
}

// medians04 runs the bench for each seed and returns the medians of what every
// system gains over dense, by system, task and metric.
func medians04(ctx context.Context, w *workshop, sets, systems, tasks string, more ...string) (scores, error) {
	n, err := seeds()
	if err != nil {
		return nil, err
	}
	all := map[[3]string][]float64{}
	for seed := 1; seed <= n; seed++ {
		got, err := w.bench(ctx, sets, append([]string{"--systems", "dense," + systems, "--tasks", tasks, "--metrics", "ndcg@1,ndcg@10",
			"--seed", strconv.Itoa(seed), "--encodings", w.encodings}, more...)...)
		if err != nil {
			return nil, err
		}
		for k := range got {
			v, _ := got.over(k[0], "dense", k[1], k[2])
			all[k] = append(all[k], v)
		}
	}
	gains := scores{}
	for k, v := range all {
		gains[k] = median(v)
	}
	return gains, nil
}

// fitted04 takes about 20 CPU-minutes a seed, three quarters of them encoding.
func fitted04(ctx context.Context, w *workshop) (map[string]float64, error) {
	gains, err := medians04(ctx, w, union04, "rlr,slr,llr,clr,"+best04, strings.Join(tasks04, ","), "--queries-per-passage", "23")
	values := map[string]float64{}
	for k, v := range gains {
		if k[2] == "ndcg@1" {
			values["04."+k[0]+"."+short(k[1])] = v
		}
	}
	named04(gains, "best", best04, values)
	return values, err
}

// named04 fills the rows that union made.
func named04(gains scores, name, system string, values map[string]float64) {
	for _, task := range tasks04 {
		if v, ok := gains[[3]string{system, task, "ndcg@1"}]; ok {
			values["04."+name+"."+short(task)] = v
			if strings.HasPrefix(task, "query:") {
				values["04."+name+".judged"] += v / 3
			}
		}
	}
}

// fit04 fits slr twice, the second time to queries that the first has left
// encoded. About 8 CPU-minutes.
func fit04(ctx context.Context, w *workshop) (map[string]float64, error) {
	dir, err := os.MkdirTemp(w.tmp, "fit-")
	if err != nil {
		return nil, err
	}
	args := []string{"bench", "--data", data(union04), "--systems", "slr", "--tasks", "query:sure-fiqa", "--queries-per-passage", "23",
		"--encodings", dir}
	var cpu [2]float64
	for i := range cpu {
		var r benchReport
		if err := os.RemoveAll(filepath.Join(dir, "bridges")); err != nil {
			return nil, err
		}
		if _, err := w.report(ctx, &r, args...); err != nil {
			return nil, err
		}
		cpu[i] = r.Fit["slr"].CPUSeconds
	}
	return map[string]float64{"04.fit.cpu": cpu[1], "04.fit.encode": cpu[0] - cpu[1]}, nil
}

// fitted20k04 takes about 30 CPU-minutes a seed, nearly all of it encoding.
func fitted20k04(ctx context.Context, w *workshop) (map[string]float64, error) {
	args := []string{"--passages-limit", "20000", "--queries-per-passage", "9"}
	values, err := scale04(ctx, w, map[string]string{best04: "20k"}, args...)
	if err != nil {
		return values, err
	}
	grown, err := scale04(ctx, w, map[string]string{best04: "grown"}, append(args, "--distractors")...)
	maps.Copy(values, grown)
	return values, err
}

func fitted79k04(ctx context.Context, w *workshop) (map[string]float64, error) {
	return scale04(ctx, w, map[string]string{best04: "79k"}, "--queries-per-passage", "4")
}
