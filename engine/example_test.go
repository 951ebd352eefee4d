package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// The encoder here needs no model; package encoder/onnx has the real one.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lexsem-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	db, err := engine.Open(ctx, dir, encoder.NewHash(256), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_, err = db.Upsert(ctx, []engine.Document{
		{ID: "keys", Text: "Rotate the signing keys with keyctl rotate.", Metadata: map[string]any{"year": 2024}},
		{ID: "old", Text: "Signing keys were once rotated by hand.", Metadata: map[string]any{"year": 1999}},
		{ID: "milk", Text: "Buy milk and bread.", Metadata: map[string]any{"year": 2024}},
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := db.Search(ctx, engine.Query{Text: "keyctl rotate", K: 1, Filter: filter.Gt("year", 2020)})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fmt.Println(hit.Rank, hit.ID, res.Trace.Mode, res.Trace.Variant)
	}
	// Output: 1 keys hybrid rlr
}
