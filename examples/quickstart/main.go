// Command quickstart keeps two notes in a database and searches them. The
// README shows it. The first run fetches ONNX Runtime and a model.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/encoder/provision"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

func main() {
	ctx := context.Background()
	found := must(provision.Ensure(ctx, provision.Request{})) // runtime and model, fetched once
	enc := must(onnx.Open(ctx, found.ModelDir, onnx.Options{Library: found.Library}))
	defer enc.Close()
	db := must(engine.Open(ctx, "notes.db", enc, engine.Options{}))
	defer db.Close()

	must(db.Upsert(ctx, []engine.Document{
		{ID: "keys", Text: "Rotate the signing keys with keyctl rotate.", Metadata: map[string]any{"year": 2024}},
		{ID: "old", Text: "Signing keys were once rotated by hand.", Metadata: map[string]any{"year": 1999}},
	}))
	res := must(db.Search(ctx, engine.Query{Text: "keyctl rotate", K: 1, Filter: filter.Gt("year", 2020)}))
	for _, hit := range res.Hits {
		fmt.Println(hit.Rank, hit.ID, hit.Score, hit.Text)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
