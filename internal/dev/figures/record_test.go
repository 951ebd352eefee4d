package main

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/dev/runs"
)

// TestReadingKnowsEveryReport: the values of each kind of report by their words.
func TestReadingKnowsEveryReport(t *testing.T) {
	for report, want := range map[string]map[string]float64{
		`{"data": "a", "results": [{"system": "rlr", "task": "query", "metrics": {"ndcg@1": 0.5}, "vs_dense": {"p": 0.01, "p_holm": 0.02}}]}`: {
			"a query rlr ndcg@1": 50, "a query rlr p": 0.02},
		`{"data": "a", "overlaps": [{"task": "part:8", "queries": 3, "taught": 0.5, "whole": 0.25, "chosen": 0}]}`: {
			"a part:8 overlap taught": 50, "a part:8 overlap whole": 25, "a part:8 overlap chosen": 0},
		`{"data": "a", "points": [{"x": 4000, "results": [{"system": "rlr", "task": "query", "metrics": {"ndcg@1": 0.25}}], "fit": {"rlr": {"loss": 0}, "slr": {"loss": 0.5}}}]}`: {
			"a 4000 fit slr loss":     0.5,
			"a 4000 query rlr ndcg@1": 25},
		`{"data": "a", "ndcg@10": {"rlr": 0.5}, "results": [{"system": "rlr", "testbed": "precision", "queries": 7, "left_out": 2, "same_text": 3, "rdc": 0.6, "roc": 0.2, "gap": 2.4, "vs_dense": {"p_rdc": 0.01, "p_holm_rdc": 0.02, "p_holm_roc": 0.03, "p_holm_gap": 0.04}}]}`: {
			"a query rlr ndcg@10": 50, "a precision queries": 7, "a precision left_out": 2, "a precision same_text": 3,
			"a precision rlr rdc": 0.6, "a precision rlr roc": 0.2, "a precision rlr gap": 2.4, "a precision rlr p_rdc": 0.02, "a precision rlr p_roc": 0.03, "a precision rlr p_gap": 0.04},
		`{"systems": ["e dense"], "correlations": [{"over": "a", "measure": "rdc", "between": "ndcg@10", "spearman": 0.5}, {"over": "all", "measure": "roc", "between": "x–y", "spearman": -1}]}`: {
			"a rdc ndcg@10 spearman": 0.5, "all roc x–y spearman": -1},
		`{"docs": 100, "dim": 8, "docs_per_second": 40.5, "open_seconds": null, "stall_ms": {"add_1": 2, "fit": null}, "stalls": {"add_1": {"seconds": 9}}, "modes": {"hybrid": {"variant": "rlr", "after_upsert_ms": {"10": 3}}}}`: {
			"100 8 docs": 100, "100 8 dim": 8, "100 8 docs_per_second": 40.5, "100 8 stall_ms add_1": 2, "100 8 modes hybrid after_upsert_ms 10": 3},
		`{"commands": {"docs": {"without": {"kb_per_cpu_second": 20}}, "search": {"wall_ms": 100}}}`: {
			"it docs without kb_per_cpu_second": 20, "it search wall_ms": 100},
		`{"n": 20, "dim": 8, "libraries": {"hnswlib": {"build": {"cpu": 2, "bytes": 90}, "points": []}}, "at": {"hnswlib": {"0.95": 40, "0.99": null}, "hnsw-int8": {"0.95": 100, "0.99": 50}}}`: {
			" n": 20, " dim": 8, " hnswlib build": 2, " hnswlib bytes": 90, " hnswlib .95 qps": 40, " hnswlib .95 times": 1, " hnsw-int8 .95 qps": 100, " hnsw-int8 .95 times": 2.5, " hnsw-int8 .99 qps": 50},
		`{"results": [{"task": "retrieval", "similarity": "bm25", "data": "b", "score": 0.8, "parts": {"all": 0.4, "kept x": 1}}]}`: {
			"b retrieval bm25 score": 0.8, "b retrieval bm25 all": 0.4},
		`{"results": [{"task": "preference", "similarity": "bm25", "data": "b", "score": 0.8, "parts": {"pearson": 1, "correlation": 0.1, "accuracy": 0.2, "precision": 0.3, "recall": 0.4, "f1": 0.5}}]}`: {
			"b preference bm25 score": 0.8, "b preference bm25 correlation": 0.1, "b preference bm25 accuracy": 0.2, "b preference bm25 precision": 0.3, "b preference bm25 recall": 0.4, "b preference bm25 f1": 0.5},
		`{"results": [{"task": "robustness", "similarity": "bm25", "data": "b", "score": 0.8, "parts": {"together": 0.1, "summary_over_semantic": 1}}]}`: {
			"b robustness bm25 score": 0.8, "b robustness bm25 together": 0.1},
		`{"results": [{"task": "sensitivity", "similarity": "bm25", "data": "b", "score": 0.8, "parts": {"insertion": 0.7, "removal": 0.9}, "cut": {"as-is": 0.25, "0.5": 0.5}}]}`: {
			"b sensitivity bm25 score": 0.8, "b sensitivity bm25 insertion": 0.7, "b sensitivity bm25 removal": 0.9, "b sensitivity as-is cut": 25, "b sensitivity 0.5 cut": 50},
		`{"data": "a", "types": [{"type": "object", "systems": [{"system": "rlr", "mean": 0.5, "higher": 0.25, "lower": 0.75}]}]}`: {
			"a object rlr mean": 50, "a object rlr higher": 25, "a object rlr lower": 75},
		`{"data": "a", "answerable": [{"system": "rlr", "auc": 0.75, "with": 3, "without": 2}]}`: {
			"a answerable rlr auc": 75},
		`[{"half": "test", "metric": "ndcg@1", "kinds": [{"kind": "spans"}], "rows": [{"system": "rlr", "bytes_per_passage": 1500, "cpu_ms_per_query": 0.5, "cells": [{"mean": 0.5, "low": 0.25, "high": 0.75}, {"mean": 1, "low": 1, "high": 1}]}]}]`: {
			"test mean rlr ndcg@1": 50, "test mean rlr low": 25, "test mean rlr high": 75, "test spans rlr ndcg@1": 100, "test spans rlr low": 100, "test spans rlr high": 100, "test rlr bytes": 1500, "test rlr cpu_us": 500},
		`{"system": "s", "metric": "m", "settings": 2, "rows": [{"constant": "pair", "value": 0.25, "start": true, "dev": {"mean": 0.5}, "loss": 0.02}, {"constant": "cell", "value": null, "start": true, "dev": {"lead": -0.5}}],
			"start": {"dev": {"objective": 0.1}, "test": {"lead": -0.01, "short": 0.02, "worst": -0.03}, "test_mean": {"low": 0.4, "high": 0.6}, "test_lead": {"low": -0.1, "high": 0.1}},
			"gain": {"mean": 0.01, "low": -0.01, "high": 0.03}, "sets": [{"corpus": "c", "task": "t", "half": "test", "best": 0.7, "start": 0.8, "chosen": 0.9, "start_lead": {"mean": 0.1}, "gain": {"mean": 0.1}}]}`: {
			"s dev pair=0.25 objective": 0, "s dev pair=0.25 mean": 50, "s dev pair=0.25 lead": 0, "s dev pair=0.25 below": 0, "s dev pair=0.25 loses": 2,
			"s dev cell=shipped objective": 0, "s dev cell=shipped mean": 0, "s dev cell=shipped lead": -50, "s dev cell=shipped below": 0, "s dev cell=shipped loses": 0,
			"s all dev start objective": 10, "s all dev start mean": 0, "s all dev start lead": 0, "s all dev start below": 0, "s all dev start worst": 0,
			"s all dev chosen objective": 0, "s all dev chosen mean": 0, "s all dev chosen lead": 0, "s all dev chosen below": 0, "s all dev chosen worst": 0,
			"s all test start objective": 0, "s all test start mean": 0, "s all test start lead": -1, "s all test start below": 2, "s all test start worst": -3,
			"s all test chosen objective": 0, "s all test chosen mean": 0, "s all test chosen lead": 0, "s all test chosen below": 0, "s all test chosen worst": 0,
			"s all test start mean-low": 40, "s all test start mean-high": 60, "s all test start lead-low": -10, "s all test start lead-high": 10,
			"s all test chosen mean-low": 0, "s all test chosen mean-high": 0, "s all test chosen lead-low": 0, "s all test chosen lead-high": 0,
			"s all test gain": 1, "s all test gain-low": -1, "s all test gain-high": 3,
			"s c t test rival m": 70, "s c t test start m": 80, "s c t test chosen m": 90,
			"s c t test start lead": 10, "s c t test chosen lead": 0, "s c t test gain": 10},
	} {
		as := ""
		if strings.HasPrefix(report, `{"commands"`) {
			as = "it"
		}
		got, err := reading([]byte(report), as)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", report, got, err, want)
		}
	}
	comparison := `[{"task": "query", "system": "rlr", "base": "dense", "a": 0.25, "b": 0.5, "delta": 0.25, "low": 0.125, "high": 0.5, "p": 0.01, "p_holm": 0.02}]`
	if got, err := reading([]byte(comparison), "a both"); err != nil || !maps.Equal(got, map[string]float64{
		"a both query rlr difference": 25, "a both query rlr low": 12.5, "a both query rlr high": 50, "a both query rlr p": 0.02}) {
		t.Errorf("a comparison: %v, %v", got, err)
	}
	if _, err := reading([]byte(`[{"half": "test"}]`), "a both"); err == nil {
		t.Error("a summary was read as a comparison")
	}
	if got, err := reading([]byte(`{"data": "a b", "results": [{"system": "s", "task": "t", "metrics": {"m": 1}}]}`), "union"); err != nil || got["union t s m"] != 100 {
		t.Errorf("as: %v, %v", got, err)
	}
	for _, bad := range []string{"", "{", `{"results": []}`} {
		if _, err := reading([]byte(bad), ""); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestChosenRuns: a name is that run, else the beginning of names.
func TestChosenRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(runsDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sure", "sure-nq", "limit"} {
		if err := (&runs.Run{Name: name, Commands: []runs.Command{{Run: "lexsem bench x"}}}).Save(runsDir); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]int{"sure": 1, "sur": 2, "": 3, "limit": 1} {
		if got, err := chosenRuns(prefix); err != nil || len(got) != want {
			t.Errorf("%q chose %d, %v", prefix, len(got), err)
		}
	}
	if _, err := chosenRuns("none"); err == nil {
		t.Error("no run is an error")
	}
}

