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
	Title    string         `json:"title,omitempty" jsonschema:"title; searched together with the text of each passage"`
	Text     string         `json:"text,omitempty" jsonschema:"whole text; a long text is split into passages automatically"`
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"fields for filters"`
}

type indexArgs struct {
	Documents  []newDocument `json:"documents" jsonschema:"documents to store; all are stored or none"`
	WordsFirst bool          `json:"words_first,omitempty" jsonschema:"true: words find them at once, and their meaning is added in the background"`
	form
}

type indexResult struct {
	Added           int `json:"added" jsonschema:"number of new documents"`
	Replaced        int `json:"replaced" jsonschema:"number of documents that replaced one with the same id"`
	Unchanged       int `json:"unchanged" jsonschema:"number of documents that were already stored with the same content"`
	Passages        int `json:"passages" jsonschema:"number of passages into which long documents were split"`
	Truncated       int `json:"truncated" jsonschema:"number of documents with text beyond what the model reads"`
	TruncatedTokens int `json:"truncated_tokens"`
}

var indexTool = newTool[indexArgs](sdk.Tool{
	Name:  "index",
	Title: "Store documents",
	Description: "Stores documents; search finds them at once. A document replaces a stored document with the same id. " +
		"Pass the text itself: files and URLs named in a text are not read.",
	Annotations: &sdk.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(true), OpenWorldHint: new(false)},
}, shape{"documents": func(s *jsonschema.Schema) {
	s.MinItems, s.MaxItems = new(1), new(maxDocuments)
	lengths(1, engine.MaxID)(s.Items.Properties["id"])
}})

func (s *Server) index(ctx context.Context, in indexArgs) (string, indexResult, error) {
	if n := len(in.Documents); n < 1 || n > maxDocuments {
		return "", indexResult{}, refuse("documents has %d elements; use 1 to %d per call", n, maxDocuments)
	}
	docs := make([]engine.Document, len(in.Documents))
	for i, d := range in.Documents {
		docs[i] = engine.Document{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: d.Metadata, WordsFirst: in.WordsFirst}
	}
	r, err := s.db.Upsert(ctx, docs)
	if err != nil {
		return "", indexResult{}, err
	}
	out := indexResult{Added: r.Added, Replaced: r.Replaced, Unchanged: r.Unchanged, Passages: r.Chunks, Truncated: r.Truncated, TruncatedTokens: r.TruncatedTokens}
	text := fmt.Sprintf("Stored: %d added, %d replaced, %d unchanged.", out.Added, out.Replaced, out.Unchanged)
	if in.WordsFirst {
		text += " Words find them now; their meaning is added in the background."
	}
	if out.Passages > 0 {
		text += fmt.Sprintf(" %d long documents were split into %d passages.", r.Chunked, out.Passages)
	}
	if out.Truncated > 0 {
		text += fmt.Sprintf(" In %d documents, %d tokens at the end are beyond what the model reads: their words are found, their meaning is not.", out.Truncated, out.TruncatedTokens)
	}
	return text, out, nil
}
