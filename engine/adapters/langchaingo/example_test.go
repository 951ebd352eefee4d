package lexsem_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/vectorstores"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	lexsem "github.com/lexsem/lexsem/engine/adapters/langchaingo"
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

	store := lexsem.New(db)
	if _, err := store.AddDocuments(ctx, []schema.Document{
		{PageContent: "Rotate the signing keys with keyctl rotate.", Metadata: map[string]any{"year": 2024}},
		{PageContent: "Signing keys were once rotated by hand.", Metadata: map[string]any{"year": 1999}},
	}); err != nil {
		log.Fatal(err)
	}
	retriever := vectorstores.ToRetriever(store, 1, vectorstores.WithFilters("year > 2020"))
	docs, err := retriever.GetRelevantDocuments(ctx, "how do I rotate the keys")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(docs[0].PageContent, docs[0].Metadata["year"])
	// Output: Rotate the signing keys with keyctl rotate. 2024
}

// reader is a language model that answers with what it was asked.
type reader struct{}

func (reader) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	var b strings.Builder
	for _, m := range messages {
		for _, p := range m.Parts {
			fmt.Fprint(&b, p)
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: b.String()}}}, nil
}

func (r reader) Call(ctx context.Context, prompt string, opts ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, r, prompt, opts...)
}

// TestChain asks LangChainGo's chain for questions over documents, which reads what
// the retriever finds.
func TestChain(t *testing.T) {
	s := lexsem.New(hashed(t))
	add(t, s, desks)
	for _, c := range []struct {
		opts []vectorstores.Option
		want string
	}{
		{nil, "orange"},
		{[]vectorstores.Option{vectorstores.WithFilters(map[string]any{"location": "bedroom"})}, "blue"},
		{[]vectorstores.Option{vectorstores.WithScoreThreshold(50)}, ""},
	} {
		chain := chains.NewRetrievalQAFromLLM(reader{}, vectorstores.ToRetriever(s, 1, c.opts...))
		answer, err := chains.Run(t.Context(), chain, "Which lamp is orange?")
		if err != nil {
			t.Fatal(err)
		}
		for _, colour := range []string{"black.", "blue.", "orange."} {
			if strings.Contains(answer, colour) != (c.want+"." == colour) {
				t.Errorf("want %q alone in what the model read: %s", c.want, answer)
			}
		}
	}
}
