package main

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
)

// Local bridges and RLR: gains, guards, size and speed. Encoding takes most of
// the time, half an hour of CPU for all.
func init() {
	register("04", unionLocal04, union("local", "rlr-local")...)
	guards := []figure{goal("04.limit.recall2", "Recall@2 on limit-small with one vector a query (one cell)", 95)}
	for _, set := range guards04 {
		guards = append(guards, goal("04.local.guard."+set, "the lesser of nDCG@1 and nDCG@10 points of rlr-local over dense, judged queries", -0.3))
	}
	register("04", guardLocal04, guards...)
	register("04", scale20k04,
		goal("04.local.20k.keyword", "nDCG@1 points over dense, 20,000 of scale-mix", 18),
		goal("04.local.20k.part8", "nDCG@1 points over dense, 20,000 of scale-mix", 18),
		goal("04.local.20k.part16", "nDCG@1 points over dense, 20,000 of scale-mix", 13))
	register("04", scale79k04,
		goal("04.local.79k.keyword", "nDCG@1 points over dense, all of scale-mix, all cells", 20),
		goal("04.local.79k.part16", "nDCG@1 points over dense, all of scale-mix, all cells", 15),
		goal("04.local.tenth.keyword", "nDCG@1 points over dense, all of scale-mix, a tenth of the cells", 12),
		goal("04.local.tenth.part16", "nDCG@1 points over dense, all of scale-mix, a tenth of the cells", 12))
	register("04", otherEncoder04,
		goal("04.bge.capret", "nDCG@10 points of rlr over dense on capret-en, bge-small-en-v1.5", 14))
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

var guards04 = []string{"capret-en", "scifact", "cranfield", "nq-open-oracle", "limit-small"}

func unionLocal04(ctx context.Context, w *workshop) (map[string]float64, error) {
	gains, err := medians04(ctx, w, union04, "rlr-local", strings.Join(tasks04, ","), "--queries-limit", "1000")
	values := map[string]float64{}
	named04(gains, "local", "rlr-local", values)
	return values, err
}

func guardLocal04(ctx context.Context, w *workshop) (map[string]float64, error) {
	values := map[string]float64{}
	for _, set := range guards04 {
		got, err := w.bench(ctx, set, "--systems", "dense,rlr-local", "--tasks", "query", "--metrics", "ndcg@1,ndcg@10,recall@2",
			"--queries-limit", "1000", "--seed", "1", "--encodings", w.encodings)
		if err != nil {
			return values, err
		}
		one, ok := got.over("rlr-local", "dense", "query", "ndcg@1")
		ten, okTen := got.over("rlr-local", "dense", "query", "ndcg@10")
		if ok && okTen {
			values["04.local.guard."+set] = math.Min(one, ten)
		}
		if set == "limit-small" {
			values["04.limit.recall2"] = got[[3]string{"rlr-local", "query", "recall@2"}]
		}
	}
	return values, nil
}

func scale20k04(ctx context.Context, w *workshop) (map[string]float64, error) {
	return scale04(ctx, w, map[string]string{"rlr-local": "local.20k"}, "--passages-limit", "20000")
}

func scale79k04(ctx context.Context, w *workshop) (map[string]float64, error) {
	return scale04(ctx, w, map[string]string{"rlr-local": "local.79k", "rlr-local:315:31": "local.tenth"})
}

// scale04 measures systems on scale-mix; names are their rows.
func scale04(ctx context.Context, w *workshop, names map[string]string, more ...string) (map[string]float64, error) {
	gains, err := medians04(ctx, w, "scale-mix", strings.Join(slices.Sorted(maps.Keys(names)), ","), "keyword,part:8,part:16", append(more, "--queries-limit", "1000")...)
	values := map[string]float64{}
	for k, v := range gains {
		if name, ok := names[k[0]]; ok && k[2] == "ndcg@1" {
			values["04."+name+"."+short(k[1])] = v
		}
	}
	return values, err
}

func otherEncoder04(ctx context.Context, w *workshop) (map[string]float64, error) {
	got, err := w.bench(ctx, "capret-en", "--systems", "dense,rlr", "--tasks", "query", "--model", "bge-small-en-v1.5", "--encodings", w.encodings)
	values := map[string]float64{}
	if v, ok := got.over("rlr", "dense", "query", "ndcg@10"); ok {
		values["04.bge.capret"] = v
	}
	return values, err
}

func localSpeed04(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, nil, "./engine/internal/search", "LocalQuery", "-benchtime", "500x", "-count", "5")
	values := map[string]float64{}
	if all, plain := got["LocalQuery/all ns/op"], got["LocalQuery/plain ns/op"]; all > 0 && plain > 0 {
		values["04.local.scan"] = all / plain
	}
	if v, ok := got["LocalQuery/all tables/float32"]; ok {
		values["04.local.bytes"] = v
	}
	return values, err
}

func speed04(ctx context.Context, _ *workshop) (map[string]float64, error) {
	fit, err := goBench(ctx, nil, "./modulate", "SumsOf", "-benchtime", "1x")
	if err != nil {
		return nil, err
	}
	query, err := goBench(ctx, nil, "./modulate", "Modulate/(rlr|rlr.slr)$", "-benchmem")
	values := map[string]float64{}
	set := func(id string, from map[string]float64, name string, unit float64) {
		if v, ok := from[name]; ok {
			values["04."+id] = max(values["04."+id], v/unit)
		}
	}
	set("rlr.fit5k", fit, "SumsOf/5000 ns/op", 1e9)
	set("rlr.fit100k", fit, "SumsOf/100000 ns/op", 1e9)
	set("rlr.query", query, "Modulate/rlr ns/op", 1e3)
	set("rlr+slr.query", query, "Modulate/rlr+slr ns/op", 1e3)
	set("rlr.allocs", query, "Modulate/rlr allocs/op", 1)
	set("rlr.allocs", query, "Modulate/rlr+slr allocs/op", 1)
	return values, err
}
