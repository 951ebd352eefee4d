package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The sheet of the index takes about 40 minutes and a quiet machine with two
// cores: hnswlib, faiss, usearch and our own graphs over 100,000 made vectors.
// LEXSEM_MILLION=1 adds the rows over a million, about 40 minutes and 6 GiB
// more; without it they are not measured, and a MISS.
func init() {
	register("06", measure06,
		figure{id: "06.hnswlib.95", what: "queries per CPU-second of hnsw-int8 over hnswlib's, 100k, recall .95", target: 2.4},
		figure{id: "06.faiss.95", what: "the same over faiss HNSW's", target: 2.2},
		figure{id: "06.hnswlib.99", what: "hnsw-int8 over hnswlib, recall .99", target: 2.5},
		figure{id: "06.faiss.99", what: "hnsw-int8 over faiss HNSW, recall .99", target: 2.4},
		figure{id: "06.usearch.99", what: "hnsw-int8 over usearch int8 with rescoring, recall .99", target: 2.5},
		figure{id: "06.float.99", what: "hnsw (float32 alone) over hnswlib, recall .99", target: 1.2},
		figure{id: "06.build.cpu", what: "build CPU of hnsw-int8 over hnswlib's, 100k", target: 0.6, atMost: true},
		figure{id: "06.build.two", what: "build time with two threads over one, 20k", target: 0.6, atMost: true},
		figure{id: "06.bytes", what: "bytes a vector beside the floats, hnsw-int8, 100k", target: 600, atMost: true},
		figure{id: "06.search.two", what: "searches of two goroutines over one", target: 1.8},
		figure{id: "06.allocs", what: "allocations of a search", target: 0, atMost: true},
		figure{id: "06.p99", what: "p99 over p50 of searches while another goroutine adds", target: 5, atMost: true},
		figure{id: "06.open", what: "seconds to map and verify a snapshot of 100k", target: 0.15, atMost: true},
		figure{id: "06.filter.recall", what: "least recall with filters of 50/10/1/0.1 % and against the grain, 20k", target: 0.95},
		figure{id: "06.filter.speed", what: "least time of the exact scan over that of the graph, the same filters", target: 1},
		figure{id: "06.million.recall", what: "recall at 1M × 384 where hnsw-int8 has twice hnswlib's speed at equal ef", target: 0.97},
		figure{id: "06.million.speed", what: "hnsw-int8 over hnswlib at 1M, recall .97", target: 2},
	)
}

