package rerank_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/rerank"
)

// A second stage of one's own: a function that scores texts.
func ExampleFunc() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lexsem")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	current := rerank.Func(func(_ context.Context, _ string, texts []string) ([]float64, error) {
		scores := make([]float64, len(texts))
		for i, t := range texts {
			if !strings.Contains(t, "deprecated") {
				scores[i] = 1
			}
		}
		return scores, nil
	})
	db, err := engine.Open(ctx, dir, encoder.NewHash(64), engine.Options{Reranker: current})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Upsert(ctx, []engine.Document{
		{ID: "v1", Text: "The flag rotate rotates keys, deprecated."},
		{ID: "v2", Text: "Rotate the keys by the command keys rotate."},
	}); err != nil {
		log.Fatal(err)
	}
	res, err := db.Search(ctx, engine.Query{Text: "flag rotate rotates keys"})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range res.Hits {
		fmt.Println(h.Rank, h.ID, h.Rerank)
	}
	// Output:
	// 1 v2 1
	// 2 v1 0
}
