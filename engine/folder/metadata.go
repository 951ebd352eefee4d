package folder

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/files"
)

// Metadata that every document from a folder's file has. A field of the file's own with one
// of these names stands in the object "front" instead. A record of a file that was named
// itself keeps its fields, and has none of these where it has one of their names.
const (
	metaPath  = "path"     // below the root, with slashes; of a file that was named itself, its absolute path
	metaRoot  = "root"     // absolute path of the folder; a file that was named itself has none
	metaTime  = "time"     // of the file's modification, RFC 3339, UTC, in seconds
	metaKind  = "kind"     // files.KindOf
	metaLine  = "line"     // of the file, from 1, where the text begins
	metaEnd   = "line_end" // where it ends; left out where line n of the text is line n-1 behind metaLine
	metaFront = "front"
)

var ownNames = map[string]bool{metaPath: true, metaRoot: true, metaTime: true, metaKind: true, metaLine: true, metaEnd: true, metaFront: true}

// Describe adds to a record's metadata where it came from. root is "" for a file that
// was named itself, whose path is then absolute: nothing of its records is renamed, so that
// filters find what the file says, and what Export wrote comes back.
func Describe(r files.Record, root, path, kind string, modified time.Time) engine.Document {
	d := r.Document
	d.Breaks = r.Breaks
	m := make(map[string]any, len(d.Metadata)+6)
	front := map[string]any{}
	for k, v := range d.Metadata {
		if ownNames[k] {
			front[k] = v
		} else {
			m[k] = v
		}
	}
	switch {
	case len(front) > 0 && root == "" && !r.Verbatim:
		return d
	case len(front) > 0:
		m[metaFront] = front
	}
	m[metaPath], m[metaKind] = path, kind
	m[metaTime] = written(modified)
	if root != "" {
		m[metaRoot] = root
	}
	if r.From > 0 {
		m[metaLine] = r.From
		if !r.Verbatim {
			m[metaEnd] = max(r.From, r.To)
		}
	}
	d.Metadata = m
	return d
}

// written is a time as metadata have it. Seconds alone: with fractions the order of the
// bytes would not be that of time.
func written(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Place says where a hit stands: the path of its file, as the operating system names
// it, and the first and last line, from 1, both 0 where the kind of file has none. ok is false
// for documents that did not come from files.
func Place(h engine.Hit) (path string, lines [2]int, ok bool) { return placed(h, h.Lines) }

// SpanPlace says where the span of a hit stands: the lines are those of engine.Hit.Span. Of a hit without one, and
// of a file whose lines are not those of the text, it is Place.
func SpanPlace(h engine.Hit) (path string, lines [2]int, ok bool) {
	if h.Span[1] == 0 {
		return Place(h)
	}
	return placed(h, h.SpanLines)
}

// placed says where lines of a hit's document stand.
func placed(h engine.Hit, of [2]int) (path string, lines [2]int, ok bool) {
	path, ok = pathOf(h.Metadata)
	if !ok {
		return "", lines, false
	}
	line, ok := whole(h.Metadata[metaLine])
	if !ok || line < 1 {
		return path, lines, true
	}
	if end, ok := whole(h.Metadata[metaEnd]); ok {
		return path, [2]int{line, max(line, end)}, true
	}
	if of[0] < 1 {
		return path, [2]int{line, line}, true
	}
	return path, [2]int{line + of[0] - 1, line + of[1] - 1}, true
}

// pathOf is the absolute path of the file that a document came from.
func pathOf(m map[string]any) (string, bool) {
	path, _ := m[metaPath].(string)
	root, inside := m[metaRoot].(string)
	if kind, _ := m[metaKind].(string); path == "" || kind == "" {
		return "", false
	}
	local := filepath.FromSlash(path)
	if !inside {
		return local, filepath.IsAbs(local)
	}
	if !filepath.IsAbs(root) || !filepath.IsLocal(local) {
		return "", false
	}
	return filepath.Join(root, local), true
}

// whole reads a whole number of metadata.
func whole(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), int64(int(v)) == v
	case float64:
		return int(v), v == float64(int(v))
	case json.Number:
		n, err := v.Int64()
		return int(n), err == nil && int64(int(n)) == n && !strings.ContainsAny(v.String(), ".eE")
	}
	return 0, false
}
