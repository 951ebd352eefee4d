package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
)

// The sheet takes about 8 CPU-minutes, most of them encoding and fitting on
// sure-nq and encoding scifact.
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

// runs07 is how many runs a test against another judge says it compared.
var runs07 = regexp.MustCompile(`compared (\d+) runs`)

// metrics07 runs the tests that hold metrics to other judges and counts what
// they compared; they fail on any difference.
func metrics07(ctx context.Context, _ *workshop) (map[string]float64, error) {
	out, err := goTest(ctx, "./bench", "TestMetricsEqualTrecEval|TestMetricsEqualRanx")
	if err != nil {
		return nil, err
	}
	said := runs07.FindAllSubmatch(out, -1)
	if len(said) != 2 {
		return nil, fmt.Errorf("of the tests against trec_eval and ranx %d said what they compared", len(said))
	}
	least := math.Inf(1)
	for _, m := range said {
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return nil, err
		}
		least = min(least, n)
	}
	return map[string]float64{"07.metrics": least}, nil
}

func sage07(ctx context.Context, w *workshop) (map[string]float64, error) {
	var report struct {
		Results []struct {
			Task, Similarity string
			Score            float64
		}
	}
	_, err := w.report(ctx, &report, "bench", "sage", "--data", data("sure-nq"), "--tasks", "robustness,sensitivity",
		"--similarities", "jaccard,levenshtein", "--limit", "1000")
	values := map[string]float64{}
	for _, r := range report.Results {
		switch r.Task + " " + r.Similarity {
		case "sensitivity jaccard":
			values["07.sage.jaccard"] = distance(r.Score, .905)
		case "robustness levenshtein":
			values["07.sage.levenshtein"] = distance(r.Score, .333)
		}
	}
	return values, err
}

func judged07(ctx context.Context, w *workshop) (map[string]float64, error) {
	values := map[string]float64{}
	for _, row := range []struct {
		id, set, system string
		target          float64
	}{{"scifact.dense", "scifact", "dense", 64.5}, {"capret.dense", "capret-en", "dense", 70.9}, {"capret.bm25", "capret-en", "bm25:okapi", 69.6}} {
		got, err := w.bench(ctx, row.set, "--systems", row.system, "--tasks", "query", "--encodings", filepath.Join(w.tmp, "judged"))
		if err != nil {
			return values, err
		}
		if v, ok := got[[3]string{row.system, "query", "ndcg@10"}]; ok {
			values["07."+row.id] = distance(v, row.target)
		}
	}
	return values, nil
}

// speed07 counts processor time, as other work may run beside it, and halves it
// for two cores. It keeps encodings in a folder of its own, as it wants to
// begin with none.
func speed07(ctx context.Context, w *workshop) (map[string]float64, error) {
	values := map[string]float64{}
	for _, id := range []string{"07.bench.cold", "07.bench.cached"} {
		var r benchReport
		cpu, err := w.report(ctx, &r, "bench", "--data", data("sure-nq"), "--systems", "dense,rlr,slr,rlr+slr,bm25,rrf,convex,hybrid",
			"--tasks", "query,keyword,part:16,part:32,part:64", "--encodings", filepath.Join(w.tmp, "speed"))
		if err != nil {
			return values, err
		}
		values[id] = cpu / 2
	}
	return values, nil
}
