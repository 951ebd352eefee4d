package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

func init() {
	register("03", bench03,
		figure{id: "03.rlr.keyword", what: "nDCG@1 points of rlr over dense, keyword, sure-nq", target: 5},
		figure{id: "03.rlr.part16", what: "nDCG@1 points of rlr over dense, part:16, sure-nq", target: 2},
		figure{id: "03.rlr.query", what: "nDCG@1 points of rlr over dense, judged queries, sure-nq", target: -0.3},
		figure{id: "03.rlr+slr.keyword", what: "nDCG@1 points of rlr+slr over dense, keyword, sure-nq", target: 10},
		figure{id: "03.rlr+slr.part16", what: "nDCG@1 points of rlr+slr over dense, part:16, sure-nq", target: 5},
		figure{id: "03.rlr+slr.query", what: "nDCG@1 points of rlr+slr over dense, judged queries, sure-nq", target: -0.3})
	register("03", demo03,
		figure{id: "03.demo.cpu", what: "CPU-seconds of the first demo", target: 300, atMost: true},
		figure{id: "03.demo.again", what: "wall seconds of the second demo", target: 3, atMost: true})
}

func bench03(ctx context.Context, w *workshop) (map[string]float64, error) {
	got, err := w.bench(ctx, "sure-nq", "--systems", "dense,rlr,rlr+slr", "--tasks", "query,keyword,part:16", "--seed", "1")
	values := map[string]float64{}
	for _, system := range []string{"rlr", "rlr+slr"} {
		for task, name := range map[string]string{"keyword": "keyword", "part:16": "part16", "query": "query"} {
			if v, ok := got.over(system, "dense", task, "ndcg@1"); ok {
				values["03."+system+"."+name] = v
			}
		}
	}
	return values, err
}

// demo03 runs the demo twice, as a user would.
func demo03(ctx context.Context, w *workshop) (map[string]float64, error) {
	values := map[string]float64{}
	for _, id := range []string{"03.demo.cpu", "03.demo.again"} {
		c, err := w.lexsem(ctx, "demo", "--db", filepath.Join(w.tmp, "demo"))
		if err != nil {
			return values, err
		}
		start := time.Now()
		if err := c.Run(); err != nil {
			return values, fmt.Errorf("demo: %w", err)
		}
		values[id] = time.Since(start).Seconds()
		if id == "03.demo.cpu" {
			values[id] = cpuSeconds(c)
		}
	}
	return values, nil
}
