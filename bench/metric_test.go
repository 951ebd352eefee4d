package bench

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/bench/random"
)

// rankingOf makes a ranking from ids in order.
func rankingOf(ids string) []Ranked {
	var out []Ranked
	for i, id := range strings.Fields(ids) {
		out = append(out, Ranked{ID: id, Score: -float64(i)})
	}
	return out
}

func TestMetricsByHand(t *testing.T) {
	log2 := math.Log2
	for _, c := range []struct {
		name   string
		grades map[string]int
		ranked string
		metric string
		want   float64
	}{
		{"first of one", map[string]int{"a": 1}, "a b", "ndcg@1", 1},
		{"second of one", map[string]int{"a": 1}, "b a", "ndcg@1", 0},
		{"second of one, deeper", map[string]int{"a": 1}, "b a", "ndcg@10", 1 / log2(3)},
		{"linear gain", map[string]int{"a": 3, "b": 1}, "b a", "ndcg@10", (1 + 3/log2(3)) / (3 + 1/log2(3))},
		{"ideal is cut at k", map[string]int{"a": 1, "b": 1, "c": 1}, "a x", "ndcg@2", 1 / (1 + 1/log2(3))},
		{"negative grade gains nothing", map[string]int{"a": 1, "x": -1}, "x a", "ndcg@10", 1 / log2(3)},
		{"nothing found", map[string]int{"a": 1}, "", "ndcg@10", 0},
		{"beyond k", map[string]int{"a": 1}, "x y a", "ndcg@2", 0},
		{"mrr third", map[string]int{"a": 1}, "x y a", "mrr@10", 1. / 3},
		{"mrr first positive counts", map[string]int{"a": 1, "b": 2}, "x b a", "mrr@10", .5},
		{"mrr cut", map[string]int{"a": 1}, "x y a", "mrr@2", 0},
		{"mrr grade 0 is no hit", map[string]int{"x": 0, "a": 1}, "x a", "mrr@10", .5},
		{"recall half", map[string]int{"a": 1, "b": 2}, "a x", "recall@2", .5},
		{"recall cannot reach 1", map[string]int{"a": 1, "b": 2}, "a b", "recall@1", .5},
		{"recall all", map[string]int{"a": 1, "b": 2, "x": 0}, "x b a", "recall@100", 1},
		{"precision counts empty ranks", map[string]int{"a": 1}, "a", "precision@10", .1},
		{"map", map[string]int{"a": 1, "b": 1, "c": 1}, "a x b", "map@10", (1 + 2./3) / 3},
		{"map of the whole", map[string]int{"a": 1, "b": 1}, "a x b", "map", (1 + 2./3) / 2},
		{"mrr of the whole", map[string]int{"a": 1}, "x y z a", "mrr", .25},
		{"success", map[string]int{"a": 1, "b": 2}, "x a b", "success@2", 1},
		{"success cut", map[string]int{"a": 1}, "x a", "success@1", 0},
		{"capped recall", map[string]int{"a": 1, "b": 1, "c": 1}, "a x", "recall-cap@2", .5},
		{"precision at R", map[string]int{"a": 1, "b": 1}, "a x b", "rprec", .5},
		{"rank-biased precision", map[string]int{"a": 1, "b": 2}, "a x b", "rbp", .2 * (1 + .64)},
		{"binary preference", map[string]int{"a": 1, "b": 2, "x": 0, "y": 0}, "a x u b", "bpref", (1 + .5) / 2},
		{"no judgement is no irrelevance", map[string]int{"a": 1, "x": 0, "y": -1}, "u y a", "bpref", 1},
		{"judged", map[string]int{"a": 1, "x": 0, "y": -1}, "u x y a", "judged@3", 2. / 3},
		{"judged of a short answer", map[string]int{"a": 1}, "a u", "judged@10", .5},
		{"map cut", map[string]int{"a": 1, "b": 1}, "a x b", "map@2", .5},
	} {
		m, err := ParseMetric(c.metric)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Evaluate(Qrels{"q": c.grades}, Rankings{"q": rankingOf(c.ranked)}, []Metric{m})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Mean[c.metric]; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %s of %q is %v, want %v", c.name, c.metric, c.ranked, got, c.want)
		}
	}
}

func TestAverageOverJudgedQueries(t *testing.T) {
	m, _ := ParseMetric("ndcg@1")
	qrels := Qrels{
		"found":       {"a": 1},
		"unanswered":  {"a": 1},
		"no positive": {"a": 0, "b": -1},
	}
	r := Rankings{"found": rankingOf("a"), "no positive": rankingOf("a"), "not judged": rankingOf("a")}
	s, err := Evaluate(qrels, r, []Metric{m})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Queries) != 2 || s.Queries[0] != "found" || s.Queries[1] != "unanswered" || s.Mean["ndcg@1"] != .5 {
		t.Errorf("averaged over %v to %v, want found and unanswered to .5", s.Queries, s.Mean)
	}
	if _, err := Evaluate(Qrels{"q": {"a": 0}}, r, []Metric{m}); !errors.Is(err, ErrNoQueries) {
		t.Errorf("no positive at all: %v", err)
	}
	if _, err := Evaluate(Qrels{"q": {"a": 1}}, Rankings{"q": rankingOf("a b a")}, []Metric{m}); !errors.Is(err, ErrDuplicateID) {
		t.Errorf("a passage twice in a ranking: %v", err)
	}
}

