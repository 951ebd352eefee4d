package folder

import (
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/location"
)

// Metadata that every document from a folder's file has. A field of the file's own with one
// of these names stands in the object "front" instead. A record of a file that was named
// itself keeps its fields, and has none of these where it has one of their names.
var ownNames = map[string]bool{
	location.Path: true, location.Root: true, location.Time: true, location.Kind: true, location.Line: true, location.End: true, metaFront: true,
}

const metaFront = "front"

// Describe adds the origin of a record to its metadata. root is "" for a file that was named itself;
// path is then absolute. The fields of such a record keep their names, so that filters find what the
// file says and an export can be imported unchanged.
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
	m[location.Path], m[location.Kind] = path, kind
	m[location.Time] = written(modified)
	if root != "" {
		m[location.Root] = root
	}
	if r.From > 0 {
		m[location.Line] = r.From
		if !r.Verbatim {
			m[location.End] = max(r.From, r.To)
		}
	}
	d.Metadata = m
	return d
}

// written is a time as metadata have it. Seconds alone: with fractions the order of the
// bytes would not be that of time.
func written(t time.Time) string { return t.UTC().Format(time.RFC3339) }
