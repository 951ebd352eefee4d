// Package location returns the file and the lines of a hit. Start with [Of], or [OfSpan] for the span of a
// hit. Both read the metadata that package folder gives every document of a file, so a program that shows
// hits needs no reader of files.
package location

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/engine"
)

// Fields in the metadata of every document from a file of a folder.
const (
	Path = "path"     // below the root, with slashes; of a file that was named itself, its absolute path
	Root = "root"     // absolute path of the folder; a file that was named itself has none
	Time = "time"     // of the file's modification, RFC 3339, UTC, in seconds
	Kind = "kind"     // files.KindOf
	Line = "line"     // of the file, from 1, where the text begins
	End  = "line_end" // where it ends; left out where line n of the text is line n-1 after Line
)

// Of returns the place of a hit: the path of its file, as the operating system writes it, and the first
// and last line, from 1, or 0 if the kind of file has no lines. ok is false for documents that did not
// come from files.
func Of(h engine.Hit) (path string, lines [2]int, ok bool) { return placed(h, h.Lines) }

// OfSpan returns the place of the span of a hit: the lines are those of engine.Hit.Span. For a hit
// without a span, and for a file whose lines differ from those of the text, it returns Of.
func OfSpan(h engine.Hit) (path string, lines [2]int, ok bool) {
	if h.Span[1] == 0 {
		return Of(h)
	}
	return placed(h, h.SpanLines)
}

// placed converts lines of a hit's document to lines of its file.
func placed(h engine.Hit, of [2]int) (path string, lines [2]int, ok bool) {
	path, ok = FileOf(h.Metadata)
	if !ok {
		return "", lines, false
	}
	line, ok := Whole(h.Metadata[Line])
	if !ok || line < 1 {
		return path, lines, true
	}
	if end, ok := Whole(h.Metadata[End]); ok {
		return path, [2]int{line, max(line, end)}, true
	}
	if of[0] < 1 {
		return path, [2]int{line, line}, true
	}
	return path, [2]int{line + of[0] - 1, line + of[1] - 1}, true
}

// FileOf returns the absolute path of the file from which a document with these metadata came.
func FileOf(m map[string]any) (string, bool) {
	path, _ := m[Path].(string)
	root, inside := m[Root].(string)
	if kind, _ := m[Kind].(string); path == "" || kind == "" {
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

// Whole reads a whole number from metadata, in any type that a JSON decoder returns.
func Whole(v any) (int, bool) {
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
