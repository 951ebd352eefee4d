package httpapi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/engine"
)

// Images go in, are found by images, and come out.
func TestImages(t *testing.T) {
	db, err := engine.Open(t.Context(), t.TempDir(), encodertest.NewPixels(24), engine.Options{VisualWords: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := clientOf(t, db, Options{})
	images := encodertest.Images(t, 20)
	var docs []map[string]any
	for i, in := range images {
		docs = append(docs, map[string]any{"id": fmt.Sprint("p", i), "title": fmt.Sprint("photo ", i), "data": in.Data})
	}
	if got := c.ask("POST", "/v1/documents", map[string]any{"documents": docs}); got.status != 200 || got.at(t, "added") != 20.0 {
		t.Fatalf("%d %.300s", got.status, got.raw)
	}
	got := c.ask("POST", "/v1/search", map[string]any{"image": images[3].Data, "k": 1, "mode": "lexical"})
	if got.status != 200 || got.at(t, "hits", 0, "id") != "p3" || got.at(t, "hits", 0, "media") != "image/bmp" {
		t.Errorf("%d %.300s", got.status, got.raw)
	}
	got = c.ask("GET", "/v1/documents/p3?data=true", nil)
	data, _ := got.at(t, "data").(string)
	if b, err := base64.StdEncoding.DecodeString(data); err != nil || !bytes.Equal(b, images[3].Data) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if got := c.ask("POST", "/v1/explain", map[string]any{"image": images[3].Data, "id": "p3"}); got.status != 200 {
		t.Errorf("%d %.300s", got.status, got.raw)
	}
	for _, body := range []map[string]any{{"image": []byte("none")}, {"image": images[0].Data, "query": "x"}, {"query": "a ship"}} {
		if got := c.ask("POST", "/v1/search", body); got.status != 400 {
			t.Errorf("%v: %d %.300s", body, got.status, got.raw)
		}
	}
	if got := c.ask("POST", "/v1/documents", map[string]any{"documents": []map[string]any{{"id": "x", "data": images[0].Data[:200]}}}); got.status != 400 {
		t.Errorf("a damaged image: %d %.300s", got.status, got.raw)
	}
}
