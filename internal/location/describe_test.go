package location

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// TestDescribe: all fields of a file keep their names and values; what is lexsem's own is in one field. A record that was
// exported keeps its file, and belongs to no folder.
func TestDescribe(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	type object = map[string]any
	own := object{"time": "noon", "path": "/mine", "root": 1, "kind": nil, "line": 3, "line_end": object{}, "front": "f", "lang": "go"}
	exported := func(more object) object {
		file := object{"path": "sub/a.md", "kind": "markdown", "time": "2025-01-02T03:04:05Z", "line": 9}
		maps.Copy(file, more)
		return object{"lang": "go", "_file": file}
	}
	ofFile := func(own object, more object) object {
		m := object{"_file": object{"path": "p", "kind": "k", "time": "2026-01-02T03:04:05Z", "line": 7, "words": json.Number("1")}}
		maps.Copy(m, own)
		maps.Copy(m["_file"].(object), more)
		return m
	}
	end := object{"line_end": 8}
	ofRoot := object{"line_end": 8, "root": "/r"}
	for _, c := range []struct {
		name     string
		m        object
		verbatim bool
		root     string
		want     object
	}{
		{"named", own, false, "", ofFile(own, end)},
		{"named text", own, true, "", ofFile(own, nil)},
		{"of a folder", own, false, "/r", ofFile(own, ofRoot)},
		{"without metadata", nil, false, "/r", ofFile(nil, ofRoot)},
		{"a reserved name, of a folder", object{"_file": "x.pdf"}, false, "/r", ofFile(nil, object{"line_end": 8, "root": "/r", "own": "x.pdf"})},
		{"a reserved name, named", object{"_file": object{"path": "x"}}, false, "", ofFile(nil, object{"line_end": 8, "own": object{"path": "x"}})},
		{"exported, of a folder", exported(nil), false, "/r", ofFile(object{"lang": "go"}, object{"line_end": 8, "root": "/r", "own": exported(nil)["_file"]})},
		{"exported, named", exported(object{"root": "/old"}), false, "", exported(object{"path": "/old/sub/a.md"})},
		{"exported of a named file", exported(object{"path": "/old/sub/a.md"}), false, "", exported(object{"path": "/old/sub/a.md"})},
		{"text that looks exported", exported(object{"root": "/old"}), true, "", ofFile(object{"lang": "go"}, object{"own": exported(object{"root": "/old"})["_file"]})},
	} {
		was := reflect.ValueOf(c.m).Len()
		d := engine.Document{ID: "r", Metadata: c.m}
		if got := Describe(d, [2]int{7, 8}, c.verbatim, c.root, "p", "k", at).Metadata; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if len(c.m) != was {
			t.Errorf("%s: the record's metadata have become %v", c.name, c.m)
		}
	}
}

// TestApart: a document of standard input belongs to no folder, and nothing else of its metadata changes.
func TestApart(t *testing.T) {
	type object = map[string]any
	file := object{"root": "/r", "path": "sub/a.md", "kind": "markdown", "time": "2026-01-02T03:04:05Z", "line": 1}
	for _, m := range []object{nil, {"root": "/r", "path": "a.md"}, file, {"_file": "x"}, {"_file": object{"root": "/r"}}, {"_file": object{"path": "/r/a.md", "kind": "text"}}} {
		if got := Apart(engine.Document{ID: "a", Metadata: m}).Metadata; !reflect.DeepEqual(got, m) {
			t.Errorf("%v has become %v", m, got)
		}
	}
	want := object{"n": 1, "_file": object{"path": "/r/sub/a.md", "kind": "markdown", "time": "2026-01-02T03:04:05Z", "line": 1}}
	if got := Apart(engine.Document{ID: "a", Metadata: object{"n": 1, "_file": file}}).Metadata; !reflect.DeepEqual(got, want) || file["root"] != "/r" {
		t.Errorf("%v, want %v", got, want)
	}
}
