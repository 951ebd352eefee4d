package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/picture"
)

// Limits of get, in bytes of text.
const (
	getText      = 20_000
	maxGetText   = 200_000
	maxGetFields = 64 << 10 // metadata as JSON
)

type getArgs struct {
	ID     string `json:"id" jsonschema:"id of the document, from search or list"`
	Offset int    `json:"offset,omitempty" jsonschema:"first byte of the text to read: start of a hit, or next_offset of the previous answer"`
	Line   int    `json:"line,omitempty" jsonschema:"first line to read instead of offset, counted as in a hit of search"`
	Limit  *int   `json:"limit,omitempty" jsonschema:"number of bytes of text"`
	form
}

type getResult struct {
	ID         string         `json:"id"`
	Title      string         `json:"title,omitempty"`
	Text       string         `json:"text" jsonschema:"bytes start to end of the document's text"`
	Start      int            `json:"start"`
	End        int            `json:"end"`
	Bytes      int            `json:"bytes" jsonschema:"length of the whole text in bytes"`
	FirstLine  int            `json:"first_line" jsonschema:"line in the whole text at which text begins, from 1"`
	NextOffset int            `json:"next_offset,omitempty" jsonschema:"offset of the next part; absent at the end of the text"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	MoreBytes  int            `json:"metadata_left_out,omitempty" jsonschema:"number of bytes of metadata that are too many to show"`
	Media      string         `json:"media,omitempty" jsonschema:"media type of an image; the image is scaled down"`

	png []byte // of an image
}

func (r getResult) picture() []byte { return r.png }

// pictureSide is the maximum length in pixels of the longer side of a shown image.
const pictureSide = 768

var getTool = newTool[getArgs](sdk.Tool{
	Name:  "get",
	Title: "Read a document",
	Description: "Reads a document by id: title, text and metadata, or an image. A long text comes in parts; " +
		"next_offset is the offset of the next part. To read around a hit of search, set line to some lines before its own.",
	Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)},
}, shape{"id": lengths(1, engine.MaxID), "offset": from(0), "line": from(0), "limit": between(1, maxGetText, getText)})

func (s *Server) get(ctx context.Context, in getArgs) (string, getResult, error) {
	limit := or(in.Limit, getText)
	if err := checkID(in.ID); err != nil {
		return "", getResult{}, err
	}
	if err := inRange("limit", limit, 1, maxGetText); err != nil {
		return "", getResult{}, err
	}
	d, err := s.db.Get(ctx, in.ID)
	if err != nil {
		return "", getResult{}, err
	}
	if in.Offset < 0 || in.Offset > len(d.Text) {
		return "", getResult{}, refuse("offset is %d; the text of %q has %s, use 0 to %d", in.Offset, clipped(in.ID, 80), bytesOf(len(d.Text)), len(d.Text))
	}
	if in.Line != 0 {
		if in.Offset, err = s.startOf(d, in.Line); err != nil {
			return "", getResult{}, err
		}
	}
	start := runeStart(d.Text, in.Offset)
	end := runeStart(d.Text, start+limit)
	if end <= start && start < len(d.Text) { // a character is longer than limit
		end = min(start+4, len(d.Text))
		end = max(runeStart(d.Text, end), start+1)
	}
	out := getResult{ID: d.ID, Title: d.Title, Text: d.Text[start:end], Start: start, End: end, Bytes: len(d.Text),
		FirstLine: 1 + strings.Count(d.Text[:start], "\n"), Media: d.Media}
	if len(d.Data) > 0 {
		if out.png, err = picture.Thumbnail(d.Data, pictureSide); err != nil {
			return "", getResult{}, err
		}
	}
	if end < len(d.Text) {
		out.NextOffset = end
	}
	out.Metadata, out.MoreBytes = lightMetadata(d.Metadata, maxGetFields)
	return getTextOf(out), out, nil
}

// startOf is the start of a line in the text of a document; lines count as in its file if it came from
// one.
func (s *Server) startOf(d engine.Document, line int) (at int, err error) {
	_, first := s.placeOf(engine.Hit{ID: d.ID, Metadata: d.Metadata, Lines: [2]int{1, 1}})
	for n := max(1, first[0]); n != line; n++ {
		i := strings.IndexByte(d.Text[at:], '\n')
		if i < 0 || line < n {
			return 0, refuse("line is %d; the text of %q has the lines %d to %d", line, clipped(d.ID, 80), max(1, first[0]), max(1, first[0])+strings.Count(strings.TrimSuffix(d.Text, "\n"), "\n"))
		}
		at += i + 1
	}
	return at, nil
}

func checkID(id string) error {
	if id == "" || len(id) > engine.MaxID {
		return refuse("id has %s; ids have 1 to %d bytes; use search or list to find ids", bytesOf(len(id)), engine.MaxID)
	}
	return nil
}

func getTextOf(r getResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id %q", r.ID)
	if r.Title != "" {
		b.WriteString("\ntitle: " + oneLine(r.Title))
	}
	if m := metadataText(r.Metadata); m != "" {
		b.WriteString("\nmetadata: " + m)
	}
	if r.MoreBytes > 0 {
		fmt.Fprintf(&b, "\n[%s of metadata are too large to show]", bytesOf(r.MoreBytes))
	}
	b.WriteString("\n\n" + r.Text)
	if r.Start > 0 || r.End < r.Bytes {
		fmt.Fprintf(&b, "\n\n[bytes %d to %d of %d, from line %d", r.Start, r.End, r.Bytes, r.FirstLine)
		if r.NextOffset > 0 {
			fmt.Fprintf(&b, "; continue with offset=%d", r.NextOffset)
		}
		b.WriteString("]")
	}
	return b.String()
}
