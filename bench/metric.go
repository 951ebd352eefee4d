package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MetricKind is a family of metrics. To add one, write a file with "var _ =
// RegisterMetric(MetricKind{…})" that sets Score, or ScoreJudged.
type MetricKind struct {
	Name string // for example "ndcg"
	Doc  string // one-line description: formula and source
	// Score returns the metric of one query, in [0, 1]. grades are the grades of the first k ranks in
	// order: 0 for unjudged passages, and shorter than k if fewer were found. ideal holds the positive
	// grades of the query, highest first, and is never empty. k is 0 for the whole ranking. Grades
	// below the relevance level (Metric.Level) are 0, and not in ideal.
	Score func(grades, ideal []int, k int) float64
	// ScoreJudged is for metrics that tell unjudged passages from irrelevant ones.
	ScoreJudged func(JudgedRanking) float64
	// ScoreAll is for metrics of all rankings together: the mean of what it returns, one for each ranking, is the
	// metric. Less is better. rankings are cut at k; relevant tells their passages.
	ScoreAll func(rankings [][]Ranked, relevant func(query int, passage string) bool) ([]float64, error)
	// Gain reports that grades are gains, which the relevance level does not change, as in trec_eval.
	Gain bool
	// Whole reports whether the name may lack a cutoff and so mean the whole ranking.
	Whole bool
}

// Unjudged is the grade of a passage without a judgement.
const Unjudged = math.MinInt

// JudgedRanking is the ranking of one query with its judgements.
type JudgedRanking struct {
	Grades     []int // of the first K ranks, Unjudged for those without a judgement
	Level      int   // the least grade that is relevant
	Relevant   int   // number of passages of the query that are judged relevant
	Irrelevant int   // number of those that are judged irrelevant: from grade 0, as in trec_eval
	K          int   // the cutoff; 0 for none
}

// Metric is a metric at a cutoff, such as "ndcg@10", or over the whole ranking, such as "bpref".
type Metric struct {
	Name  string
	K     int // number of ranks considered; 0 for all
	Level int // the least grade that is relevant; 0 means 1
	kind  MetricKind
}

var metricKinds = map[string]MetricKind{}

// RegisterMetric adds a kind of metric under its name, which must be unused. Call it only during
// package initialisation, since the registry has no lock.
func RegisterMetric(k MetricKind) MetricKind {
	if _, dup := metricKinds[k.Name]; dup {
		panic("metric registered twice: " + k.Name)
	}
	metricKinds[k.Name] = k
	return k
}

// MetricKinds lists the registered metrics, sorted by name.
func MetricKinds() []MetricKind { return sortedByName(metricKinds) }

// DefaultMetrics are the metrics of a report if Options.Metrics is nil.
var DefaultMetrics = []string{"ndcg@1", "ndcg@10", "mrr@10", "recall@1", "recall@10", "recall@100"}

// ParseMetric reads a name such as "ndcg@10". The cutoff is required unless the kind is one of Whole.
func ParseMetric(name string) (Metric, error) {
	family, cut, ok := strings.Cut(name, "@")
	kind, known := metricKinds[family]
	if !known {
		return Metric{}, fmt.Errorf("%w: metric %q; known are %s, each with a cutoff as in ndcg@10", ErrUnknownName, name,
			strings.Join(slices.Sorted(maps.Keys(metricKinds)), ", "))
	}
	if !ok && kind.Whole {
		return Metric{Name: family, kind: kind}, nil
	}
	k, err := strconv.Atoi(cut)
	if !ok || err != nil || k < 1 || k > maxDepth {
		return Metric{}, fmt.Errorf("%w: metric %q needs a cutoff from 1 to %d, as in %s@10", ErrUnknownName, name, maxDepth, family)
	}
	return Metric{Name: family + "@" + strconv.Itoa(k), K: k, kind: kind}, nil
}

// ParseMetrics reads several names, for the relevance level (see Metric.Level). 0 means 1.
func ParseMetrics(names []string, level int) ([]Metric, error) {
	if level < 0 {
		return nil, fmt.Errorf("%w: relevance level %d; use the least grade that counts as relevant, from 1", ErrOption, level)
	}
	out := make([]Metric, len(names))
	for i, name := range names {
		m, err := ParseMetric(name)
		if err != nil {
			return nil, err
		}
		m.Level = level
		out[i] = m
	}
	return out, nil
}

// depth is the number of ranks that the metric needs in a report.
func (m Metric) depth() int {
	if m.K == 0 {
		return wholeDepth
	}
	return m.K
}

// wholeDepth is the number of ranks of a whole ranking in a report, as in TREC.
const wholeDepth = 1000

// maxDepth is the largest cutoff.
const maxDepth = 10_000