func TestRankBreaksTiesByFallingID(t *testing.T) {
	hits := []Ranked{{"c", 1, 0}, {"nan", math.NaN(), 0}, {"b", 2, 0}, {"a", 1, 0}, {"d", math.Inf(-1), 0}}
	Rank(hits)
	got := ""
	for _, h := range hits {
		got += h.ID + " "
	}
	if got != "b c a d nan " {
		t.Errorf("order is %q", got)
	}
}

func TestParseMetric(t *testing.T) {
	for _, bad := range []string{"", "ndcg", "ndcg@", "ndcg@0", "ndcg@-1", "ndcg@x", "ndcg@100000", "foo@10", "@10", "ndcg@1@2"} {
		if _, err := ParseMetric(bad); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q gives %v", bad, err)
		}
	}
	for _, whole := range []string{"map", "mrr", "rprec", "bpref", "rbp", "judged"} {
		if m, err := ParseMetric(whole); err != nil || m.K != 0 || m.Name != whole {
			t.Errorf("%s: %+v, %v", whole, m, err)
		}
	}
	if _, err := ParseMetrics([]string{"map"}, -1); !errors.Is(err, ErrOption) {
		t.Errorf("level -1 gives %v", err)
	}
	for _, k := range MetricKinds() {
		if m, err := ParseMetric(k.Name + "@7"); err != nil || m.K != 7 || m.Name != k.Name+"@7" || k.Doc == "" {
			t.Errorf("%s: %+v, %v", k.Name, m, err)
		}
	}
}

// TestECE: by hand, hits of three queries in two bins, and one query without an answer.
func TestECE(t *testing.T) {
	m, err := ParseMetrics([]string{"ece@1", "ece@2"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	qrels := Qrels{"a": {"x": 2}, "b": {"x": 3, "y": 1}, "c": {"y": 2}, "d": {}, "other": {}}
	r := Rankings{
		"a": {{"x", 2, 0.91}, {"y", 1, 0.3}}, // right, wrong
		"b": {{"y", 2, 0.95}},                // wrong at level 2
		"c": nil,
		"d": {{"z", 2, 0.42}}, // wrong
	}
	s, err := Evaluate(qrels, r, m)
	if err != nil {
		t.Fatal(err)
	}
	high, low := math.Abs(0.91+0.95-1)/2, 0.42
	if got, want := s.Values["ece@1"], []float64{high, high, 0}; !near(got, want) || math.Abs(s.Mean["ece@1"]-(2*high+low)/4) > 1e-12 {
		t.Errorf("%v, want %v; mean %v of %v", got, want, s.Mean["ece@1"], (2*high+low)/4)
	}
	high = math.Abs(0.5*0.91+0.95-0.5) / 1.5
	if got, want := s.Values["ece@2"], []float64{high/2 + 0.3/2, high, 0}; !near(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := Evaluate(qrels, Rankings{"a": {{ID: "x", Score: 1}}}, m); !errors.Is(err, ErrOption) {
		t.Errorf("hits without probabilities: %v", err)
	}
}

func near(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
}

// TestMetricBounds holds every registered metric to [0, 1], 1 for a perfect
// ranking of one positive and 0 for none found.
func TestMetricBounds(t *testing.T) {
	for _, k := range MetricKinds() {
		if k.ScoreAll != nil {
			continue
		}
		m := Metric{Name: k.Name, K: 1, kind: k}
		if got := m.score([]int{1}, map[string]int{"a": 1}); got != 1 && k.Name != "rbp" { // whose best is 1 − p^k
			t.Errorf("%s of a perfect answer is %v", k.Name, got)
		}
		m.K = 5
		if got := m.score(nil, map[string]int{"a": 2, "b": 1}); got != 0 {
			t.Errorf("%s of no answer is %v", k.Name, got)
		}
		rng := random.New(1, "bounds")
		for range 2000 {
			var grades []int
			judged := map[string]int{"left": 3}
			m.K, m.Level = rng.IntN(8), 1+rng.IntN(4)
			if !k.Whole {
				m.K++
			}
			for i := range 1 + rng.IntN(8) {
				g := Unjudged
				if rng.IntN(3) > 0 {
					g = rng.IntN(5) - 1
					judged[strconv.Itoa(i)] = g
				}
				grades = append(grades, g)
			}
			if got := m.score(grades, judged); !(got >= 0 && got <= 1+1e-12) {
				t.Fatalf("%s at %d of %v against %v, level %d, is %v", k.Name, m.K, grades, judged, m.Level, got)
			}
		}
	}
}
