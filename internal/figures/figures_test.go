package main

import (
	"encoding/json"
	"maps"
	"math"
	"testing"
)

func TestParseBenchTakesTheLeastOfSeveralCounts(t *testing.T) {
	got, err := parseBench([]byte("goos: linux\n" +
		"BenchmarkBuild/hnsw-int8/workers=1-2 \t       1\t3125443771 ns/op\t         3.136 cpu-s\n" +
		"BenchmarkSearch/hnsw-int8\t    2000\t     20.5 ns/op\t       0 allocs/op\n" +
		"BenchmarkSearch/hnsw-int8\t    2000\t     19.5 ns/op\t       1 allocs/op\nPASS\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"Build/hnsw-int8/workers=1 ns/op": 3125443771, "Build/hnsw-int8/workers=1 cpu-s": 3.136,
		"Search/hnsw-int8 ns/op": 19.5, "Search/hnsw-int8 allocs/op": 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSheetsHaveNoFigureTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range groups {
		for _, f := range g.figures {
			if f.id[:3] != g.issue+"." {
				t.Errorf("figure %s stands on the sheet of issue %s", f.id, g.issue)
			}
			if seen[f.id] {
				t.Errorf("figure %s is registered twice", f.id)
			}
			seen[f.id] = true
		}
	}
	if got := sheet("4", "04.local."); len(got) == 0 || len(got) >= len(sheet("4", "")) {
		t.Errorf("the prefix 04.local. chose %d of %d groups", len(got), len(sheet("4", "")))
	}
}

func TestScoresKnowWhatWasNotMeasured(t *testing.T) {
	s := scores{{"rlr", "query", "ndcg@1"}: 75, {"dense", "query", "ndcg@1"}: 70}
	if v, ok := s.over("rlr", "dense", "query", "ndcg@1"); !ok || v != 5 {
		t.Errorf("got %v, %v", v, ok)
	}
	if _, ok := s.over("rlr", "dense", "query", "ndcg@10"); ok {
		t.Error("a metric that was not measured has a difference")
	}
	if got := median([]float64{3, 1, 2, 10}); got != 2.5 {
		t.Errorf("median %v", got)
	}
}

// TestAfterCommitsTakesTheWorst: of modes and sizes, less what is allowed.
func TestAfterCommitsTakesTheWorst(t *testing.T) {
	r := &engineReport{}
	raw := `{"dim": 1536, "first_search_ms": 20, "product_ms": 1, "modes": {
		"hybrid": {"p50_ms": 2, "after_upsert_ms": {"1": 4, "10": 9, "1000": 5}},
		"lexical": {"p50_ms": 0.1, "after_upsert_ms": {"1": 1, "10": 0.5, "1000": 8}}}}`
	if err := json.Unmarshal([]byte(raw), r); err != nil {
		t.Fatal(err)
	}
	v := r.afterCommits()
	if got := v["12.upsert.1536"]; math.Abs(got-(8-.15-2)) > 1e-9 {
		t.Errorf("after upserts %v", got)
	}
	if got := v["12.first.1536"]; math.Abs(got-(20-3-2)) > 1e-9 {
		t.Errorf("first %v", got)
	}
	delete(r.Modes["lexical"].After, "10")
	if v := r.afterCommits(); len(v) != 1 {
		t.Errorf("a size that was not measured passed: %v", v)
	}
}
