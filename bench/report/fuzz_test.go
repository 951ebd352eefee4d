package report

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/plot"
)

// FuzzRead reads any bytes as a report: what is taken makes a page, a text and charts,
// or an error that says what cannot be drawn.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"results":[{"system":"rlr","task":"part:3","metrics":{"ndcg@10":0.5},"per_query":{"ndcg@10":[0.5,1]},"queries":2}],"systems":[{"name":"rlr"}]}`,
		`{"over":"queries","points":[{"x":1}]}{"over":"n"}`,
		`{"index":"hnsw","n":100,"points":[{"ef":16,"recall":0.9,"qps":1000},{"ef":64,"recall":2,"qps":-1}]}`,
		`{"results":[{"task":"<script>","metrics":{"a":-1e308,"b":1e308}},{"task":"part:99999999999999999999"}]}`,
		`{"index":"hnsw","n":100,"points":[{"ef":16,"recall":0.9,"qps":1.7e308},{"ef":64,"recall":1,"qps":1e-320}]}`,
		`{"index":"hnsw","n":100,"points":[{"ef":16,"recall":0.9,"qps":1e308},{"ef":64,"recall":0.9,"qps":1.2e308}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		bundle := &Bundle{}
		if err := bundle.add(b); err != nil {
			if !errors.Is(err, compare.ErrReport) {
				t.Fatalf("untyped: %v", err)
			}
			return
		}
		bundle.Charts()
		var unsupported *json.UnsupportedValueError
		if err := errors.Join(bundle.WriteHTML(io.Discard), bundle.WriteMarkdown(io.Discard)); err != nil && !errors.As(err, &unsupported) && !errors.Is(err, plot.ErrChart) {
			t.Fatal(err)
		}
	})
}
