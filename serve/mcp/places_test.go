package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/serve/mcp"
)

// TestSearchPlacesOfAString: an answer with places has lines of every file up to its budget, counts the others, goes on at
// next_offset, and marks stale files.
func TestSearchPlacesOfAString(t *testing.T) {
	db := repository(t)
	c := connect(t, db, mcp.Options{
		Place: func(h engine.Hit) (string, [2]int, bool) { return "/src/" + h.ID, h.Lines, true },
		Stale: func(m map[string]any) string {
			file, _ := metadata.OfFile(m)
			return map[string]string{"zoo/feed3.go": "changed", "zoo/feed4.go": "gone"}[file["path"].(string)]
		},
	})
	text, failed := call(t, c, "search", object{"query": "feed3", "places": true, "budget": 3000}, nil)
	if failed || strings.Count(text, "  120: func (z *Zoo0) feed3(walrus int) error {\n") != 1 || !strings.HasSuffix(text, "15 of 15 documents have it") || strings.Contains(text, "score") {
		t.Errorf("%v:\n%s", failed, text)
	}
	if !strings.Contains(text, "zoo/feed3.go  [the file has changed since]\n") || !strings.Contains(text, "zoo/feed4.go  [the file is gone]\n") {
		t.Errorf("nothing is stale:\n%s", text)
	}
	for _, budget := range []int{200, 800, 3000} {
		files, offset := map[string]bool{}, 0
		for page := 0; ; page++ {
			args := object{"query": `"z.store.Write(walrus"`, "places": true, "budget": budget, "offset": offset}
			var out struct {
				Hits []struct {
					ID      string
					Places  []struct{ Line int }
					LeftOut int `json:"places_left_out"`
				}
				NextOffset int `json:"next_offset"`
			}
			if _, failed := call(t, c, "search", args, &out); failed {
				t.Fatal("failed")
			}
			for _, h := range out.Hits {
				files[h.ID] = true
				if len(h.Places) == 0 || len(h.Places)+h.LeftOut != 72 {
					t.Errorf("budget %d, %s: %d places and %d left out, want 72", budget, h.ID, len(h.Places), h.LeftOut)
				}
			}
			shown, _ := call(t, c, "search", args, nil)
			if n := len(words.FindAllString(shown, -1)); n > max(budget, 400) {
				t.Errorf("budget %d: %d tokens\n%s", budget, n, shown)
			}
			if offset = out.NextOffset; offset == 0 {
				break
			}
			if !strings.Contains(shown, fmt.Sprintf("more with offset=%d", offset)) || page > 15 {
				t.Fatalf("page %d:\n%s", page, shown)
			}
		}
		if len(files) != 15 {
			t.Errorf("budget %d: %d files", budget, len(files))
		}
	}
	if text, _ := call(t, c, "search", object{"query": "Feed3", "places": true}, nil); !strings.Contains(text, "no document has it byte for byte") {
		t.Error(text)
	}
}