// TestRegressions: of every kind of value one that is worse by 15 % is named, and none that is better, or worse by 5 %.
func TestRegressions(t *testing.T) {
	for name, up := range map[string]bool{
		"nq query rlr ndcg@10": true, "nq query slr ndcg@10 seed=2": true, "384 hnsw-int8 .95 qps": true, "384 hnsw-int8 .95 times": true,
		"100k docs_per_cpu_second_settled": true, "nq all test gain": true, "sure precision rlr rdc": true, "b retrieval bm25 score": true,
		"100k modes hybrid cpu_ms": false, "100k modes hybrid p50_ms": false, "100k open_cpu_seconds": false, "100k rss_mb": false,
		"commands docs without kb_per_cpu_second": true, "commands docs without disk_over_text_bytes": false, "commands search wall_ms": false, "commands sync cpu_ms": false,
		"100k disk_bytes": false, "100k memory_per_document codes": false, "384 hnsw-int8 build": false, "test rlr cpu_us": false, "test rlr bytes": false,
	} {
		for change, want := range map[float64]int{1.15: 1, 0.85: 1, 1.05: 0, 0.95: 0} {
			if change > 1 == up {
				want = 0
			}
			if got := regressions("run", map[string]float64{name: 40}, map[string]float64{name: 40 * change}); len(got) != want {
				t.Errorf("%s times %v: %v", name, change, got)
			}
		}
	}
	for _, name := range []string{"384 hnswlib .95 qps", "nq query rlr p", "100k stall_ms add_10", "100k docs", "nq all test gain-low"} {
		for _, change := range []float64{0.5, 2} {
			if got := regressions("run", map[string]float64{name: 40}, map[string]float64{name: 40 * change}); got != nil {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	if got := regressions("run", map[string]float64{}, map[string]float64{"100k rss_mb": 1}); got != nil {
		t.Errorf("a new value: %v", got)
	}
}

// TestGone: a value of ours that is no longer measured is named.
func TestGone(t *testing.T) {
	before := map[string]float64{"384 hnsw-int8 .95 qps": 1, "384 hnsw-int8 .99 qps": 1, "384 hnswlib .99 qps": 1, "384 dim": 384}
	got := gone("run", before, map[string]float64{"384 hnsw-int8 .95 qps": 1})
	if len(got) != 1 || !strings.Contains(got[0].Error(), "384 hnsw-int8 .99 qps") {
		t.Errorf("%v", got)
	}
}

// TestAdoptAndTables: what stands in a document goes into the run and comes back.
func TestAdoptAndTables(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(runsDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("README.md", []byte("# D\n\n<!-- run: clock -->\n| | ms |\n|---|---|\n| cold | 5.1 |\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := &runs.Run{Name: "clock", About: "x", Recorded: runs.ByHand, Commands: []runs.Command{{Run: "go test", Commit: "c", Date: "d", Machine: "m"}}}
	if err := run.Save(runsDir); err != nil {
		t.Fatal(err)
	}
	if err := adopt("clock"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("README.md", []byte("# D\n\n<!-- run: clock -->\n| | ms |\n|---|---|\n| cold | 9.9 |\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tables(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("README.md")
	if err != nil || string(raw) != "# D\n\n<!-- run: clock -->\n| | ms |\n|---|---|\n| cold | 5.1 |\n" {
		t.Errorf("%v\n%s", err, raw)
	}
	all, err := runs.Load(runsDir)
	if err != nil || len(all["clock"].Problems()) > 0 {
		t.Errorf("%v, %v", err, all["clock"].Problems())
	}
	for command, want := range map[string]bool{
		"go test": false, "go run ./tools/pairs -commands c": true, "go run ./tools/pairs -code d": true, "X=1 bench/peers/run.sh 100": true, "lexsem bench --data d": true, "lexsem bench sure --data d": true, "lexsem bench correlate": true, "lexsem bench soak --docs 5": false,
	} {
		if got := recordable(&runs.Run{Commands: []runs.Command{{As: "a", Run: command}}}); got != want {
			t.Errorf("%s: recordable %v", command, got)
		}
	}
}
