// Command bench_system adds a system to the bench: passages ranked by how many of the query's words they
// hold. One registration is all that is needed; the bench then measures "wordcount" together with its own
// systems, over the same corpus and questions.
//
//	go run ./examples/bench_system DIR
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
)

// WordCount needs only the texts.
var WordCount = bench.RegisterSystem(bench.SystemKind{
	Name: "wordcount", Usage: "wordcount", Doc: "words in common",
	Make: func(string) (bench.System, error) {
		return bench.System{Name: "wordcount", Need: encoder.NeedDense, Prepare: prepare}, nil
	},
})

// counter holds the words of each passage.
type counter []map[string]bool

func prepare(_ context.Context, s *bench.Setting) (bench.Retriever, *bench.Fit, error) {
	c := make(counter, s.Targets.Len())
	for i, text := range s.Targets.Texts {
		c[i] = words(text)
	}
	return c, nil, nil
}

// Retrieve implements bench.Retriever.
func (c counter) Retrieve(ctx context.Context, questions []bench.Question, k int) ([][]bench.Hit, error) {
	out := make([][]bench.Hit, len(questions))
	for i, q := range questions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for target, have := range c {
			n := 0
			for w := range words(q.Text) {
				if have[w] {
					n++
				}
			}
			if n > 0 {
				out[i] = append(out[i], bench.Hit{Target: target, Score: float64(n)})
			}
		}
		slices.SortStableFunc(out[i], func(a, b bench.Hit) int { return cmp.Compare(b.Score, a.Score) })
		out[i] = out[i][:min(k, len(out[i]))]
	}
	return out, nil
}

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(strings.ToLower(s)) {
		set[strings.Trim(w, ".,;:!?")] = true
	}
	return set
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench_system DIR, a folder with corpus.jsonl")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, w io.Writer) error {
	report, err := bench.Run(context.Background(), encoder.NewHash(384), bench.Options{
		Data: dir, Systems: []string{"dense", "wordcount", "bm25"}, Tasks: []string{"keyword"},
	})
	if err != nil {
		return err
	}
	return report.WriteTable(w, nil)
}