func measure06(ctx context.Context) (map[string]float64, error) {
	tmp, err := os.MkdirTemp("", "lexsem-figures-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	v := map[string]float64{}
	err = errors.Join(peers06(ctx, tmp, v), go06(ctx, v))
	if os.Getenv("LEXSEM_MILLION") != "" {
		err = errors.Join(err, million06(ctx, tmp, v))
	}
	return v, err
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
	raw, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	r := &peerReport{}
	return r, json.Unmarshal(raw, r)
}

// over is the ratio of two libraries at a recall.
func (r *peerReport) over(v map[string]float64, id, a, b, recall string) {
	if x, y := r.At[a][recall], r.At[b][recall]; x != nil && y != nil {
		v[id] = *x / *y
	}
}

func peers06(ctx context.Context, tmp string, v map[string]float64) error {
	r, err := peers(ctx, tmp, "100000", "--libraries", "hnswlib,faiss,usearch-i8,hnsw,hnsw-int8")
	if err != nil {
		return err
	}
	r.over(v, "06.hnswlib.95", "hnsw-int8", "hnswlib", "0.95")
	r.over(v, "06.faiss.95", "hnsw-int8", "faiss", "0.95")
	r.over(v, "06.hnswlib.99", "hnsw-int8", "hnswlib", "0.99")
	r.over(v, "06.faiss.99", "hnsw-int8", "faiss", "0.99")
	r.over(v, "06.usearch.99", "hnsw-int8", "usearch-i8", "0.99")
	r.over(v, "06.float.99", "hnsw", "hnswlib", "0.99")
	v["06.build.cpu"] = r.Libraries["hnsw-int8"].Build.CPU / r.Libraries["hnswlib"].Build.CPU
	v["06.bytes"] = r.Libraries["hnsw-int8"].Build.Bytes
	return nil
}

func million06(ctx context.Context, tmp string, v map[string]float64) error {
	r, err := peers(ctx, tmp, "1000000", "--libraries", "hnswlib,hnsw-int8", "--ef", "16,24,32,48,64,96,128,192", "--rounds", "3")
	if err != nil {
		return err
	}
	r.over(v, "06.million.speed", "hnsw-int8", "hnswlib", "0.97")
	for i, p := range r.Libraries["hnsw-int8"].Points {
		if q := r.Libraries["hnswlib"].Points[i]; p.QPS >= 2*q.QPS {
			v["06.million.recall"] = max(v["06.million.recall"], p.Recall)
		}
	}
	return nil
}

// go06 reads the figures of the benchmarks in package index.
func go06(ctx context.Context, v map[string]float64) error {
	small, err := benchmark(ctx, "20000", "^BenchmarkBuild$/^hnsw-int8$|^BenchmarkFiltered$|^BenchmarkTwoSearchers$|^BenchmarkSearchWhileAdding$")
	if err != nil {
		return err
	}
	one, two := small["Build/hnsw-int8/workers=1 wall-s"], small["Build/hnsw-int8/workers=2 wall-s"]
	if one > 0 && two > 0 {
		v["06.build.two"] = two / one
	}
	for name, x := range small {
		keep := func(id string, better func(a, b float64) float64) {
			if old, ok := v[id]; ok {
				x = better(old, x)
			}
			v[id] = x
		}
		least := func(a, b float64) float64 { return min(a, b) }
		most := func(a, b float64) float64 { return max(a, b) }
		switch {
		case strings.HasPrefix(name, "Filtered/") && strings.HasSuffix(name, " recall@10"):
			keep("06.filter.recall", least)
		case strings.HasPrefix(name, "Filtered/") && strings.HasSuffix(name, " scan/graph"):
			keep("06.filter.speed", least)
		case name == "TwoSearchers/hnsw-int8 two/one":
			v["06.search.two"] = x
		case strings.HasSuffix(name, " p99/p50"):
			keep("06.p99", most)
		}
	}
	search, err := benchmark(ctx, "20000", "^BenchmarkSearch$/^hnsw-int8$", "-benchtime", "2000x")
	if err != nil {
		return err
	}
	for name, x := range search {
		if strings.HasSuffix(name, " allocs/op") {
			v["06.allocs"] = max(v["06.allocs"], x)
		}
	}
	open, err := benchmark(ctx, "100000", "^BenchmarkOpen$/^hnsw-int8$", "-benchtime", "10x")
	if x, ok := open["Open/hnsw-int8 open-s"]; ok {
		v["06.open"] = x
	}
	return err
}

var procs = regexp.MustCompile(`-\d+$`)

// benchmark runs benchmarks of package index and returns what they report, by
// "name unit".
func benchmark(ctx context.Context, vectors, pattern string, args ...string) (map[string]float64, error) {
	if len(args) == 0 {
		args = []string{"-benchtime", "1x"}
	}
	c := command(ctx, "go", append([]string{"test", "./index", "-run", "^$", "-timeout", "60m", "-bench", pattern}, args...)...)
	c.Env = append(os.Environ(), "LEXSEM_BENCH_VECTORS="+vectors)
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go test -bench %s: %w\n%s", pattern, err, out.Bytes())
	}
	values := map[string]float64{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := procs.ReplaceAllString(strings.TrimPrefix(f[0], "Benchmark"), "")
		for i := 2; i+1 < len(f); i += 2 {
			x, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", lines.Text(), err)
			}
			values[name+" "+f[i+1]] = x
		}
	}
	return values, nil
}
