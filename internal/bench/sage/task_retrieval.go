package sage

import (
	"fmt"
	"math/rand/v2"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/parallel"
)

// retrievalChanges returns the 18 of Sec. A.6: six of Task 2, insertions and removals of
// 15 and 50 % at three places.
func retrievalChanges() []change {
	out := append(append([]change{}, superficial...), semantic...)
	for _, p := range []float64{.15, .5} {
		for _, place := range places {
			out = append(out, change{fmt.Sprintf("insert-%g-%g", p, place), func(rng *rand.Rand, s string) string { return insert(rng, s, p, place) }},
				change{fmt.Sprintf("remove-%g-%g", p, place), func(_ *rand.Rand, s string) string { return remove(s, p, place) }})
		}
	}
	return out
}

// runRetrieval adds a changed copy of every document to the corpus, one kind of change at
// a time, and asks how much of nDCG@10 is left if only the originals count as relevant
// (Sec. A.6). The score is the harmonic mean of that over 18 changes. replaced is the
// same with the copies in place of the originals, counted as relevant. all has the copies
// of all changes at once. Copies with the text of their original are not added.
func runRetrieval(in input) ([]result, error) {
	c, err := bench.ReadCorpus(in.dir, bench.ReadOptions{})
	if err != nil {
		return nil, err
	}
	c = c.Sample(in.limit, in.seed)
	queries := make([]bench.Query, 0, len(c.Queries))
	for _, q := range c.Queries {
		if c.Qrels.HasPositive(q.ID) {
			queries = append(queries, q)
		}
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("%w: no query has a passage judged above zero", errData)
	}
	changes := retrievalChanges()
	var texts []string
	for _, q := range queries {
		texts = append(texts, q.Text)
	}
	for _, p := range c.Passages {
		texts = append(texts, p.Text())
	}
	for _, ch := range changes {
		for _, p := range c.Passages {
			texts = append(texts, ch.apply(newRand(in.seed, ch.name+"\x00"+p.ID), p.Text()))
		}
	}
	metric, err := bench.ParseMetric("ndcg@10")
	if err != nil {
		return nil, err
	}
	nq := len(queries)
	return in.eachMeasure(texts, nq, func(_ similarity, s scorer, r *result) error {
		m := ranker{in: in, scorer: s, corpus: c, queries: queries, metric: metric, texts: texts}
		clean, err := m.ndcg([]int{0}, 0)
		if err != nil {
			return err
		}
		if clean == 0 {
			return fmt.Errorf("%w: nothing relevant is found in the clean corpus, so there is nothing to keep", errData)
		}
		r.Items = nq
		r.Parts = map[string]float64{"ndcg@10": clean}
		all := []int{0}
		augmented, replaced := 0.0, 0.0
		for i := range changes {
			a, err := m.ndcg([]int{0, i + 1}, 0)
			if err != nil {
				return err
			}
			b, err := m.ndcg([]int{i + 1}, i+1)
			if err != nil {
				return err
			}
			r.Parts["kept "+changes[i].name] = a / clean
			augmented += 1 / max(a/clean, 1e-9)
			replaced += 1 / max(b/clean, 1e-9)
			all = append(all, i+1)
			in.report(bench.Progress{Stage: "retrieval " + r.Similarity, Done: i + 1, Total: len(changes)})
		}
		together, err := m.ndcg(all, 0)
		if err != nil {
			return err
		}
		n := float64(len(changes))
		r.Score = n / augmented
		r.Parts["replaced"], r.Parts["all"] = n/replaced, together/clean
		return nil
	})
}

// ranker ranks copies of a corpus for its queries.
type ranker struct {
	in      input
	scorer  scorer
	corpus  *bench.Corpus
	queries []bench.Query
	metric  bench.Metric
	texts   []string
}

// ndcg is the mean nDCG@10 over a corpus of the given copies, if the documents of copy relevant are relevant. Copy 0 is
// the original.
func (m ranker) ndcg(copies []int, relevant int) (float64, error) {
	nq, nd := len(m.queries), len(m.corpus.Passages)
	var candidates []int
	var ids []string
	for _, k := range copies {
		for d, p := range m.corpus.Passages {
			at := nq + k*nd + d
			if k != relevant && m.texts[at] == m.texts[nq+d] {
				continue
			}
			id := p.ID
			if k != relevant {
				id += fmt.Sprintf("\x00%d", k)
			}
			candidates, ids = append(candidates, at), append(ids, id)
		}
	}
	against := m.scorer.Against(candidates)
	answers := make([][]bench.Ranked, nq)
	err := parallel.Each(m.in.ctx, nq, func(q int) error {
		scores := make([]float64, len(candidates))
		against(scores, q)
		ranked := make([]bench.Ranked, len(scores))
		for i, s := range scores {
			ranked[i] = bench.Ranked{ID: ids[i], Score: s}
		}
		bench.Rank(ranked)
		answers[q] = ranked[:min(len(ranked), m.metric.K)]
		return nil
	})
	if err != nil {
		return 0, err
	}
	rankings := bench.Rankings{}
	for q, a := range answers {
		rankings[m.queries[q].ID] = a
	}
	s, err := bench.Evaluate(m.corpus.Qrels, rankings, []bench.Metric{m.metric})
	if err != nil {
		return 0, err
	}
	return s.Mean[m.metric.Name], nil
}
