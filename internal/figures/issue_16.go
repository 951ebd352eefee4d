package main

import (
	"context"
	"math"
	"strings"
)

// judgedSets are the sets with judged questions, and the runs of docs/runs in which each is: of
// the single systems, and of the hybrid as a new database answers.
var judgedSets = map[string]struct{ single, shipped string }{
	"capret-en": {"judged", "tokens-engine"}, "cranfield": {"judged", "tokens-engine"}, "limit-small": {"judged", "default"}, "nq-open-oracle": {"judged", "default"},
	"scifact": {"judged", "tokens-engine"}, "sure-fiqa": {"judged", "tokens-engine"}, "sure-msmarco": {"judged", "default"}, "sure-nq": {"sure-nq", "tokens-engine"},
}

// singleSystems rank by one leg.
var singleSystems = []string{"dense", "rlr", "rlr-local", "bm25"}

// The sheet reads the runs of docs/runs, which .ci/figures again repeats.
func init() {
	register("16", clean16,
		goal("16.clean.keyword", "points of keyword nDCG@1 that rlr+slr has over dense, clean probes of the union of the sure sets, 40 training queries a passage, the median of three seeds", 27),
		goal("16.clean.judged", "points of nDCG@10 that it has over dense on their questions, the mean", .5))
	register("16", hybrid16,
		goal("16.hybrid.least", "least points of nDCG@10 that the hybrid has over the best of dense, rlr, rlr-local and BM25, eight judged sets", -.3),
		goal("16.hybrid.interval", "least upper end of the 95 % intervals of these leads", -.3),
		goal("16.hybrid.mean", "mean of them", 1.5),
		goal("16.capret", "nDCG@10 × 100 of the hybrid, capret-en", 80),
		goal("16.scifact", "nDCG@10 × 100 of the hybrid, scifact", 74),
		goal("16.limit", "nDCG@10 × 100 of the hybrid, limit-small", 99.5),
		goal("16.sure-nq", "nDCG@1 × 100 of the hybrid, questions of sure-nq", 94))
}

func clean16(context.Context, *workshop) (map[string]float64, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	judged := 0.0
	const run = "clean-more"
	questions := []string{"query:sure-nq", "query:sure-msmarco", "query:sure-fiqa"}
	for _, task := range questions {
		judged += r.gain(run, "union", task, "rlr+slr", "ndcg@10") / float64(len(questions))
	}
	v := map[string]float64{"16.clean.keyword": r.gain(run, "union", "keyword", "rlr+slr", "ndcg@1"), "16.clean.judged": judged}
	return v, r.err
}

func hybrid16(context.Context, *workshop) (map[string]float64, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	single := func(set, system string) float64 {
		return r.value(judgedSets[set].single, strings.Join([]string{set, "query", system, "ndcg@10"}, " "))
	}
	shipped := func(set, metric string) float64 {
		return r.value(judgedSets[set].shipped, strings.Join([]string{set, "query", "engine:hybrid/tokens", metric}, " "))
	}
	least, upper, mean := math.Inf(1), math.Inf(1), 0.0
	for set := range judgedSets {
		best := math.Inf(-1)
		for _, s := range singleSystems {
			best = max(best, single(set, s))
		}
		lead := shipped(set, "ndcg@10") - best
		least, mean = min(least, lead), mean+lead/float64(len(judgedSets))
		upper = min(upper, r.value("leads", set+" query engine:hybrid/tokens high"))
	}
	v := map[string]float64{
		"16.hybrid.least": least, "16.hybrid.interval": upper, "16.hybrid.mean": mean, "16.capret": shipped("capret-en", "ndcg@10"), "16.scifact": shipped("scifact", "ndcg@10"),
		"16.limit": shipped("limit-small", "ndcg@10"), "16.sure-nq": shipped("sure-nq", "ndcg@1"),
	}
	return v, r.err
}
