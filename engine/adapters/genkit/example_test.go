package lexsem_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	lexsem "github.com/lexsem/lexsem/engine/adapters/genkit"
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

	g := genkit.Init(ctx)
	store, retriever, err := lexsem.DefineRetriever(g, "notes", lexsem.Config{DB: db}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := store.Index(ctx, []*ai.Document{
		ai.DocumentFromText("Rotate the signing keys with keyctl rotate.", map[string]any{"year": 2024}),
		ai.DocumentFromText("Signing keys were once rotated by hand.", map[string]any{"year": 1999}),
	}); err != nil {
		log.Fatal(err)
	}
	res, err := genkit.Retrieve(ctx, g, ai.WithRetriever(retriever), ai.WithTextDocs("how do I rotate the keys"),
		ai.WithConfig(&lexsem.RetrieverOptions{K: 1, Filter: "year > 2020"}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Documents[0].Content[0].Text, res.Documents[0].Metadata["year"])
	// Output: Rotate the signing keys with keyctl rotate. 2024
}
