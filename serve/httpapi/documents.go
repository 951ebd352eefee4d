package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/answer"
	"github.com/lexsem/lexsem/internal/picture"
)

// content is a document without its id.
type content struct {
	Title    string         `json:"title"`
	Text     string         `json:"text"`
	Metadata map[string]any `json:"metadata"`
	Vector   []float32      `json:"vector"`
	Media    string         `json:"media"`
	Data     []byte         `json:"data"` // of an image; base64

	WordsFirst bool `json:"words_first"`
}

type documentRequest struct {
	ID string `json:"id"`
	content
}

func (d *documentRequest) document() engine.Document {
	return engine.Document{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: d.Metadata, Vector: d.Vector, Media: d.Media, Data: d.Data, WordsFirst: d.WordsFirst}
}

type documentsRequest struct {
	Documents []documentRequest `json:"documents"`
}

// Stored reports what a request stored. The fields have the meanings of engine.AddResult.
type Stored struct {
	Added           int    `json:"added"`
	Replaced        int    `json:"replaced"`
	Unchanged       int    `json:"unchanged"`
	Seq             uint64 `json:"seq"`
	Chunked         int    `json:"chunked"`
	Chunks          int    `json:"chunks"`
	Truncated       int    `json:"truncated"`
	TruncatedTokens int    `json:"truncated_tokens"`
	// Skipped counts the lines of NDJSON that on_error=skip left out. Failed describes the first hundred
	// of them.
	Skipped int       `json:"skipped,omitempty"`
	Failed  []badLine `json:"failed,omitempty"`
}

func (s *Stored) add(r engine.AddResult) {
	s.Added += r.Added
	s.Replaced += r.Replaced
	s.Unchanged += r.Unchanged
	s.Seq = max(s.Seq, r.Seq)
	s.Chunked += r.Chunked
	s.Chunks += r.Chunks
	s.Truncated += r.Truncated
	s.TruncatedTokens += r.TruncatedTokens
}

func putDocuments(ctx context.Context, c *call, in *documentsRequest) (out Stored, err error) {
	if n := len(in.Documents); n < 1 || n > c.s.o.MaxTexts {
		return out, invalid("documents", "%d documents; send 1 to %d, or any number as NDJSON (Content-Type: %s)", n, c.s.o.MaxTexts, kindNDJSON)
	}
	docs := make([]engine.Document, len(in.Documents))
	for i := range docs {
		docs[i] = in.Documents[i].document()
	}
	res, err := c.db.Upsert(ctx, docs)
	out.add(res)
	return out, err
}

func putDocument(ctx context.Context, c *call, in *content) (out Stored, err error) {
	d := documentRequest{ID: c.r.PathValue("id"), content: *in}
	res, err := c.db.Upsert(ctx, []engine.Document{d.document()})
	out.add(res)
	return out, err
}

type patchRequest struct {
	Metadata map[string]any `json:"metadata"`
}

type patchAnswer struct {
	Patched int `json:"patched"`
}

func patchDocument(ctx context.Context, c *call, in *patchRequest) (patchAnswer, error) {
	if in.Metadata == nil {
		return patchAnswer{}, invalid("metadata", `no metadata; send {"metadata":{…}}: fields are set, and fields that are null are removed. Use PUT to replace texts`)
	}
	n, err := c.db.Patch(ctx, []engine.Patch{{ID: c.r.PathValue("id"), Metadata: in.Metadata}})
	return patchAnswer{n}, err
}

// documentAnswer is a stored document, with its vector if that was requested.
type documentAnswer struct {
	answer.Document
	Vector  []float32 `json:"vector,omitempty"`
	Data    []byte    `json:"data,omitempty"`
	Picture []byte    `json:"picture,omitempty"` // a PNG of an image, scaled; base64
}

func getDocument(ctx context.Context, c *call) (documentAnswer, error) {
	id := c.r.PathValue("id")
	if id == "" {
		return documentAnswer{}, invalid("id", "no id; use /v1/documents without a slash to list documents")
	}
	d, err := c.db.Get(ctx, id)
	if err != nil {
		return documentAnswer{}, err
	}
	out := documentAnswer{Document: answer.NewDocument(d)}
	for name, add := range map[string]func(){"vector": func() { out.Vector = d.Vector }, "data": func() { out.Data = d.Data }} {
		switch v := c.query.Get(name); v {
		case "true":
			add()
		case "", "false":
		default:
			return documentAnswer{}, invalid(name, "%s is %.40q; use true or false", name, v)
		}
	}
	if side := c.query.Get("picture"); side != "" {
		out.Picture, err = thumbnail(d, side)
	}
	return out, err
}

// Bounds of the sides of a picture, in pixels.
const minSide, maxSide = 16, 1024

