package sure

import (
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/stat"
)

// beds are the testbeds of a corpus over one set of targets.
type beds struct {
	data     *versions
	passages [][]string       // target → its passages of the corpus; none of a version
	version  []map[string]int // query → version → target
	same     []map[string]bool
}

// arrange makes targets of passages and versions, and finds for each query its
// versions among them.
func (d *versions) arrange() (*beds, *bench.Targets) {
	all := append([]bench.Passage(nil), d.Passages...)
	for v, texts := range d.Versions {
		for id, text := range texts {
			all = append(all, bench.Passage{ID: id + "\x00" + v, Body: text})
		}
	}
	targets := bench.NewTargets(all)
	at := map[string]int{}
	for i, members := range targets.Members {
		for _, id := range members {
			at[id] = i
		}
	}
	b := &beds{data: d, passages: make([][]string, targets.Len())}
	for _, p := range d.Passages {
		b.passages[at[p.ID]] = append(b.passages[at[p.ID]], p.ID)
	}
	for _, q := range d.Queries {
		version, same := map[string]int{}, map[string]bool{}
		id := d.Qrels.Best(q.ID)
		if original, ok := at[id]; ok {
			version[originalText] = original
			for v, texts := range d.Versions {
				if _, ok := texts[id]; !ok {
					continue
				}
				if t := at[id+"\x00"+v]; t == version[originalText] {
					same[v] = true
				} else {
					version[v] = t
				}
			}
		}
		b.version, b.same = append(b.version, version), append(b.same, same)
	}
	return b, targets
}

// rankBatch bounds the answers in memory: each holds every target.
const rankBatch = 128

// rank gives the rank of each version of each query among the passages and that query's versions,
// from 1, and the first passages of each query. Versions that were not retrieved share the rank
// after all others.
func (b *beds) rank(ctx context.Context, r bench.Retriever, questions []bench.Question, report func(bench.Progress)) ([]map[string]float64, bench.Rankings, error) {
	out, first := make([]map[string]float64, 0, len(questions)), bench.Rankings{}
	for from := 0; from < len(questions); from += rankBatch {
		to := min(from+rankBatch, len(questions))
		answers, err := r.Retrieve(ctx, questions[from:to], len(b.passages))
		if err != nil {
			return nil, nil, err
		}
		for i, answer := range answers {
			out = append(out, b.ranksOf(from+i, answer))
			first[b.data.Queries[from+i].ID] = b.first(answer)
		}
		report(bench.Progress{Stage: "rank", Done: to, Total: len(questions)})
	}
	return out, first, nil
}

// first returns the first K passages of an answer, which nDCG reads, and all that score as high as the last of them.
func (b *beds) first(answer []bench.Hit) (out []bench.Ranked) {
	for _, hit := range answer {
		if n := len(out); n >= ndcg.K && out[n-1].Score != hit.Score {
			break
		}
		for _, id := range b.passages[hit.Target] {
			out = append(out, bench.Ranked{ID: id, Score: hit.Score})
		}
	}
	bench.Rank(out)
	return out
}

// ndcg is the measure of retrieval with which RDC and ROC are compared.
var ndcg, _ = bench.ParseMetric("ndcg@10")

// retrieval is the mean of ndcg over the queries, with only the passages ranked.
func (b *beds) retrieval(first bench.Rankings) (float64, error) {
	judged := bench.Qrels{}
	for _, q := range b.data.Queries {
		judged[q.ID] = b.data.Qrels[q.ID]
	}
	s, err := bench.Evaluate(judged, first, []bench.Metric{ndcg})
	if err != nil {
		return 0, err
	}
	return s.Mean[ndcg.Name], nil
}

func (b *beds) ranksOf(query int, answer []bench.Hit) map[string]float64 {
	versions := map[int][]string{}
	for v, t := range b.version[query] {
		versions[t] = append(versions[t], v)
	}
	ranks, place := map[string]float64{}, 0
	for _, hit := range answer {
		mine := versions[hit.Target]
		if len(mine) == 0 && b.passages[hit.Target] == nil {
			continue
		}
		place++
		for _, v := range mine {
			ranks[v] = float64(place)
		}
	}
	for v := range b.version[query] {
		if ranks[v] == 0 {
			ranks[v] = float64(place + 1)
		}
	}
	return ranks
}

// score makes the results of one system from its ranks.
func (b *beds) score(system string, ranks []map[string]float64, reference expected) ([]result, error) {
	var out []result
	for _, bed := range testbeds {
		r := result{System: system, Testbed: bed.Name}
		ordered := bed.Ordered || reference != nil
		for i, q := range b.data.Queries {
			var have, want []float64
			complete := true
			for place, v := range bed.Versions {
				if b.same[i][v] {
					r.Same++
					continue
				}
				rank, ok := ranks[i][v]
				if !ok {
					complete = false
					break
				}
				have = append(have, rank)
				if reference == nil {
					want = append(want, float64(place+1))
					continue
				}
				g, ok := reference[q.ID][v]
				if !ok {
					return nil, fmt.Errorf("%w: the reference has no rank for %s of query %q", errData, v, q.ID)
				}
				want = append(want, g)
			}
			if !complete || len(have) < 2 {
				r.LeftOut++
				continue
			}
			if reference == nil {
				for j := range want { // in succession, whatever was left out
					want[j] = float64(j + 1)
				}
			}
			r.Queries++
			r.rdc = append(r.rdc, rdcTerm(have, want))
			r.roc = append(r.roc, rocTerm(have, want))
			g := gap(have)
			r.gaps = append(r.gaps, g)
			r.Spread += deviation(have)
			r.Gap += g
			first := math.Inf(1)
			for _, x := range have {
				first = min(first, x)
			}
			if ranks[i][originalText] == first {
				r.First++
			}
		}
		if r.Queries > 0 {
			n := float64(r.Queries)
			r.RDC, r.Spread, r.Gap, r.First = stat.Mean(r.rdc), r.Spread/n, r.Gap/n, r.First/n
			r.MedianGap = stat.Median(r.gaps)
			if roc := stat.Mean(r.roc); ordered {
				r.ROC = &roc
			}
		}
		out = append(out, r)
	}
	return out, nil
}
