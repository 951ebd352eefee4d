package mcp_test

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/serve/mcp"
)

// Agents find images by a text where the encoder places texts beside them, are spared their visual words, and see
// the image that they get.
func TestImages(t *testing.T) {
	db, err := engine.Open(t.Context(), t.TempDir(), encoders.NewTowers(12, 24), engine.Options{VisualWords: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var docs []engine.Document
	for a := range encoders.Colours {
		for b := range encoders.Colours {
			file, err := encoders.Paint(a, b)
			if err != nil {
				t.Fatal(err)
			}
			docs = append(docs, engine.Document{ID: a + " " + b, Title: "a wall", Data: file})
		}
	}
	if _, err := db.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, mcp.Options{})
	var found struct {
		Hits []struct{ ID, Text, Media string }
	}
	text, failed := call(t, c, "search", map[string]any{"query": "red", "k": 2}, &found)
	if failed || len(found.Hits) != 2 || found.Hits[0].ID != "red red" || found.Hits[0].Media != picture.MediaBMP || found.Hits[0].Text != "" || !strings.Contains(text, `[an image: get id="red red" shows it]`) || strings.Contains(text, "v00") {
		t.Errorf("%+v\n%s", found.Hits, text)
	}
	if text, failed := call(t, c, "explain", map[string]any{"query": "red", "id": "red red"}, nil); failed || strings.Contains(text, "v00") {
		t.Errorf("%s", text)
	}
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "get", Arguments: map[string]any{"id": "red blue"}})
	if err != nil || res.IsError || len(res.Content) != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	shown, ok := res.Content[1].(*sdk.ImageContent)
	if !ok || shown.MIMEType != "image/png" {
		t.Fatalf("%+v", res.Content[1])
	}
	m, err := picture.Decode(shown.Data)
	if err != nil || m.W != 32 || m.Pix[0] != 230 || m.Pix[3*31+2] != 230 {
		t.Errorf("%v", err)
	}
}