// thumbnail is a PNG of a document's image whose sides have at most side pixels.
func thumbnail(d engine.Document, side string) ([]byte, error) {
	n, err := strconv.Atoi(side)
	switch {
	case err != nil || n < minSide || n > maxSide:
		return nil, invalid("picture", "picture is %.40q; give the pixels of its longer side, %d to %d", side, minSide, maxSide)
	case len(d.Data) == 0:
		return nil, invalid("picture", "the document is not an image; leave picture out")
	}
	return picture.Thumbnail(d.Data, n)
}

type listAnswer struct {
	Documents []answer.Document `json:"documents"`
	Total     int               `json:"total"`       // that meet the filter
	Next      *int              `json:"next_offset"` // null at the end, and in a page that was asked for by after
	After     *string           `json:"next_after"`  // null at the end
}

// defaultList is the default number of documents in a list.
const defaultList = 100

// listDocuments returns a page of documents. The page is shorter than requested if the
// texts would exceed a body of MaxBody.
func listDocuments(ctx context.Context, c *call) (listAnswer, error) {
	q := c.query
	limit, err := number(q, "limit", defaultList, 1, c.s.o.MaxTexts)
	if err != nil {
		return listAnswer{}, err
	}
	offset, err := number(q, "offset", 0, 0, 1<<31-1)
	if err != nil {
		return listAnswer{}, err
	}
	if q.Has("after") && q.Has("offset") {
		return listAnswer{}, invalid("offset", "both after and offset; send the next_after of the page before as after, without offset")
	}
	after, err := answer.After(q.Get("after"))
	if err != nil {
		return listAnswer{}, err
	}
	f, err := answer.Filter(q.Get("filter"))
	if err != nil {
		return listAnswer{}, err
	}
	out := listAnswer{Documents: []answer.Document{}}
	if out.Total, err = c.db.Count(ctx, f); err != nil {
		return listAnswer{}, err
	}
	at, last, room := 0, "", c.s.o.MaxBody
	for d, err := range c.db.List(ctx, f, after) {
		if err != nil {
			return listAnswer{}, err
		}
		if at++; at <= offset {
			continue
		}
		room -= int64(len(d.Title) + len(d.Text))
		if len(out.Documents) == limit || room < 0 && len(out.Documents) > 0 {
			out.After = new(answer.Cursor(last))
			if !q.Has("after") {
				out.Next = new(at - 1)
			}
			break
		}
		last = d.ID
		out.Documents = append(out.Documents, answer.NewDocument(d))
	}
	return out, nil
}

type deleteAnswer struct {
	Deleted int `json:"deleted"`
}

func deleteDocument(ctx context.Context, c *call) (deleteAnswer, error) {
	id := c.r.PathValue("id")
	if id == "" {
		return deleteAnswer{}, invalid("id", "no id; use DELETE /v1/documents?filter=… to delete by a filter")
	}
	n, err := c.db.Delete(ctx, []string{id})
	if err == nil && n == 0 {
		err = fmt.Errorf("document %.80q: %w", id, engine.ErrNotFound)
	}
	return deleteAnswer{n}, err
}

func deleteDocuments(ctx context.Context, c *call) (out deleteAnswer, err error) {
	ids, expr := c.query["id"], c.query.Get("filter")
	switch {
	case len(ids) > 0 && expr != "":
		return out, invalid("filter", "both ids and a filter; give one of them")
	case len(ids) > c.s.o.MaxTexts:
		return out, invalid("id", "%d ids; give at most %d", len(ids), c.s.o.MaxTexts)
	case len(ids) > 0:
		out.Deleted, err = c.db.Delete(ctx, ids)
		return out, err
	}
	f, err := answer.Filter(expr)
	if err != nil {
		return out, err
	}
	out.Deleted, err = c.db.DeleteWhere(ctx, f)
	return out, err
}

// parameters reads the query string of a request. One that cannot be read, a parameter that the route does not have, and one that
// is there twice are refused: without its filter, a request would concern all documents.
func parameters(u *url.URL, rt *route) (url.Values, error) {
	q, err := url.ParseQuery(u.RawQuery)
	if !rt.strict {
		return q, nil
	}
	if err != nil {
		return nil, invalid("", "the query string cannot be read: %v; percent-encode the values, such as %% as %%25 and ; as %%3B", err)
	}
	for name, values := range q {
		switch {
		case len(rt.params) == 0:
			return nil, invalid(name, "unknown parameter %.80q; this route has none in the query string", name)
		case !slices.Contains(rt.params, name):
			return nil, invalid(name, "unknown parameter %.80q; known are %q", name, rt.params)
		case len(values) > 1 && name != "id":
			return nil, invalid(name, "the parameter %q is there %d times; give it once", name, len(values))
		}
	}
	return q, nil
}

// number reads a parameter that is an integer.
func number(q url.Values, name string, otherwise, least, most int) (int, error) {
	s := q.Get(name)
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, invalid(name, "%s is %.40q; use a number from %d to %d", name, s, least, most)
	}
	return n, nil
}
