package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Fusion is measured on each of these by the judged queries and the probes. The
// sheet takes 10 to 15 minutes on two cores: it encodes six corpora, and indexes
// 78,703 passages with bleve.
var fused05 = map[string][]string{
	"sure-nq":      {"query", "keyword", "part:8", "part:16"},
	"sure-msmarco": {"query", "keyword", "part:16"},
	"sure-fiqa":    {"query", "keyword", "part:16"},
	"capret-en":    {"query"},
	"scifact":      {"query"},
	"limit-small":  {"query"},
}

func init() {
	var fs []figure
	add := func(id, what string, target float64) {
		fs = append(fs, figure{id: id, what: what, target: target})
	}
	for _, f := range []struct {
		data   string
		target float64
	}{{"capret-en", 78}, {"scifact", 73}, {"limit-small", 99}} {
		add("05."+f.data, "nDCG@10 of hybrid, "+f.data, f.target)
	}
	for _, data := range []string{"sure-nq", "sure-msmarco", "sure-fiqa"} {
		for _, task := range fused05[data] {
			if task == "query" {
				add("05."+data+".query", "nDCG@1 points of hybrid over dense, judged queries, "+data, -0.3)
			} else {
				add("05."+data+"."+short(task), "nDCG@1 points of hybrid over bm25, "+task+", "+data, -1.5)
			}
		}
	}
	add("05.capret-en.stretch", "nDCG@10 of hybrid, capret-en, the further goal", 80)
	add("05.scifact.stretch", "nDCG@10 of hybrid, scifact, the further goal", 74.5)
	add("05.parents", "least nDCG@10 points of hybrid over the better of its parents (rlr, bm25), over all of these", 0)
	add("05.bm25.scifact", "nDCG@10 of bm25 alone, scifact", 68)
	add("05.bm25.capret-en", "nDCG@10 of bm25 alone, capret-en", 71)
	register("05", fusion05, fs...)
	register("05", reference05,
		figure{id: "05.bm25.reference", what: "greatest difference of BM25 scores to bm25s, scifact", target: 1e-4, atMost: true})
	register("05", speed05,
		figure{id: "05.bm25.p50", what: "p50 of BM25 top-10 over 100,000 passages, ms", target: 1, atMost: true},
		figure{id: "05.bm25.size", what: "index on disk, percent of the text", target: 40, atMost: true})
	register("05", bleve05,
		figure{id: "05.bm25.bleve", what: "p50 of bleve's faster scoring over ours, same run, scale-mix", target: 1})
}

func fusion05(ctx context.Context, w *workshop) (map[string]float64, error) {
	values := map[string]float64{}
	least := 100.0
	for set, tasks := range fused05 {
		got, err := w.bench(ctx, set, "--systems", "dense,rlr,bm25,hybrid", "--tasks", strings.Join(tasks, ","),
			"--metrics", "ndcg@1,ndcg@10", "--seed", "1", "--encodings", w.encodings)
		if err != nil {
			return values, err
		}
		for _, task := range tasks {
			for _, system := range []string{"dense", "rlr", "bm25", "hybrid"} {
				if _, ok := got[[3]string{system, task, "ndcg@10"}]; !ok {
					return values, fmt.Errorf("bench on %s: no figure of %s for %s", set, system, task)
				}
			}
			one := func(system string) float64 { return got[[3]string{system, task, "ndcg@1"}] }
			ten := func(system string) float64 { return got[[3]string{system, task, "ndcg@10"}] }
			least = min(least, ten("hybrid")-max(ten("rlr"), ten("bm25")))
			switch {
			case !strings.HasPrefix(set, "sure-"):
				values["05."+set] = ten("hybrid")
				values["05."+set+".stretch"] = ten("hybrid")
				values["05.bm25."+set] = ten("bm25")
			case task == "query":
				values["05."+set+".query"] = one("hybrid") - one("dense")
			default:
				values["05."+set+"."+short(task)] = one("hybrid") - one("bm25")
			}
		}
	}
	values["05.parents"] = least
	return values, nil
}

var difference05 = regexp.MustCompile(`greatest difference over \d+ queries: (\S+)`)

// reference05 reads what the test against bm25s found.
func reference05(ctx context.Context, _ *workshop) (map[string]float64, error) {
	out, err := goTest(ctx, "./index/inverted", "ReferenceScifact")
	if err != nil {
		return nil, err
	}
	m := difference05.FindSubmatch(out)
	if m == nil {
		return nil, errors.New("comparing with bm25s: the test was skipped; set LEXSEM_DATA")
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	return map[string]float64{"05.bm25.reference": v}, err
}

// speed05 reads the benchmark over 100,000 passages.
func speed05(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, nil, "./index/inverted", "Search$", "-benchtime", "6000x")
	values := map[string]float64{}
	if v, ok := got["Search/snapshot bytes-%"]; ok {
		values["05.bm25.size"] = v
	}
	if v, ok := got["Search/snapshot p50-µs"]; ok {
		values["05.bm25.p50"] = v / 1000
	}
	return values, err
}

// bleve05 lets the peer's own module measure both indexes in one process.
func bleve05(ctx context.Context, _ *workshop) (map[string]float64, error) {
	texts, err := filepath.Abs(data("scale-mix"))
	if err != nil {
		return nil, err
	}
	c := command(ctx, "go", "run", ".", "--data", texts, "--json")
	c.Dir = filepath.Join("bench", "peers", "bleve")
	out, err := output(c)
	if err != nil {
		return nil, err
	}
	var report struct {
		Rows []struct {
			Name string
			P50  float64 `json:"p50_us"`
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("bleve's report: %w", err)
	}
	if len(report.Rows) < 2 || !strings.HasPrefix(report.Rows[0].Name, "lexsem") {
		return nil, fmt.Errorf("bleve's report has the rows %+v", report.Rows)
	}
	ours, best := report.Rows[0], 0.0
	for _, r := range report.Rows[1:] {
		if best == 0 || r.P50 < best {
			best = r.P50
		}
	}
	return map[string]float64{"05.bm25.bleve": best / ours.P50}, nil
}