// Scores are the per-query scores of one system on one task.
type Scores struct {
	// Queries are the ids of the queries in the means.
	Queries []string
	// Values maps a metric to one score in [0, 1] for each of Queries.
	Values map[string][]float64
	// Mean is the mean of each metric over Queries.
	Mean map[string]float64
}

// Evaluate scores rankings, which must be sorted (see Rank). Means are over all judged queries with a
// positive, whatever the relevance level; a query without hits counts 0. A passage that occurs twice in
// a ranking is an error. Cost O(judgements + metrics · depth · queries).
func Evaluate(qrels Qrels, r Rankings, metrics []Metric) (*Scores, error) {
	return evaluate(qrels, r, metrics, false)
}

// EvaluateJudged is Evaluate with means over all judged queries, as those of trec_eval -c: a query without a
// positive counts 0.
func EvaluateJudged(qrels Qrels, r Rankings, metrics []Metric) (*Scores, error) {
	return evaluate(qrels, r, metrics, true)
}

func evaluate(qrels Qrels, r Rankings, metrics []Metric, all bool) (*Scores, error) {
	s := &Scores{Values: map[string][]float64{}, Mean: map[string]float64{}}
	positive := false
	for _, query := range slices.Sorted(maps.Keys(qrels)) {
		has := qrels.HasPositive(query)
		positive = positive || has
		if !has && !all {
			continue
		}
		s.Queries = append(s.Queries, query)
		grades, err := gradesOf(query, r[query], qrels[query])
		if err != nil {
			return nil, err
		}
		for _, m := range metrics {
			if m.kind.ScoreAll == nil {
				s.Values[m.Name] = append(s.Values[m.Name], m.score(grades, qrels[query]))
			}
		}
	}
	if !positive {
		return nil, fmt.Errorf("%w: no query has a passage judged above zero; check the judgements", ErrNoQueries)
	}
	for _, m := range metrics {
		if m.kind.ScoreAll != nil {
			var err error
			if s.Values[m.Name], s.Mean[m.Name], err = m.scoreAll(qrels, r, s.Queries); err != nil {
				return nil, err
			}
			continue
		}
		sum := 0.0
		for _, v := range s.Values[m.Name] {
			sum += v
		}
		s.Mean[m.Name] = sum / float64(len(s.Queries))
	}
	return s, nil
}

// scoreAll is a metric of all rankings of judged queries: the values of some of them, and the mean of all.
func (m Metric) scoreAll(qrels Qrels, r Rankings, of []string) (values []float64, mean float64, err error) {
	var queries []string
	var rankings [][]Ranked
	for _, query := range slices.Sorted(maps.Keys(qrels)) {
		hits, asked := r[query]
		if asked || slices.Contains(of, query) {
			queries, rankings = append(queries, query), append(rankings, hits[:min(m.K, len(hits))])
		}
	}
	all, err := m.kind.ScoreAll(rankings, func(i int, passage string) bool { return qrels[queries[i]][passage] >= max(m.Level, 1) })
	for i, v := range all {
		mean += v / float64(len(all))
		if _, has := slices.BinarySearch(of, queries[i]); has {
			values = append(values, v)
		}
	}
	return values, mean, err
}

// gradesOf returns the grades of a ranking, Unjudged for passages without a judgement.
func gradesOf(query string, hits []Ranked, judged map[string]int) ([]int, error) {
	seen := make(map[string]struct{}, len(hits))
	grades := make([]int, len(hits))
	for i, hit := range hits {
		if _, dup := seen[hit.ID]; dup {
			return nil, fmt.Errorf("%w: query %q has passage %q twice in its ranking; keep the first", ErrDuplicateID, query, hit.ID)
		}
		seen[hit.ID] = struct{}{}
		g, ok := judged[hit.ID]
		if !ok {
			g = Unjudged
		}
		grades[i] = g
	}
	return grades, nil
}

// score is the metric of a ranking with these grades.
func (m Metric) score(grades []int, judged map[string]int) float64 {
	if m.K > 0 {
		grades = grades[:min(m.K, len(grades))]
	}
	level := max(m.Level, 1)
	if m.kind.ScoreJudged != nil {
		r := JudgedRanking{Grades: slices.Clone(grades), Level: level, K: m.K}
		for _, g := range judged {
			if g >= level {
				r.Relevant++
			} else if g >= 0 {
				r.Irrelevant++
			}
		}
		return m.kind.ScoreJudged(r)
	}
	if m.kind.Gain {
		level = 1
	}
	var ideal []int
	for _, g := range judged {
		if g >= level {
			ideal = append(ideal, g)
		}
	}
	if len(ideal) == 0 {
		return 0
	}
	slices.Sort(ideal)
	slices.Reverse(ideal)
	found := make([]int, len(grades))
	for i, g := range grades {
		if g >= level {
			found[i] = g
		}
	}
	return m.kind.Score(found, ideal, m.K)
}
