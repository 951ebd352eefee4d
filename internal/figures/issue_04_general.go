package main

import (
	"context"
	"math"
	"strconv"
)

// The rows of the general bridge: what whitening, by the moments of one half of
// a corpus, does for the other half, and what it costs judged questions.
func init() {
	register("04", unseen04,
		figure{id: "04.general.keyword", target: 1, what: "nDCG@1 points of whiten over dense, keyword, on passages it has not seen, mean of five corpora"},
		figure{id: "04.general.part8", target: 1, what: "nDCG@1 points of whiten over dense, part:8, on passages it has not seen, mean of five corpora"})
	register("04", unseenGuard04,
		figure{id: "04.general.guard", target: -0.3, what: "least of whiten over dense, nDCG@1 and @10, judged queries of seven sets"})
}

// halves04 are the corpora and half the number of their passages.
var halves04 = []struct {
	sets string
	half int
}{{union04, 2237}, {"capret-en", 1512}, {"cranfield", 699}, {"scifact", 2591}, {"nq-open-oracle", 1294}}

// unseen04 takes some ten CPU-minutes, most of it for encoding the passages of
// all five, once; two with these in LEXSEM_FIGURES_ENCODINGS.
func unseen04(ctx context.Context, w *workshop) (map[string]float64, error) {
	values := map[string]float64{}
	for _, c := range halves04 {
		gains, err := medians04(ctx, w, c.sets, "unseen:whiten", "keyword,part:8", "--passages-limit", strconv.Itoa(c.half), "--queries-limit", "1000")
		if err != nil {
			return nil, err
		}
		for _, task := range []string{"keyword", "part:8"} {
			values["04.general."+short(task)] += gains[[3]string{"unseen:whiten", task, "ndcg@1"}] / float64(len(halves04))
		}
	}
	return values, nil
}

// unseenGuard04 asks whole corpora, as halves have too few questions to tell
// points from chance.
func unseenGuard04(ctx context.Context, w *workshop) (map[string]float64, error) {
	least := math.Inf(1)
	for _, c := range halves04 {
		tasks := "query"
		if c.sets == union04 {
			tasks = "query:sure-nq,query:sure-msmarco,query:sure-fiqa"
		}
		got, err := w.bench(ctx, c.sets, "--systems", "dense,whiten", "--tasks", tasks, "--metrics", "ndcg@1,ndcg@10", "--seed", "1", "--encodings", w.encodings)
		if err != nil {
			return nil, err
		}
		for k := range got {
			if k[0] == "whiten" {
				v, _ := got.over("whiten", "dense", k[1], k[2])
				least = math.Min(least, v)
			}
		}
	}
	return map[string]float64{"04.general.guard": least}, nil
}
