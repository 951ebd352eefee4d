package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func init() {
	register("03", measure03,
		figure{id: "03.rlr.keyword", what: "nDCG@1 points of rlr over dense, keyword, sure-nq", target: 5},
		figure{id: "03.rlr.part16", what: "nDCG@1 points of rlr over dense, part:16, sure-nq", target: 2},
		figure{id: "03.rlr.query", what: "nDCG@1 points of rlr over dense, judged queries, sure-nq", target: -0.3},
		figure{id: "03.rlr+slr.keyword", what: "nDCG@1 points of rlr+slr over dense, keyword, sure-nq", target: 10},
		figure{id: "03.rlr+slr.part16", what: "nDCG@1 points of rlr+slr over dense, part:16, sure-nq", target: 5},
		figure{id: "03.rlr+slr.query", what: "nDCG@1 points of rlr+slr over dense, judged queries, sure-nq", target: -0.3},
		figure{id: "03.demo.cpu", what: "CPU-seconds of the first demo", target: 300, atMost: true},
		figure{id: "03.demo.again", what: "wall seconds of the second demo", target: 3, atMost: true},
	)
}

// measure03 runs the bench on sure-nq and the demo twice, as a user would.
func measure03(ctx context.Context) (map[string]float64, error) {
	tmp, err := os.MkdirTemp("", "lexsem-figures-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	bin := filepath.Join(tmp, "lexsem")
	if err := command(ctx, "go", "build", "-o", bin, "./cmd/lexsem").Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	values := map[string]float64{}
	return values, errors.Join(bench03(ctx, bin, tmp, values), demo03(ctx, bin, tmp, values))
}

func bench03(ctx context.Context, bin, tmp string, values map[string]float64) error {
	out := filepath.Join(tmp, "bench.json")
	data := filepath.Join(dataDir(), "sure-nq")
	if err := command(ctx, bin, "bench", "--data", data, "--systems", "dense,rlr,rlr+slr",
		"--tasks", "query,keyword,part:16", "--seed", "1", "--json", out).Run(); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	var report struct {
		Results []struct {
			System, Task string
			Metrics      map[string]float64
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return fmt.Errorf("bench report: %w", err)
	}
	score := map[string]float64{}
	for _, r := range report.Results {
		score[r.System+" "+r.Task] = 100 * r.Metrics["ndcg@1"]
	}
	for _, system := range []string{"rlr", "rlr+slr"} {
		for task, name := range map[string]string{"keyword": "keyword", "part:16": "part16", "query": "query"} {
			v, ok := score[system+" "+task]
			base, okBase := score["dense "+task]
			if ok && okBase {
				values["03."+system+"."+name] = v - base
			}
		}
	}
	return nil
}

func demo03(ctx context.Context, bin, tmp string, values map[string]float64) error {
	db := filepath.Join(tmp, "demo")
	first := command(ctx, bin, "demo", "--db", db)
	if err := first.Run(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	s := first.ProcessState
	values["03.demo.cpu"] = (s.UserTime() + s.SystemTime()).Seconds()
	start := time.Now()
	if err := command(ctx, bin, "demo", "--db", db).Run(); err != nil {
		return fmt.Errorf("second demo: %w", err)
	}
	values["03.demo.again"] = time.Since(start).Seconds()
	return nil
}

// command runs a program whose output is of interest only when it fails.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c
}

// dataDir is where the judged sets lie.
func dataDir() string {
	if d := os.Getenv("LEXSEM_DATA"); d != "" {
		return d
	}
	return filepath.Join("..", "shared", "data")
}
