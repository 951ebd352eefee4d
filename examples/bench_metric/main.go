// Command bench_metric adds a metric to the bench: the expected reciprocal rank, which models a reader who
// goes down the list and stops with a probability that grows with the grade (Chapelle et al. 2009). One
// registration is all that is needed; the bench then knows err@1, err@10 and so on.
//
//	go run ./examples/bench_metric DIR
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
)

// ERR treats the highest grade of the query as the highest possible grade.
var ERR = bench.RegisterMetric(bench.MetricKind{
	Name: "err", Doc: "expected reciprocal rank, divided by that of the best ranking",
	Score: func(grades, ideal []int, k int) float64 {
		return cascade(grades, ideal[0]) / cascade(ideal[:min(k, len(ideal))], ideal[0])
	},
})

// cascade is Σ 1/r · P(the reader stops at rank r).
func cascade(grades []int, highest int) float64 {
	sum, going := 0.0, 1.0
	for i, g := range grades {
		stop := (math.Exp2(float64(g)) - 1) / math.Exp2(float64(highest))
		sum += going * stop / float64(i+1)
		going *= 1 - stop
	}
	return sum
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench_metric DIR, a folder with corpus.jsonl")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, w io.Writer) error {
	metrics := []string{"err@10", "ndcg@10"}
	report, err := bench.Run(context.Background(), encoder.NewHash(384), bench.Options{
		Data: dir, Systems: []string{"dense", "bm25"}, Tasks: []string{"keyword"}, Metrics: metrics,
	})
	if err != nil {
		return err
	}
	return report.WriteTable(w, metrics)
}
