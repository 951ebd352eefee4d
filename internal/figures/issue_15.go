package main

import (
	"context"
	"time"
)

// The sheet of the server and of syncing wants a quiet machine with two cores. It takes
// some five minutes.
func init() {
	var figures []figure
	for _, mode := range []string{"hybrid", "dense", "lexical"} {
		figures = append(figures, limit("15.http."+mode, "search over HTTP less encoding its query, ms at the median, 100,000 documents", 2))
	}
	register("15", http15, figures...)
	register("15", load15,
		limit("15.load.slow", "99th percentile over the median, 200 clients beside a writer, 60 s, of which none gets an error", 10),
		limit("15.load.growth", "MiB that memory in use grows by in the second half of it", 10))
	register("15", sync15, limit("15.sync", "seconds to sync 20,000 files of which 10 changed, encoding included", 2))
}

func http15(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, nil, "./engine/httpapi", "^BenchmarkSearch$", "-benchtime", "500x")
	v := map[string]float64{}
	for _, mode := range []string{"hybrid", "dense", "lexical"} {
		asked, ok := got["Search/"+mode+" http-p50-ms"]
		encoded, okEncoded := got["Search/"+mode+" encode-p50-ms"]
		if ok && okEncoded {
			v["15.http."+mode] = asked - encoded
		}
	}
	return v, err
}

func load15(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, nil, "./engine/httpapi", "^BenchmarkLoad$", "-benchtime", "1x")
	if err != nil {
		return nil, err
	}
	v := map[string]float64{}
	if slow, ok := got["Load p99-over-p50"]; ok {
		v["15.load.slow"] = slow
	}
	half, ok := got["Load half-MiB"]
	end, okEnd := got["Load end-MiB"]
	if ok && okEnd {
		v["15.load.growth"] = end - half
	}
	return v, nil
}

func sync15(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, nil, "./engine/folder", "^BenchmarkSync$", "-benchtime", "5x")
	v := map[string]float64{}
	if ns, ok := got["Sync ns/op"]; ok {
		v["15.sync"] = ns / float64(time.Second)
	}
	return v, err
}
