// Package location tells in which file, and in which lines of it, a hit is. Start with [Of], [OfSpan] for
// the span of a hit, or [OfLine] for a line of its document. All read the metadata that package folder gives every
// document of a file, so a program that shows hits needs no reader of files. [Stale] also asks the file system.
//
// What is lexsem's own stands in the one reserved field [File] ("_file"); all other fields are the file's or the user's. Documents
// of earlier builds have the same fields beside those of the file, and are read as well.
package location

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/metadata"
)

// File is the field of the metadata that every document of a file has, and the others are its fields.
const (
	File = metadata.File
	Own  = "own"      // the file's own field of the name File
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

// OfLine is Of for a line, from 1, of the text of the hit's document; line is 0 if the kind of file has no lines.
func OfLine(h engine.Hit, of int) (path string, line int, ok bool) {
	path, lines, ok := placed(h, [2]int{of, of})
	return path, lines[0], ok
}

// What Stale answers.
const (
	Changed = "changed"
	Gone    = "gone"
)

// Stale says what became of the file of a document since it was stored: Changed if its time is another, Gone if its folder
// is there and it is not, else "". It asks the file system about the path in the metadata, so call it only for documents
// whose metadata no stranger has written.
func Stale(m map[string]any) string {
	path, ok := FileOf(m)
	file, _ := metadata.OfFile(m)
	stored, _ := file[Time].(string)
	was, err := time.Parse(time.RFC3339, stored)
	if !ok || err != nil {
		return ""
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.ModTime().Unix() != was.Unix():
		return Changed
	case errors.Is(err, fs.ErrNotExist):
		folder, inside := file[Root].(string)
		if !inside {
			folder = filepath.Dir(path)
		}
		if _, err := os.Stat(folder); err == nil {
			return Gone
		}
	}
	return ""
}

// placed says where lines of a hit's document stand.
func placed(h engine.Hit, of [2]int) (path string, lines [2]int, ok bool) {
	path, ok = FileOf(h.Metadata)
	if !ok {
		return "", lines, false
	}
	file, _ := metadata.OfFile(h.Metadata)
	line, ok := Whole(file[Line])
	if !ok || line < 1 {
		return path, lines, true
	}
	if end, ok := Whole(file[End]); ok {
		return path, [2]int{line, max(line, end)}, true
	}
	if of[0] < 1 {
		return path, [2]int{line, line}, true
	}
	return path, [2]int{line + of[0] - 1, line + of[1] - 1}, true
}

// FileOf returns the absolute path of the file from which a document with these metadata came.
func FileOf(m map[string]any) (string, bool) {
	file, flat := metadata.OfFile(m)
	path, _ := file[Path].(string)
	root, inside := file[Root].(string)
	kind, _ := file[Kind].(string)
	if at, _ := file[Time].(string); path == "" || kind == "" || flat && !written(at) {
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

// written says whether a time is as lexsem writes it: fields of a user's that have these names seldom are.
func written(at string) bool {
	t, err := time.Parse(time.RFC3339, at)
	return err == nil && t.UTC().Format(time.RFC3339) == at
}

// Where returns the filter of a field of File, which of makes of its path, in documents of earlier builds too.
func Where(name string, of func(path string) filter.Filter) filter.Filter {
	return filter.Or(of(File+"."+name), filter.And(filter.Not(filter.Exists(File+"."+Path)), of(name)))
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
