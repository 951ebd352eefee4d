package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func init() {
	register("07", metrics07,
		figure{id: "07.metrics", what: "runs of 1,000 whose metrics equal trec_eval and ranx to 1e-6 (the tests)", target: 1000})
	register("07", sage07,
		figure{id: "07.sage.jaccard", what: "distance of Jaccard's information sensitivity from the paper's .905, sure-nq", target: .03, atMost: true},
		figure{id: "07.sage.levenshtein", what: "distance of Levenshtein's robustness from the paper's .333, sure-nq", target: .03, atMost: true})
	register("07", judged07,
		figure{id: "07.scifact.dense", what: "distance of dense nDCG@10 × 100 from the published 64.5, scifact", target: .3, atMost: true},
		figure{id: "07.capret.dense", what: "distance of dense nDCG@10 × 100 from 70.9, capret-en", target: .5, atMost: true},
		figure{id: "07.capret.bm25", what: "distance of bm25:okapi nDCG@10 × 100 from the published 69.6, capret-en", target: 1.5, atMost: true})
	register("07", speed07,
		figure{id: "07.bench.cold", what: "CPU-seconds / 2 of 8 systems on 5 tasks of sure-nq, nothing kept", target: 300, atMost: true},
		figure{id: "07.bench.cached", what: "CPU-seconds / 2 of the same with encodings and bridges kept", target: 20, atMost: true})
}

// built07 makes the program in a folder of its own. The sheet takes about 8
// CPU-minutes, most of them encoding and fitting on sure-nq and encoding
// scifact.
func built07(ctx context.Context) (bin, tmp string, err error) {
	if tmp, err = os.MkdirTemp("", "lexsem-figures-"); err != nil {
		return "", "", err
	}
	bin = filepath.Join(tmp, "lexsem")
	if err := command(ctx, "go", "build", "-o", bin, "./cmd/lexsem").Run(); err != nil {
		os.RemoveAll(tmp)
		return "", "", fmt.Errorf("go build: %w", err)
	}
	return bin, tmp, nil
}

// metrics07 runs the tests that hold metrics to other judges; both read 1,000
// runs and fail on any difference.
func metrics07(ctx context.Context) (map[string]float64, error) {
	err := command(ctx, "go", "test", "-count=1", "-run", "TestMetricsEqualTrecEval|TestMetricsEqualRanx", "./bench").Run()
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return map[string]float64{"07.metrics": 1000}, nil
}

func sage07(ctx context.Context) (map[string]float64, error) {
	bin, tmp, err := built07(ctx)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	values := map[string]float64{}
	out := filepath.Join(tmp, "sage.json")
	err = command(ctx, bin, "bench", "sage", "--data", filepath.Join(dataDir(), "sure-nq"), "--tasks", "robustness,sensitivity",
		"--similarities", "jaccard,levenshtein", "--limit", "1000", "--json", out).Run()
	if err != nil {
		return nil, fmt.Errorf("bench sage: %w", err)
	}
	var report struct {
		Results []struct {
			Task, Similarity string
			Score            float64
		}
	}
	if err := readJSON(out, &report); err != nil {
		return nil, err
	}
	for _, r := range report.Results {
		switch r.Task + " " + r.Similarity {
		case "sensitivity jaccard":
			values["07.sage.jaccard"] = distance(r.Score, .905)
		case "robustness levenshtein":
			values["07.sage.levenshtein"] = distance(r.Score, .333)
		}
	}
	return values, nil
}

func judged07(ctx context.Context) (map[string]float64, error) {
	bin, tmp, err := built07(ctx)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	values := map[string]float64{}
	targets := map[string]float64{"07.scifact.dense": 64.5, "07.capret.dense": 70.9, "07.capret.bm25": 69.6}
	for _, set := range []struct{ data, id, systems string }{{"scifact", "scifact", "dense"}, {"capret-en", "capret", "dense,bm25:okapi"}} {
		out := filepath.Join(tmp, set.id+".json")
		err := command(ctx, bin, "bench", "--data", filepath.Join(dataDir(), set.data), "--systems", set.systems, "--tasks", "query", "--json", out).Run()
		if err != nil {
			return values, fmt.Errorf("bench on %s: %w", set.data, err)
		}
		var report struct {
			Results []struct {
				System  string
				Metrics map[string]float64
			}
		}
		if err := readJSON(out, &report); err != nil {
			return values, err
		}
		for _, r := range report.Results {
			name, _, _ := strings.Cut(r.System, ":")
			id := "07." + set.id + "." + name
			values[id] = distance(100*r.Metrics["ndcg@10"], targets[id])
		}
	}
	return values, nil
}

// speed07 counts processor time, as other work may run beside it, and halves it
// for two cores.
func speed07(ctx context.Context) (map[string]float64, error) {
	bin, tmp, err := built07(ctx)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	values := map[string]float64{}
	for _, id := range []string{"07.bench.cold", "07.bench.cached"} {
		c := command(ctx, bin, "bench", "--data", filepath.Join(dataDir(), "sure-nq"), "--systems", "dense,rlr,slr,rlr+slr,bm25,rrf,convex,hybrid",
			"--tasks", "query,keyword,part:16,part:32,part:64", "--encodings", filepath.Join(tmp, "encodings"), "--json", filepath.Join(tmp, "speed.json"))
		c.Stdout = io.Discard
		if err := c.Run(); err != nil {
			return values, fmt.Errorf("%s: %w", id, err)
		}
		values[id] = cpuSeconds(c) / 2
	}
	return values, nil
}

func cpuSeconds(c *exec.Cmd) float64 {
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

func distance(a, b float64) float64 { return max(a-b, b-a) }

func readJSON(file string, v any) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s: %w", strings.TrimPrefix(file, os.TempDir()), err)
	}
	return nil
}
