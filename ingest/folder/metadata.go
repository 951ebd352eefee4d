package folder

import (
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/location"
)

// Metadata of every document from a file in a folder. If the file itself has a field with
// one of these names, the field is moved to the object "front". A record of a file that was
// named directly keeps its fields; they take precedence over these.
var ownNames = map[string]bool{
	location.Path: true, location.Root: true, location.Time: true, location.Kind: true, location.Line: true, location.End: true, metaFront: true,
}

const metaFront = "front"

// Describe adds the origin of a record to its metadata. For a file that was named directly, root is
// "" and path is absolute. The fields of such a record keep their names, so that filters find what
// the file says and an export can be imported unchanged.
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

// written is the form of a time in metadata. It has whole seconds, since with fractions
// the order of bytes would not be that of time.
func written(t time.Time) string { return t.UTC().Format(time.RFC3339) }
