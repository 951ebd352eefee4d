package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The stacks that the sheet measures on the union of the sure sets. best is the
// one that the goals of issue 4 for "the best stack" are held against.
const best04 = "rlr+slr"

func init() {
	over := func(system, task, name string, target float64) figure {
		return figure{id: "04." + system + "." + name, target: target,
			what: "nDCG@1 points of " + system + " over dense, " + task + ", union of the sure sets"}
	}
	figures := []figure{
		over("best", "keyword", "keyword", 27), over("best", "keyword-rake", "rake", 21),
		over("best", "part:8", "part8", 25), over("best", "part:16", "part16", 16),
		over("best", "query:sure-nq", "nq", -0.3), over("best", "query:sure-msmarco", "msmarco", -0.3),
		over("best", "query:sure-fiqa", "fiqa", -0.3),
		{id: "04.best.judged", target: 0.5, what: "mean of the three judged sets, points of best over dense"},
		over("slr", "keyword", "keyword", 20), over("slr", "part:16", "part16", 14),
		over("llr", "keyword", "keyword", 12), over("llr", "part:16", "part16", 6),
		over("rlr", "keyword", "keyword", 12), over("rlr", "part:16", "part16", 6),
		over("clr", "keyword", "keyword", 0), over("clr", "part:16", "part16", 0),
		{id: "04.fit.cpu", target: 120, atMost: true, what: "CPU-seconds of fitting slr, queries encoded before: two cores for a minute"},
	}
	register("04", measure04, figures...)
}

// measure04 runs the bench on the union of the sure sets with 23 queries a
// passage. A seed takes about 20 CPU-minutes. LEXSEM_FIGURES_SEEDS is how many
// are run, of which the median counts: 1 unless set.
func measure04(ctx context.Context) (map[string]float64, error) {
	seeds := 1
	if s := os.Getenv("LEXSEM_FIGURES_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("LEXSEM_FIGURES_SEEDS is %q; set it to a number from 1", s)
		}
		seeds = n
	}
	tmp, err := os.MkdirTemp("", "lexsem-figures-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	bin := filepath.Join(tmp, "lexsem")
	if err := command(ctx, "go", "build", "-o", bin, "./cmd/lexsem").Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	runs := map[string][]float64{}
	for seed := 1; seed <= seeds; seed++ {
		values, err := bench04(ctx, bin, tmp, seed)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		for id, v := range values {
			runs[id] = append(runs[id], v)
		}
	}
	values := map[string]float64{}
	for id, v := range runs {
		slices.Sort(v)
		values[id] = (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	return values, nil
}

// tasks04 are the tasks by the names that figures give them.
var tasks04 = map[string]string{
	"keyword": "keyword", "keyword-rake": "rake", "part:8": "part8", "part:16": "part16",
	"query:sure-nq": "nq", "query:sure-msmarco": "msmarco", "query:sure-fiqa": "fiqa",
}

func bench04(ctx context.Context, bin, tmp string, seed int) (map[string]float64, error) {
	out := filepath.Join(tmp, fmt.Sprintf("seed-%d.json", seed))
	var data []string
	for _, set := range []string{"sure-nq", "sure-msmarco", "sure-fiqa"} {
		data = append(data, filepath.Join(dataDir(), set))
	}
	err := command(ctx, bin, "bench", "--data", strings.Join(data, ","),
		"--systems", "dense,rlr,slr,llr,clr,"+best04,
		"--tasks", "keyword,keyword-rake,part:8,part:16,query:sure-nq,query:sure-msmarco,query:sure-fiqa",
		"--metrics", "ndcg@1", "--queries-per-passage", "23", "--seed", fmt.Sprint(seed),
		"--encodings", filepath.Join(tmp, "encodings"), "--json", out).Run()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	var report struct {
		Results []struct {
			System, Task string
			Metrics      map[string]float64
		}
		Fit map[string]struct {
			CPUSeconds    float64 `json:"cpu_seconds"`
			EncodeSeconds float64 `json:"encode_seconds"`
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, fmt.Errorf("bench report: %w", err)
	}
	score := map[string]float64{}
	for _, r := range report.Results {
		score[r.System+" "+r.Task] = 100 * r.Metrics["ndcg@1"]
	}
	values := map[string]float64{}
	for _, system := range []string{"rlr", "slr", "llr", "clr", best04} {
		for task, name := range tasks04 {
			v, ok := score[system+" "+task]
			if base, okBase := score["dense "+task]; ok && okBase {
				values["04."+system+"."+name] = v - base
				if system == best04 {
					values["04.best."+name] = v - base
				}
			}
		}
	}
	if nq, ok := values["04.best.nq"]; ok {
		values["04.best.judged"] = (nq + values["04.best.msmarco"] + values["04.best.fiqa"]) / 3
	}
	// slr is fitted first and encodes the queries; clr finds them encoded and
	// takes longer, so it bounds the descent of slr from above.
	if fit, ok := report.Fit["clr"]; ok {
		values["04.fit.cpu"] = fit.CPUSeconds
	}
	return values, nil
}
