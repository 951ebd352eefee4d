package lexsem_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	lexsem "github.com/lexsem/lexsem/engine/adapters/eino"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// encoder/onnx and encoder/native run models; NewHash needs none.
	db, err := engine.Open(ctx, dir, encoder.NewHash(64), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	config := &lexsem.Config{DB: db}
	indexer, err := lexsem.NewIndexer(config)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := indexer.Store(ctx, []*schema.Document{
		{ID: "keys", Content: "Rotate the signing keys with keyctl rotate.", MetaData: map[string]any{"year": 2024}},
		{ID: "old", Content: "Signing keys were once rotated by hand.", MetaData: map[string]any{"year": 1999}},
	}); err != nil {
		log.Fatal(err)
	}
	notes, err := lexsem.NewRetriever(config)
	if err != nil {
		log.Fatal(err)
	}
	docs, err := notes.Retrieve(ctx, "how do I rotate the keys", retriever.WithTopK(1), lexsem.WithFilter("year > 2020"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(docs[0].ID, docs[0].MetaData["year"])
	// Output: keys 2024
}
