package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// gain04 is a row of the points of nDCG@1 that a system gains over dense in a run of docs/runs.
type gain04 struct {
	id     string // less "04."
	target float64
	run    string
	set    string // as its values begin
	task   string
	system string
}

var gains04 = slices.Concat(
	union04Rows("best", "fitted-union", best04), union04Rows("local", "union", "rlr-local"),
	[]gain04{
		{"slr.keyword", 20, "fitted-union", "union", "keyword", "slr"}, {"slr.part16", 14, "fitted-union", "union", "part:16", "slr"},
		{"llr.keyword", 12, "fitted-union", "union", "keyword", "llr"}, {"llr.part16", 6, "fitted-union", "union", "part:16", "llr"},
		{"rlr.keyword", 12, "fitted-union", "union", "keyword", "rlr"}, {"rlr.part16", 6, "fitted-union", "union", "part:16", "rlr"},
		{"clr.keyword", 0, "fitted-union", "union", "keyword", "clr"}, {"clr.part16", 0, "fitted-union", "union", "part:16", "clr"},

		{"20k.keyword", 18, "fitted-20k", "scale-mix", "keyword", best04}, {"20k.part8", 18, "fitted-20k", "scale-mix", "part:8", best04},
		{"20k.part16", 13, "fitted-20k", "scale-mix", "part:16", best04},
		{"grown.keyword", 18, "fitted-20k", "among", "keyword", best04}, {"grown.part16", 16, "fitted-20k", "among", "part:16", best04},
		{"79k.keyword", 15, "fitted-79k", "scale-mix 4", "keyword", best04}, {"79k.part16", 15, "fitted-79k", "scale-mix 4", "part:16", best04},

		{"local.20k.keyword", 18, "scale-20k", "20k", "keyword", "rlr-local"}, {"local.20k.part8", 18, "scale-20k", "20k", "part:8", "rlr-local"},
		{"local.20k.part16", 13, "scale-20k", "20k", "part:16", "rlr-local"},
		{"local.79k.keyword", 20, "scale", "scale-mix", "keyword", "rlr-local"}, {"local.79k.part16", 15, "scale", "scale-mix", "part:16", "rlr-local"},
		{"local.tenth.keyword", 12, "scale", "scale-mix", "keyword", "rlr-local:315:31"},
		{"local.tenth.part16", 12, "scale", "scale-mix", "part:16", "rlr-local:315:31"},
	})

// union04Rows are those of a system on the union of the sure sets.
func union04Rows(name, run, system string) []gain04 {
	var rows []gain04
	for i, task := range tasks04 {
		target := []float64{27, 21, 25, 16, -0.3, -0.3, -0.3}[i]
		rows = append(rows, gain04{name + "." + short(task), target, run, "union", task, system})
	}
	return rows
}

// guards04 are sets whose questions local bridges may not cost.
var guards04 = []string{"capret-en", "scifact", "cranfield", "nq-open-oracle", "limit-small"}

// whole04 are the sets and tasks of docs/runs/whiten.json that whitening may not cost.
var whole04 = map[string][]string{"union": tasks04[4:], "capret-en": {"query"}, "cranfield": {"query"}, "scifact": {"query"}, "nq-open-oracle": {"query"}}

// The sheet reads the runs of docs/runs, which .ci/figures again repeats; speeds and CPU-seconds it measures.
func init() {
	var figures []figure
	for _, g := range gains04 {
		figures = append(figures, goal("04."+g.id, "nDCG@1 points of "+g.system+" over dense, "+g.task+", "+g.set+" of the run "+g.run, g.target))
	}
	for _, name := range []string{"best", "local"} {
		figures = append(figures, goal("04."+name+".judged", "nDCG@1 points over dense, mean of the three judged sets of the union", .5))
	}
	figures = append(figures,
		goal("04.bge.capret", "nDCG@10 points of rlr over dense on capret-en, bge-small-en-v1.5", 14),
		goal("04.limit.recall2", "Recall@2 of rlr-local on limit-small with one vector a query (one cell)", 95),
		goal("04.general.keyword", "nDCG@1 points of whiten over dense, keyword, on passages it has not seen, mean of five corpora", 1),
		goal("04.general.part8", "nDCG@1 points of whiten over dense, part:8, on passages it has not seen, mean of five corpora", 1),
		goal("04.general.guard", "least of whiten over dense, nDCG@1 and @10, judged queries of seven sets", -.3))
	for _, set := range guards04 {
		figures = append(figures, goal("04.local.guard."+set, "the lesser of nDCG@1 and nDCG@10 points of rlr-local over dense, judged queries", -.3))
	}
	register("04", recorded04, figures...)
	register("04", fit04,
		limit("04.fit.cpu", "CPU-seconds of fitting slr to 23 queries a passage of the union, queries encoded before: two cores for a minute", 120),
		limit("04.fit.encode", "CPU-seconds of encoding these queries: two cores for three minutes", 360))
	register("04", localSpeed04,
		limit("04.local.bytes", "tables, codes and lists over float32 vectors", 1),
		limit("04.local.scan", "a query over all cells over a plain exact int8 scan, one goroutine", 2))
	register("04", speed04,
		limit("04.rlr.fit5k", "seconds, sums of 5,000 passages and the first inverse", 1),
		limit("04.rlr.fit100k", "seconds, sums of 100,000 passages and the first inverse", 20),
		limit("04.rlr.query", "µs to modulate one query of 20 tokens, rlr", 60),
		limit("04.rlr+slr.query", "µs to modulate one query of 20 tokens, rlr+slr", 100),
		limit("04.rlr.allocs", "allocations to modulate one query, the greater of both", 0.5))
}

func recorded04(context.Context, *workshop) (map[string]float64, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, g := range gains04 {
		values["04."+g.id] = r.gain(g.run, g.set, g.task, g.system, "ndcg@1")
	}
	for _, task := range tasks04[4:] {
		values["04.best.judged"] += values["04.best."+short(task)] / 3
		values["04.local.judged"] += values["04.local."+short(task)] / 3
	}
	values["04.bge.capret"] = r.gain("bge", "capret-en bge", "query", "rlr", "ndcg@10")
	for _, set := range guards04 {
		values["04.local.guard."+set] = min(r.gain("judged", set, "query", "rlr-local", "ndcg@1"), r.gain("judged", set, "query", "rlr-local", "ndcg@10"))
	}
	values["04.limit.recall2"] = r.value("judged", "limit-small query rlr-local recall@2")
	least := math.Inf(1)
	for set, tasks := range whole04 {
		values["04.general.keyword"] += r.gain("unseen", set, "keyword", "unseen:whiten", "ndcg@1") / float64(len(whole04))
		values["04.general.part8"] += r.gain("unseen", set, "part:8", "unseen:whiten", "ndcg@1") / float64(len(whole04))
		for _, task := range tasks {
			least = min(least, r.gain("whiten", set, task, "whiten", "ndcg@1"), r.gain("whiten", set, task, "whiten", "ndcg@10"))
		}
	}
	values["04.general.guard"] = least
	return values, r.err
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
