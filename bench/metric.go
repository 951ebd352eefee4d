package bench

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MetricKind is a family of metrics with a cutoff. To add one, write a file with "var _ =
// RegisterMetric(MetricKind{…})".
type MetricKind struct {
	Name string // for example "ndcg"
	Doc  string // one-line description: formula and source
	// Score returns the metric of one query, in [0, 1]. grades are the grades of the first k ranks in
	// order: 0 for unjudged passages, and shorter than k if fewer were found. ideal holds the positive
	// grades of the query, highest first, and is never empty.
	Score func(grades, ideal []int, k int) float64
}

// Metric is a metric at a cutoff, such as "ndcg@10".
type Metric struct {
	Name string
	K    int // number of ranks considered, at least 1
	kind MetricKind
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

// ParseMetric reads a name such as "ndcg@10". The cutoff is required.
func ParseMetric(name string) (Metric, error) {
	family, cut, ok := strings.Cut(name, "@")
	kind, known := metricKinds[family]
	if !known {
		return Metric{}, fmt.Errorf("%w: metric %q; known are %s, each with a cutoff as in ndcg@10", ErrUnknownName, name,
			strings.Join(slices.Sorted(maps.Keys(metricKinds)), ", "))
	}
	k, err := strconv.Atoi(cut)
	if !ok || err != nil || k < 1 || k > maxDepth {
		return Metric{}, fmt.Errorf("%w: metric %q needs a cutoff from 1 to %d, as in %s@10", ErrUnknownName, name, maxDepth, family)
	}
	return Metric{Name: family + "@" + strconv.Itoa(k), K: k, kind: kind}, nil
}

// maxDepth is the largest cutoff.
const maxDepth = 10_000

// Scores are the per-query scores of one system on one task.
type Scores struct {
	// Queries are the ids of the judged queries with a positive.
	Queries []string
	// Values maps a metric to one score in [0, 1] for each of Queries.
	Values map[string][]float64
	// Mean is the mean of each metric over Queries.
	Mean map[string]float64
}

// Evaluate scores rankings, which must be sorted (see Rank). Means are over all judged queries with a
// positive; a query without hits counts 0. A passage that occurs twice in a ranking is an error. Cost
// O(judgements + metrics · depth · queries).
func Evaluate(qrels Qrels, r Rankings, metrics []Metric) (*Scores, error) {
	s := &Scores{Values: map[string][]float64{}, Mean: map[string]float64{}}
	depth := 0
	for _, m := range metrics {
		depth = max(depth, m.K)
	}
	for _, query := range slices.Sorted(maps.Keys(qrels)) {
		if !qrels.HasPositive(query) {
			continue
		}
		s.Queries = append(s.Queries, query)
		judged := qrels[query]
		var ideal, grades []int
		for _, g := range judged {
			if g > 0 {
				ideal = append(ideal, g)
			}
		}
		slices.Sort(ideal)
		slices.Reverse(ideal)
		seen := map[string]struct{}{}
		for _, hit := range r[query] {
			if _, dup := seen[hit.ID]; dup {
				return nil, fmt.Errorf("%w: query %q has passage %q twice in its ranking; keep the first", ErrDuplicateID, query, hit.ID)
			}
			seen[hit.ID] = struct{}{}
			if len(grades) < depth {
				grades = append(grades, max(judged[hit.ID], 0))
			}
		}
		for _, m := range metrics {
			v := m.kind.Score(grades[:min(m.K, len(grades))], ideal, m.K)
			s.Values[m.Name] = append(s.Values[m.Name], v)
		}
	}
	if len(s.Queries) == 0 {
		return nil, fmt.Errorf("%w: no query has a passage judged above zero; check the judgements", ErrNoQueries)
	}
	for _, m := range metrics {
		sum := 0.0
		for _, v := range s.Values[m.Name] {
			sum += v
		}
		s.Mean[m.Name] = sum / float64(len(s.Queries))
	}
	return s, nil
}
