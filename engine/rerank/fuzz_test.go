package rerank

import (
	"encoding/json"
	"math"
	"testing"
)

// FuzzAnswer: whatever a server sends is one finite score a text, or an error.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"results":[{"index":1,"relevance_score":0.5},{"index":0,"relevance_score":-2}]}`, `[{"index":0,"score":1e308},{"index":1,"score":2}]`,
		`{"results":null}`, `[]`, `[null,null]`, `[{"index":-1,"score":0},{"index":9223372036854775807,"score":0}]`, `{"results":[{"index":0},{}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, s := range map[Shape]shape{Cohere: cohereShape, TEI: teiShape} {
			a := s.answer()
			if json.Unmarshal(body, a) != nil {
				continue
			}
			out := []float64{math.NaN(), math.NaN()}
			if err := place(out, a.scores()); err != nil {
				continue
			}
			for i, x := range out {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Errorf("%s: text %d has the score %v of %q", name, i, x, body)
				}
			}
		}
		refusal(body)
	})
}
