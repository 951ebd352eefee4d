package httpapi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// Images go in, are found by images, and come out.
func TestImages(t *testing.T) {
	db, err := engine.Open(t.Context(), t.TempDir(), encoders.NewPixels(24), engine.Options{VisualWords: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := clientOf(t, db, Options{})
	images := encoders.Images(t, 20)
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
	png := func(got response, width, height int) {
		t.Helper()
		data, _ := got.at(t, "picture").(string)
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		m, err := picture.Decode(b)
		if err != nil || m.W != width || m.H != height {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
	whole, err := picture.Decode(images[3].Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []int{16, 1024} {
		n := min(side, max(whole.W, whole.H))
		png(c.ask("GET", fmt.Sprintf("/v1/documents/p3?picture=%d", side), nil), whole.W*n/max(whole.W, whole.H), whole.H*n/max(whole.W, whole.H))
	}
	for _, side := range []string{"15", "1025", "x", "-1"} {
		if got := c.ask("GET", "/v1/documents/p3?picture="+side, nil); got.status != 400 {
			t.Errorf("%s: %d %.300s", side, got.status, got.raw)
		}
	}
	got = c.ask("POST", "/v1/explain", map[string]any{"image": images[3].Data, "id": "p3", "picture": true})
	png(got, 2*448*whole.W/whole.H+8, 448)
	if got := c.ask("GET", "/v1/stats", nil); got.at(t, "media") != "image/" {
		t.Errorf("%.300s", got.raw)
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
