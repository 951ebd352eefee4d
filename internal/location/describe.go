package location

import (
	"maps"
	"path/filepath"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/metadata"
)

// Describe adds the origin of a document to its metadata, as the field _file. lines are its first and last line in the
// file, from 1; 0 if the kind of file has none. verbatim says that line n of the text is line n-1 after the first. root is
// "" for a file that was named itself; path is then absolute. A document of such a file that was exported from a database
// keeps the file that it is from (Apart).
func Describe(d engine.Document, lines [2]int, verbatim bool, root, path, kind string, modified time.Time) engine.Document {
	own, has := d.Metadata[File]
	if root == "" && !verbatim && exported(own) {
		return Apart(d)
	}
	file := map[string]any{Path: path, Kind: kind, Time: Written(modified)}
	if has {
		file[Own] = own
	}
	if root != "" {
		file[Root] = root
	}
	if describes(kind) {
		metadata.WithWords(file)
	}
	if lines[0] > 0 {
		file[Line] = lines[0]
		if !verbatim {
			file[End] = max(lines[0], lines[1])
		}
	}
	return with(d, file)
}

// describes reports whether the fields of a file of a kind describe it. Those of records are columns of the user, who names the
// ones that are text, and the title of source code is its path.
func describes(kind string) bool {
	switch kind {
	case "csv", "tsv", "json", "jsonl", "parquet", "chromem", "npy", "fbin", "fvecs", "code":
		return false
	}
	return true
}

// Apart returns a document that was read without the folder that it is from, such as a line of an export on standard
// input. If its metadata name that folder, they name the file alone: no sync takes the document for one of its own.
func Apart(d engine.Document) engine.Document {
	own, _ := d.Metadata[File].(map[string]any)
	path, ok := FileOf(d.Metadata)
	if !ok || own[Root] == nil {
		return d
	}
	file := maps.Clone(own)
	delete(file, Root)
	file[Path] = filepath.ToSlash(path)
	return with(d, file)
}

// exported says whether a record's own field File is one that lexsem has written.
func exported(own any) bool {
	_, ok := FileOf(map[string]any{File: own})
	return ok
}

// with is a document with another field File.
func with(d engine.Document, file map[string]any) engine.Document {
	d.Metadata = maps.Clone(d.Metadata)
	if d.Metadata == nil {
		d.Metadata = map[string]any{}
	}
	d.Metadata[File] = file
	return d
}

// Written is the form of a time in metadata. It has whole seconds, since with fractions
// the order of bytes would not be that of time.
func Written(t time.Time) string { return t.UTC().Format(time.RFC3339) }
