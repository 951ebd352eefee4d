// Command own-encoder searches with vectors from its own source: any function from texts to vectors
// is an encoder. The function of this example counts letters.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

func main() {
	ctx := context.Background()
	db := must(engine.Open(ctx, "letters.db", encoder.Func("letters", 32, letters), engine.Options{}))
	defer db.Close()
	must(db.Upsert(ctx, []engine.Document{{ID: "oak", Text: "The oak lost its leaves."}}))
	res := must(db.Search(ctx, engine.Query{Text: "leaves of an oak", K: 1}))
	fmt.Println(res.Hits[0].Text)
}

func letters(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 32)
		for _, r := range text {
			vectors[i][r%32]++
		}
	}
	return vectors, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
