package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The sheet of the index takes about 10 minutes and a quiet machine with two
// cores: hnswlib, faiss, usearch and our own graphs over 100,000 made vectors.
// LEXSEM_MILLION=1 adds the rows over a million, about 25 minutes and 8 GiB
// more; without it they are not measured, and a MISS.
func init() {
	register("06", graphs06,
		goal("06.search.two", "searches of two goroutines over one", 1.8),
		limit("06.p99", "p99 over p50 of searches while another goroutine adds", 5),
		limit("06.build.two", "build time with two threads over one, 20k", 0.6),
		goal("06.filter.recall", "least recall with filters of 50/10/1/0.1 % and against the grain, 20k", 0.95),
		goal("06.filter.speed", "least time of the exact scan over that of the graph, the same filters, which tell it what they let through", 1))
	register("06", allocs06, limit("06.allocs", "allocations of a search", 0))
	register("06", open06, limit("06.open", "seconds to map and verify a snapshot of 100k", 0.15))
	register("06", peers06,
		goal("06.hnswlib.95", "queries per CPU-second of hnsw-int8 over hnswlib's, 100k, recall .95", 2.4),
		goal("06.faiss.95", "the same over faiss HNSW's", 2.2),
		goal("06.hnswlib.99", "hnsw-int8 over hnswlib, recall .99", 2.5),
		goal("06.faiss.99", "hnsw-int8 over faiss HNSW, recall .99", 2.4),
		goal("06.usearch.99", "hnsw-int8 over usearch int8 with rescoring, recall .99", 2.5),
		goal("06.float.99", "hnsw (float32 alone) over hnswlib, recall .99", 1.2),
		limit("06.build.cpu", "build CPU of hnsw-int8 over hnswlib's, 100k", 0.6),
		limit("06.bytes", "bytes a vector beside the floats, hnsw-int8, 100k", 600))
	register("06", million06,
		goal("06.million.recall", "greatest recall, of five, at 1M × 384 where hnsw-int8 has twice hnswlib's speed at equal recall", 0.97),
		goal("06.million.speed", "hnsw-int8 over hnswlib at 1M, recall .98", 2))
}

// peerReport is what compare.py writes.
type peerReport struct {
	Libraries map[string]struct {
		Build  struct{ CPU, Bytes float64 }
		Points []struct {
			Ef     int
			Recall float64
			QPS    float64 `json:"qps_cpu"`
		}
	}
	At map[string]map[string]*float64 // queries per CPU-second by library and recall
}

func peers(ctx context.Context, tmp, n string, args ...string) (*peerReport, error) {
	out := filepath.Join(tmp, "peers-"+n+".json")
	if err := command(ctx, "bench/peers/run.sh", append([]string{n, "--json", out}, args...)...).Run(); err != nil {
		return nil, fmt.Errorf("bench/peers/run.sh: %w", err)
	}
	r := &peerReport{}
	return r, readJSON(out, r)
}

// over is the ratio of two libraries at a recall.
func (r *peerReport) over(v map[string]float64, id, a, b, recall string) {
	if x, y := r.At[a][recall], r.At[b][recall]; x != nil && y != nil {
		v[id] = *x / *y
	}
}

// graphs06 reads the benchmarks of package index over 20,000 vectors. It comes
// first, as some rows want both cores.
func graphs06(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, []string{"LEXSEM_BENCH_VECTORS=20000"}, "./index",
		"^BenchmarkBuild$/^hnsw-int8$|^BenchmarkFiltered$|^BenchmarkTwoSearchers$|^BenchmarkSearchWhileAdding$", "-benchtime", "1x")
	v := map[string]float64{}
	keep := func(id string, x float64, better func(a, b float64) float64) {
		if old, ok := v[id]; ok {
			x = better(old, x)
		}
		v[id] = x
	}
	if one, two := got["Build/hnsw-int8/workers=1 wall-s"], got["Build/hnsw-int8/workers=2 wall-s"]; one > 0 && two > 0 {
		v["06.build.two"] = two / one
	}
	if x, ok := got["TwoSearchers/hnsw-int8 two/one"]; ok {
		v["06.search.two"] = x
	}
	for name, x := range got {
		switch {
		case strings.HasPrefix(name, "Filtered/") && strings.HasSuffix(name, " recall@10"):
			keep("06.filter.recall", x, math.Min)
		case strings.HasPrefix(name, "Filtered/") && strings.HasSuffix(name, "/listed scan/graph"): // as databases ask
			keep("06.filter.speed", x, math.Min)
		case strings.HasSuffix(name, " p99/p50"):
			keep("06.p99", x, math.Max)
		}
	}
	return v, err
}

func allocs06(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, []string{"LEXSEM_BENCH_VECTORS=20000"}, "./index", "^BenchmarkSearch$/^hnsw-int8$", "-benchmem", "-benchtime", "2000x")
	v := map[string]float64{}
	for name, x := range got {
		if strings.HasSuffix(name, " allocs/op") {
			v["06.allocs"] = max(v["06.allocs"], x)
		}
	}
	return v, err
}

func open06(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, []string{"LEXSEM_BENCH_VECTORS=100000"}, "./index", "^BenchmarkOpen$/^hnsw-int8$", "-benchtime", "10x")
	v := map[string]float64{}
	if x, ok := got["Open/hnsw-int8 open-s"]; ok {
		v["06.open"] = x
	}
	return v, err
}

func peers06(ctx context.Context, w *workshop) (map[string]float64, error) {
	r, err := peers(ctx, w.tmp, "100000", "--libraries", "hnswlib,faiss,usearch-i8,hnsw,hnsw-int8")
	if err != nil {
		return nil, err
	}
	v := map[string]float64{}
	r.over(v, "06.hnswlib.95", "hnsw-int8", "hnswlib", "0.95")
	r.over(v, "06.faiss.95", "hnsw-int8", "faiss", "0.95")
	r.over(v, "06.hnswlib.99", "hnsw-int8", "hnswlib", "0.99")
	r.over(v, "06.faiss.99", "hnsw-int8", "faiss", "0.99")
	r.over(v, "06.usearch.99", "hnsw-int8", "usearch-i8", "0.99")
	r.over(v, "06.float.99", "hnsw", "hnswlib", "0.99")
	v["06.build.cpu"] = r.Libraries["hnsw-int8"].Build.CPU / r.Libraries["hnswlib"].Build.CPU
	v["06.bytes"] = r.Libraries["hnsw-int8"].Build.Bytes
	return v, nil
}

func million06(ctx context.Context, w *workshop) (map[string]float64, error) {
	v := map[string]float64{}
	if os.Getenv("LEXSEM_MILLION") == "" {
		return v, nil
	}
	r, err := peers(ctx, w.tmp, "1000000", "--libraries", "hnswlib,hnsw-int8", "--ef", "16,24,32,48,64,96,128,192", "--rounds", "3")
	if err != nil {
		return nil, err
	}
	r.over(v, "06.million.speed", "hnsw-int8", "hnswlib", "0.98")
	for recall, ours := range r.At["hnsw-int8"] {
		x, err := strconv.ParseFloat(recall, 64)
		if err != nil {
			return v, err
		}
		if theirs := r.At["hnswlib"][recall]; ours != nil && theirs != nil && *ours >= 2**theirs {
			v["06.million.recall"] = max(v["06.million.recall"], x)
		}
	}
	return v, nil
}
