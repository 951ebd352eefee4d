package mcp

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
)

// maxDocuments is the most documents of one call.
const maxDocuments = 1_024

type newDocument struct {
	ID       string         `json:"id" jsonschema:"unique in the database; a document with the same id is replaced"`
	Title    string         `json:"title,omitempty" jsonschema:"stands before the text of each passage when it is searched"`
	Text     string         `json:"text,omitempty" jsonschema:"the whole text; a long one is cut into passages by itself"`
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"fields that filters can name"`
}

type indexArgs struct {
	Documents []newDocument `json:"documents" jsonschema:"documents to store, all of them or none"`
}

type indexResult struct {
	Added           int `json:"added" jsonschema:"documents that were new"`
	Replaced        int `json:"replaced" jsonschema:"documents that replaced one with the same id"`
	Unchanged       int `json:"unchanged" jsonschema:"documents that were stored already, as they are"`
	Passages        int `json:"passages" jsonschema:"passages that long documents were cut into"`
	Truncated       int `json:"truncated" jsonschema:"documents with text that no vector stands for"`
	TruncatedTokens int `json:"truncated_tokens"`
}

var indexTool = newTool[indexArgs, indexResult](sdk.Tool{
	Name:  "index",
	Title: "Store documents",
	Description: "Stores documents, so that search finds them at once. A document with an id that is stored already takes its place. " +
		"Give the text itself: files and addresses that a text names are not read.",
	Annotations: &sdk.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(true), OpenWorldHint: new(false)},
}, shape{"documents": func(s *jsonschema.Schema) {
	s.MinItems, s.MaxItems = new(1), new(maxDocuments)
	lengths(1, engine.MaxID)(s.Items.Properties["id"])
}})

func (s *Server) index(ctx context.Context, in indexArgs) (string, indexResult, error) {
	if n := len(in.Documents); n < 1 || n > maxDocuments {
		return "", indexResult{}, refuse("documents has %d; use 1 to %d a call", n, maxDocuments)
	}
	docs := make([]engine.Document, len(in.Documents))
	for i, d := range in.Documents {
		docs[i] = engine.Document{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: d.Metadata}
	}
	r, err := s.db.Upsert(ctx, docs)
	if err != nil {
		return "", indexResult{}, err
	}
	out := indexResult{Added: r.Added, Replaced: r.Replaced, Unchanged: r.Unchanged, Passages: r.Chunks, Truncated: r.Truncated, TruncatedTokens: r.TruncatedTokens}
	text := fmt.Sprintf("Stored: %d added, %d replaced, %d unchanged.", out.Added, out.Replaced, out.Unchanged)
	if out.Passages > 0 {
		text += fmt.Sprintf(" %d long ones were cut into %d passages.", r.Chunked, out.Passages)
	}
	if out.Truncated > 0 {
		text += fmt.Sprintf(" Of %d the last %d tokens are beyond what the model reads: words in them are found, their meaning is not.", out.Truncated, out.TruncatedTokens)
	}
	return text, out, nil
}
