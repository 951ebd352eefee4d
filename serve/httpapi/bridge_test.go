package httpapi

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

// TestBridge: answers say which bridge turned the query, and how many passages it does not know of.
func TestBridge(t *testing.T) {
	m := &backendtest.Memory{}
	enc := encoder.NewHash(64)
	over := func(o remote.Options) *remote.Database {
		r, err := remote.Over(t.Context(), m, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		return r
	}
	made := over(remote.Options{Create: true})
	docs := make([]engine.Document, 20)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("text %d of kind %d", i, i%5), Metadata: map[string]any{"lang": []string{"en", "de"}[i%2]}}
	}
	if _, err := made.Add(t.Context(), docs[:17]); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bridge")
	if _, err := made.MakeBridge(t.Context(), file, remote.BridgeOptions{By: "lang"}); err != nil {
		t.Fatal(err)
	}
	c := clientOf(t, over(remote.Options{Bridge: file, Fresh: -1}), Options{Encoder: enc})
	for _, written := range []int{0, 3} {
		if written > 0 {
			if _, err := made.Add(t.Context(), docs[17:]); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range []struct {
			filter, mode string
			of, stale    any
		}{
			{`lang = "en"`, "hybrid", `lang = "en"`, float64(written)},
			{"", "dense", nil, float64(written)},
			{"", "lexical", nil, nil},
		} {
			if written == 0 {
				x.stale = nil
			}
			ask := map[string]any{"query": "text 4", "filter": x.filter, "mode": x.mode}
			found := c.ask("POST", "/v1/search", ask)
			batch := c.ask("POST", "/v1/search/batch", map[string]any{"searches": []any{ask}})
			ask["id"] = "4"
			explained := c.ask("POST", "/v1/explain", ask)
			for _, got := range []any{found.at(t), batch.at(t, "results", 0), explained.at(t)} {
				got := got.(map[string]any)
				if got["bridge_of"] != x.of || got["stale"] != x.stale {
					t.Errorf("%s with filter %q behind %d writes: bridge_of %v, stale %v", x.mode, x.filter, written, got["bridge_of"], got["stale"])
				}
			}
		}
	}
}
