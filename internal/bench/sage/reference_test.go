package sage

import (
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/recorded"
)

// TestEqualsReference holds the classical measures to what python-Levenshtein,
// rouge_score and rank_bm25 said about 1,000 pairs (testdata/make_reference.py);
// tokens there are what stands between blanks.
func TestEqualsReference(t *testing.T) {
	type reference struct {
		A, B         string
		Ratio, Rouge float64
		Docs         []string
		BM25, Okapi  []float64
	}
	all, err := recorded.Lines[reference]("testdata/reference.jsonl.gz")
	if err != nil || len(all) != 1000 {
		t.Fatalf("%d lines, want 1,000 (%v)", len(all), err)
	}
	for line, r := range all {
		got := make([]float64, 1)
		newCharacters([]string{r.A, r.B}).Against([]int{1})(got, 0)
		if math.Abs(got[0]-r.Ratio) > 1e-6 {
			t.Errorf("line %d: Levenshtein ratio %v, want %v", line, got[0], r.Ratio)
		}
		tokens := byBlanks(append([]string{r.A, r.B}, r.Docs...))
		newRouge(tokens).Against([]int{1})(got, 0)
		if math.Abs(got[0]-r.Rouge) > 1e-6 {
			t.Errorf("line %d: ROUGE %v, want %v", line, got[0], r.Rouge)
		}
		var docs []int
		for i := range r.Docs {
			docs = append(docs, i+2)
		}
		for name, c := range map[string]struct {
			m    bm25
			want []float64
		}{"BM25+": {bm25{tokens, plusIDF, 1}, r.BM25}, "Okapi": {bm25{tokens, okapiIDF, 0}, r.Okapi}} {
			scores := make([]float64, len(docs))
			c.m.raw(docs)(scores, 1)
			for i, s := range scores {
				if math.Abs(s-c.want[i]) > 1e-6 {
					t.Errorf("line %d: %s of document %d is %v, want %v", line, name, i, s, c.want[i])
				}
			}
		}
	}
}

func byBlanks(texts []string) [][]int32 {
	v, out := vocabulary{}, make([][]int32, len(texts))
	for i, s := range texts {
		for _, w := range strings.Fields(s) {
			if _, ok := v[w]; !ok {
				v[w] = int32(len(v))
			}
			out[i] = append(out[i], v[w])
		}
	}
	return out
}
