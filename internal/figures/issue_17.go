package main

import (
	"context"
	"math"
)

// tokenSets are the judged sets of the run "tokens", of which half of the queries count.
var tokenSets = []string{"capret-en", "cranfield", "scifact", "sure-fiqa", "sure-nq"}

func init() {
	register("17", tokens17,
		goal("17.hybrid", "mean of the points of nDCG@10 that token states add to the hybrid, test halves of five judged sets", .6),
		goal("17.capret", "those of capret-en", 1.5),
		goal("17.least", "the least of the five", -.4),
		goal("17.dense", "mean of the points that they add to dense", 3.5),
		limit("17.probes", "most points by which copied-word probes fall", .2))
	register("17", scoring17, limit("17.score", "ms of one core for 200 candidates of 100 tokens and a query of 12, four bits", 1))
}

func tokens17(context.Context, *workshop) (map[string]float64, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	gain := func(set, task, system string) float64 {
		key := set + " " + task + " " + system
		return r.value("tokens", key+"+tokens ndcg@10") - r.value("tokens", key+" ndcg@10")
	}
	v := map[string]float64{"17.least": math.Inf(1), "17.probes": 0, "17.capret": gain("capret-en", "query", "hybrid")}
	for _, set := range tokenSets {
		hybrid := gain(set, "query", "hybrid")
		v["17.hybrid"] += hybrid / float64(len(tokenSets))
		v["17.dense"] += gain(set, "query", "dense") / float64(len(tokenSets))
		v["17.least"] = min(v["17.least"], hybrid)
	}
	for _, set := range []string{"capret-en", "cranfield", "sure-nq"} {
		for _, task := range []string{"keyword", "part:8"} {
			v["17.probes"] = max(v["17.probes"], -gain(set, task, "hybrid"))
		}
	}
	return v, r.err
}

func scoring17(ctx context.Context, _ *workshop) (map[string]float64, error) {
	got, err := goBench(ctx, nil, "./index/late", "^BenchmarkScoreAll$", "-benchtime", "1s")
	v := map[string]float64{}
	if ns, ok := got["ScoreAll/4_bits ns/op"]; ok {
		v["17.score"] = ns / 1e6
	}
	return v, err
}
