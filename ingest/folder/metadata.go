package folder

import (
	"maps"
	"path/filepath"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/location"
)

// Describe adds the origin of a record to its metadata, as the field _file. root is "" for a file that was named itself;
// path is then absolute. A record of such a file that was exported from a database keeps the file that it is from (Apart).
func Describe(r files.Record, root, path, kind string, modified time.Time) engine.Document {
	d := r.Document
	own, has := d.Metadata[location.File]
	if root == "" && !r.Verbatim && exported(own) {
		return Apart(d)
	}
	file := map[string]any{location.Path: path, location.Kind: kind, location.Time: written(modified)}
	if has {
		file[location.Own] = own
	}
	if root != "" {
		file[location.Root] = root
	}
	if r.From > 0 {
		file[location.Line] = r.From
		if !r.Verbatim {
			file[location.End] = max(r.From, r.To)
		}
	}
	return with(d, file)
}

// Apart returns a document that was not read with the folder that it is from, such as a line of an export on standard input. If its
// metadata name that folder, they name the file alone: no sync takes the document for one that it has stored.
func Apart(d engine.Document) engine.Document {
	own, _ := d.Metadata[location.File].(map[string]any)
	path, ok := location.FileOf(d.Metadata)
	if !ok || own[location.Root] == nil {
		return d
	}
	file := maps.Clone(own)
	delete(file, location.Root)
	file[location.Path] = filepath.ToSlash(path)
	return with(d, file)
}

// exported says whether a record's own field location.File is one that lexsem has written.
func exported(own any) bool {
	_, ok := location.FileOf(map[string]any{location.File: own})
	return ok
}

// with is a document with another field location.File.
func with(d engine.Document, file map[string]any) engine.Document {
	d.Metadata = maps.Clone(d.Metadata)
	if d.Metadata == nil {
		d.Metadata = map[string]any{}
	}
	d.Metadata[location.File] = file
	return d
}

// written is the form of a time in metadata. It has whole seconds, since with fractions
// the order of bytes would not be that of time.
func written(t time.Time) string { return t.UTC().Format(time.RFC3339) }
