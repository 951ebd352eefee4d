package mcp

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/answer"
)

// Limits of list.
const (
	listLimit   = 50
	maxListed   = 500
	maxWalk     = 1_000_000 // documents that an offset may leave out
	listPreview = 160       // bytes of text
	listFields  = 1 << 10   // metadata of a document as JSON
)

type listArgs struct {
	Filter string `json:"filter,omitempty" jsonschema:"condition on metadata"`
	Limit  *int   `json:"limit,omitempty" jsonschema:"number of documents"`
	After  string `json:"after,omitempty" jsonschema:"next_after of the previous answer, to continue after its last document"`
	Offset int    `json:"offset,omitempty" jsonschema:"number of documents to skip, without after"`
	By     string `json:"by,omitempty" jsonschema:"a metadata field: instead of documents, its limit most frequent values with the number of documents that have each"`
	form
}

type listedDocument struct {
	ID        string         `json:"id"`
	Title     string         `json:"title,omitempty"`
	Bytes     int            `json:"bytes" jsonschema:"length of its text in bytes"`
	Beginning string         `json:"beginning" jsonschema:"beginning of its text"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	MoreBytes int            `json:"metadata_left_out,omitempty" jsonschema:"number of bytes of metadata that are left out; get shows them"`
}

type listResult struct {
	Total      int              `json:"total" jsonschema:"number of documents that match the filter"`
	Documents  []listedDocument `json:"documents" jsonschema:"in the order of their ids"`
	Facets     []filter.Facet   `json:"facets,omitempty" jsonschema:"with by: values of the field, the most frequent first, and the number of documents that have each"`
	NextAfter  string           `json:"next_after,omitempty" jsonschema:"after of the next documents; absent at the end"`
	NextOffset int              `json:"next_offset,omitempty" jsonschema:"offset of the next documents; absent at the end and with after"`
	Lacking    []lack           `json:"lacking,omitempty" jsonschema:"what the database lacks of the files that it was filled from, the gravest first; only without filter, after and offset"`
	Lacks      int              `json:"lacks,omitempty" jsonschema:"number of these in all"`
	Note       string           `json:"note,omitempty" jsonschema:"language of most text, if the model does not read it or its words have the stems of another, and the remedy; only without filter, after and offset"`
}

type lack struct {
	State  string `json:"state" jsonschema:"failed: not stored; stale: an older version is stored; warned: the text is stored"`
	Path   string `json:"path" jsonschema:"the file"`
	Line   int    `json:"line,omitempty" jsonschema:"line of the file"`
	Reason string `json:"reason" jsonschema:"what is wrong"`
	Since  string `json:"since" jsonschema:"when it was first seen"`
}

var listTool = newTool[listArgs](sdk.Tool{
	Name:  "list",
	Title: "List documents",
	Description: "Lists the stored documents in the order of their ids: id, title, beginning of the text, metadata. " +
		"Use it to see what is stored, which metadata fields a filter can use, how many documents match a filter (total), or how many have each value of a field (by). Use search to find something.",
	Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)},
}, shape{
	"limit": between(0, maxListed, listLimit), "offset": between(0, maxWalk, 0),
	"filter": func(s *jsonschema.Schema) { s.Description += "; " + filterHelp },
})

func (s *Server) list(ctx context.Context, in listArgs) (string, listResult, error) {
	limit := or(in.Limit, listLimit)
	if err := inRange("limit", limit, 0, maxListed); err != nil {
		return "", listResult{}, err
	}
	if err := inRange("offset", in.Offset, 0, maxWalk); err != nil {
		return "", listResult{}, err
	}
	if in.After != "" && in.Offset > 0 {
		return "", listResult{}, refuse("both after and offset; use the next_after of the previous answer as after, without offset")
	}
	after, err := answer.After(in.After)
	if err != nil {
		return "", listResult{}, err
	}
	f, err := answer.Filter(in.Filter)
	if err != nil {
		return "", listResult{}, err
	}
	out := listResult{Documents: []listedDocument{}}
	if out.Total, err = s.db.Count(ctx, f); err != nil {
		return "", listResult{}, err
	}
	if in.By != "" {
		if in.After != "" || in.Offset > 0 {
			return "", listResult{}, refuse("by with after or offset; leave these out, and give a limit")
		}
		if out.Facets, err = s.db.Facets(ctx, f, in.By, limit); err != nil {
			return "", listResult{}, err
		}
		return facetsText(out, in.By), out, nil
	}
	if limit > 0 && in.Offset < out.Total {
		if err := s.walk(ctx, f, after, in.Offset, limit, &out); err != nil {
			return "", listResult{}, err
		}
	}
	if in.Filter == "" && in.After == "" && in.Offset == 0 {
		if err := s.lacking(ctx, &out); err != nil {
			return "", listResult{}, err
		}
	}
	return s.listText(out, in), out, nil
}

// facetsText lists the values of a field.
func facetsText(r listResult, field string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d documents by %s:\n", r.Total, oneLine(field))
	for _, f := range r.Facets {
		value := "null"
		if f.Value != nil {
			value = fmt.Sprint(f.Value)
		}
		fmt.Fprintf(&b, "%d  %s\n", f.Count, clipped(oneLine(value), maxTitle))
	}
	if len(r.Facets) == 0 {
		b.WriteString("No document has this field.")
	}
	return b.String()
}

// lacking adds the problems of the database's files.
func (s *Server) lacking(ctx context.Context, out *listResult) error {
	of, knows := s.db.(interface {
		Stats(context.Context) (engine.Stats, error)
	})
	if !knows {
		return nil
	}
	stats, err := of.Stats(ctx)
	if err != nil {
		return err
	}
	out.Lacks, out.Note = stats.Problems.Total(), stats.Note
	for _, p := range stats.Problems.First {
		at := filepath.Base(p.Source)
		if p.Path != "" {
			at = path.Join(at, p.Path)
		}
		out.Lacking = append(out.Lacking, lack{p.State, clipped(at, maxTitle), p.Line, clipped(p.Reason, maxTitle), p.Time})
	}
	return nil
}

// lacksText lists what the database lacks.
func lacksText(r listResult) string {
	var b strings.Builder
	if r.Note != "" {
		b.WriteString("\nNote: " + r.Note + ".\n")
	}
	if r.Lacks == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\nThe database lacks something of its files, %d in all:\n", r.Lacks)
	for _, l := range r.Lacking {
		at := l.Path
		if l.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, l.Line)
		}
		b.WriteString(indented(oneLine(fmt.Sprintf("%s since %s: %s: %s", l.State, l.Since, at, l.Reason))) + "\n")
	}
	return b.String()
}

// walk adds the documents of one page. Documents stored or deleted between the count and
// the walk may make the two differ.
func (s *Server) walk(ctx context.Context, f engine.Filter, after string, offset, limit int, out *listResult) error {
	n, last := 0, ""
	for d, err := range s.db.List(ctx, f, after) {
		if err != nil {
			return err
		}
		if n++; n <= offset {
			continue
		}
		if n > offset+limit {
			out.NextAfter = answer.Cursor(last)
			if after == "" {
				out.NextOffset = offset + limit
			}
			return nil
		}
		last = d.ID
		l := listedDocument{ID: d.ID, Title: clipped(d.Title, maxTitle), Bytes: len(d.Text)}
		head, _ := clip(d.Text, 4*listPreview) // white space goes first
		l.Beginning = clipped(oneLine(head), listPreview)
		l.Metadata, l.MoreBytes = lightMetadata(d.Metadata, listFields)
		out.Documents = append(out.Documents, l)
	}
	return nil
}

func (s *Server) listText(r listResult, in listArgs) string {
	var b strings.Builder
	switch {
	case r.Total == 0 && in.Filter != "":
		return "No document matches the filter."
	case r.Total == 0:
		return "The database is empty" + s.toFill() + "." + lacksText(r)
	case in.Filter != "":
		fmt.Fprintf(&b, "%d documents match the filter.\n", r.Total)
	default:
		fmt.Fprintf(&b, "%d documents.\n", r.Total)
	}
	for i, d := range r.Documents {
		fmt.Fprintf(&b, "\n%d. %s  (%s)\n", in.Offset+i+1, oneLine(d.ID), bytesOf(d.Bytes))
		if d.Title != "" {
			b.WriteString(indented(oneLine(d.Title)) + "\n")
		}
		if d.Beginning != "" {
			b.WriteString(indented(d.Beginning) + "\n")
		}
		if m := metadataText(d.Metadata); m != "" {
			b.WriteString(indented(m) + "\n")
		}
	}
	b.WriteString(lacksText(r))
	if r.NextAfter != "" {
		fmt.Fprintf(&b, "\nMore with after=%q.", r.NextAfter)
	}
	return b.String()
}
