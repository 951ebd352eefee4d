package folder

import (
	"reflect"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
)

// TestDescribe: a record of a file that was named itself keeps the names of its fields,
// so that filters find what the file says; a folder's documents need theirs.
func TestDescribe(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	record := func(m map[string]any, verbatim bool) files.Record {
		return files.Record{Document: engine.Document{ID: "r", Metadata: m}, From: 7, To: 8, Verbatim: verbatim}
	}
	own := map[string]any{"time": "noon", "lang": "go"}
	for _, c := range []struct {
		name string
		r    files.Record
		root string
		want map[string]any
	}{
		{"named, a name of ours", record(own, false), "", own},
		{"named", record(map[string]any{"lang": "go"}, false), "",
			map[string]any{"lang": "go", "path": "p", "kind": "k", "time": "2026-01-02T03:04:05Z", "line": 7, "line_end": 8}},
		{"named text with front matter", record(own, true), "",
			map[string]any{"lang": "go", "front": map[string]any{"time": "noon"}, "path": "p", "kind": "k", "time": "2026-01-02T03:04:05Z", "line": 7}},
		{"of a folder", record(own, false), "/r",
			map[string]any{"lang": "go", "front": map[string]any{"time": "noon"}, "path": "p", "root": "/r", "kind": "k", "time": "2026-01-02T03:04:05Z", "line": 7, "line_end": 8}},
	} {
		if got := Describe(c.r, c.root, "p", "k", at).Metadata; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
