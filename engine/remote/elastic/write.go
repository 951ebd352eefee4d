package elastic

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/internal/rest"
)

// source is a passage in its stored form.
type source struct {
	ID        string    `json:"id"`
	Chunk     int       `json:"chunk"`
	Chunks    int       `json:"chunks"`
	Part      int       `json:"part"`
	Put       string    `json:"put"` // names the Put that has written it
	Title     string    `json:"title,omitempty"`
	Text      string    `json:"text,omitempty"`
	Bytes     []byte    `json:"bytes,omitempty"` // title, text and whole as JSON of bytes, where one is not UTF-8
	Start     int       `json:"start,omitempty"`
	Line      int       `json:"line"`
	Whole     string    `json:"whole,omitempty"`
	Metadata  string    `json:"metadata,omitempty"`
	Facts     []string  `json:"facts,omitempty"`
	Terms     string    `json:"terms,omitempty"`
	Length    int       `json:"length"`
	Truncated int       `json:"truncated,omitempty"`
	Tokens    []int32   `json:"tokens,omitempty"`
	Vector    []float32 `json:"vector,omitempty"`
}

// texts are the texts of a passage as bytes, so that JSON keeps them exactly.
type texts struct{ Title, Text, Whole []byte }

func sourceOf(p remote.Passage, put string) (source, error) {
	s := source{
		ID: p.ID, Chunk: p.Chunk, Chunks: p.Chunks, Part: partOf(p.ID), Put: put, Title: p.Title, Text: p.Text, Start: p.Start, Line: p.Line, Whole: p.Whole,
		Metadata: p.Metadata, Facts: p.Facts, Terms: p.Terms, Length: p.Length, Truncated: p.Truncated, Tokens: p.Tokens, Vector: p.Vector,
	}
	if !utf8.ValidString(p.ID) {
		return s, fmt.Errorf("%w: document %q: an id that is not UTF-8, which this engine cannot keep; give it another", engine.ErrInvalid, p.ID)
	}
	if !utf8.ValidString(p.Title) || !utf8.ValidString(p.Text) || !utf8.ValidString(p.Whole) {
		raw, err := json.Marshal(texts{[]byte(p.Title), []byte(p.Text), []byte(p.Whole)})
		if err != nil {
			return s, err
		}
		s.Bytes, s.Title, s.Text, s.Whole = raw, "", "", ""
	}
	return s, nil
}

func (s *source) passage() (remote.Passage, error) {
	p := remote.Passage{
		PassageID: remote.PassageID{ID: s.ID, Chunk: s.Chunk}, Chunks: s.Chunks, Title: s.Title, Text: s.Text, Start: s.Start, Line: s.Line, Whole: s.Whole,
		Metadata: s.Metadata, Facts: s.Facts, Vector: s.Vector, Terms: s.Terms, Length: s.Length, Truncated: s.Truncated, Tokens: s.Tokens,
	}
	if s.Bytes != nil {
		var t texts
		if err := json.Unmarshal(s.Bytes, &t); err != nil {
			return p, fmt.Errorf("%w: document %q: %v", engine.ErrCorrupt, s.ID, err)
		}
		p.Title, p.Text, p.Whole = string(t.Title), string(t.Text), string(t.Whole)
	}
	return p, nil
}

// keyOf is the server's id of a passage. The id of a document may have more bytes than the server accepts.
func keyOf(id remote.PassageID) string {
	sum := sha256.Sum256([]byte(id.ID))
	return base64.RawURLEncoding.EncodeToString(sum[:18]) + "." + strconv.Itoa(id.Chunk)
}

// partCount is the number of parts into which ids are divided.
const partCount = 1 << 12

// partOf is the part of an id, from 0.
func partOf(id string) int {
	sum := sha256.Sum256([]byte(id))
	return int(binary.BigEndian.Uint32(sum[18:]) % partCount)
}

// found is the server's answer about one id.
type found struct {
	ID     string  `json:"_id"`
	Found  bool    `json:"found"`
	Source *source `json:"_source"`
	Error  *struct{ Type, Reason string }
}

// mget reads passages by their ids, in order; nil for a missing one.
func (b *Backend) mget(ctx context.Context, keys []string, query string) ([]*source, error) {
	out := make([]*source, 0, len(keys))
	for len(keys) > 0 {
		some := keys[:min(page, len(keys))]
		keys = keys[len(some):]
		var docs struct{ Docs []found }
		err := rest.Retry(ctx, b.o.Patience, func(int) (again bool, err error) {
			if err := b.c.Call(ctx, "POST", b.path("_mget?"+query), object{"ids": some}, &docs); err != nil {
				return false, err
			}
			for _, d := range docs.Docs { // its shard may have no copy that answers
				if d.Error != nil {
					return true, fmt.Errorf("%s: %w: reading passage %s: %s: %s", b.Name(), ErrServer, d.ID, d.Error.Type, rest.Printable(d.Error.Reason, 500))
				}
			}
			return false, nil
		})
		if err != nil {
			return nil, err
		}
		if len(docs.Docs) != len(some) {
			return nil, fmt.Errorf("%s: %w: %d answers for %d ids", b.Name(), ErrServer, len(docs.Docs), len(some))
		}
		for _, d := range docs.Docs {
			if !d.Found {
				d.Source = nil
			}
			out = append(out, d.Source)
		}
	}
	return out, nil
}

// Fetch implements remote.Backend.
func (b *Backend) Fetch(ctx context.Context, ids []remote.PassageID, vectors bool) ([]*remote.Passage, error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(id)
	}
	query := "realtime=false&_source_excludes=facts"
	if !vectors {
		query += ",vector,whole,tokens"
	}
	found, err := b.mget(ctx, keys, query)
	if err != nil {
		return nil, err
	}
	out := make([]*remote.Passage, len(ids))
	for i, s := range found {
		if s == nil {
			continue
		}
		p, err := s.passage()
		if err != nil {
			return nil, err
		}
		out[i] = &p
	}
	return out, nil
}

// Documents implements remote.Backend. It also returns writes that searches cannot see yet.
func (b *Backend) Documents(ctx context.Context, ids []string) ([][]remote.Passage, error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(remote.PassageID{ID: id})
	}
	firsts, err := b.mget(ctx, keys, "realtime=true")
	if err != nil {
		return nil, err
	}
	keys = keys[:0]
	for _, s := range firsts {
		if s != nil {
			for n := 1; n < s.Chunks; n++ {
				keys = append(keys, keyOf(remote.PassageID{ID: s.ID, Chunk: n}))
			}
		}
	}
	rest, err := b.mget(ctx, keys, "realtime=true")
	if err != nil {
		return nil, err
	}
	out := make([][]remote.Passage, len(ids))
	for i, s := range firsts {
		if s == nil {
			continue
		}
		n := s.Chunks - 1
		for _, s := range append([]*source{s}, rest[:n]...) {
			if s == nil { // a Put that has failed left the document in part
				break
			}
			p, err := s.passage()
			if err != nil {
				return nil, err
			}
			out[i] = append(out[i], p)
		}
		rest = rest[n:]
	}
	return out, nil
}

// operation is one line of a bulk: an action on a passage, and its source.
type operation struct {
	what string // "index", "create" or "delete"
	key  string
	s    *source // nil for "delete"
}

// mostBulk is the approximate maximum size of one bulk request.
const mostBulk = 8 << 20

// Put implements remote.Backend. If a document has fewer chunks than before, the surplus chunks are removed first, so
// a failure leaves none of them.
func (b *Backend) Put(ctx context.Context, docs [][]remote.Passage, fresh bool) error {
	put := rand.Text()
	var gone, ops []operation
	what := "index"
	if fresh {
		what = "create"
	} else {
		firsts := make([]string, len(docs))
		for i, ps := range docs {
			firsts[i] = keyOf(ps[0].PassageID)
		}
		before, err := b.mget(ctx, firsts, "realtime=true&_source_includes=chunks,id")
		if err != nil {
			return err
		}
		for i, ps := range docs {
			if before[i] == nil {
				continue
			}
			for n := len(ps); n < before[i].Chunks; n++ {
				gone = append(gone, operation{what: "delete", key: keyOf(remote.PassageID{ID: ps[0].ID, Chunk: n})})
			}
		}
	}
	for _, ps := range docs {
		for _, p := range ps {
			s, err := sourceOf(p, put)
			if err != nil {
				return err
			}
			ops = append(ops, operation{what, keyOf(p.PassageID), &s})
		}
	}
	if len(gone) > 0 {
		if err := b.bulk(ctx, gone); err != nil {
			return err
		}
	}
	if err := b.bulk(ctx, ops); err != nil {
		return err
	}
	return b.refresh(ctx)
}

// Delete implements remote.Backend. It removes first chunks last, so that a failed call can be repeated.
func (b *Backend) Delete(ctx context.Context, ids []string) (int, error) {
	keys := make([]string, 0, len(ids))
	seen := map[string]bool{}
	for _, id := range ids {
		if key := keyOf(remote.PassageID{ID: id}); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	firsts, err := b.mget(ctx, keys, "realtime=true&_source_includes=chunks,id")
	if err != nil {
		return 0, err
	}
	var rest, first []operation
	for i, s := range firsts {
		if s == nil {
			continue
		}
		first = append(first, operation{what: "delete", key: keys[i]})
		for n := 1; n < s.Chunks; n++ {
			rest = append(rest, operation{what: "delete", key: keyOf(remote.PassageID{ID: s.ID, Chunk: n})})
		}
	}
	if len(first) == 0 {
		return 0, ctx.Err()
	}
	if err := b.bulk(ctx, rest); err != nil {
		return 0, err
	}
	if err := b.bulk(ctx, first); err != nil {
		return 0, err
	}
	return len(first), b.refresh(ctx)
}

// refresh makes writes visible to searches.
func (b *Backend) refresh(ctx context.Context) error {
	return b.c.Call(ctx, "POST", b.path("_refresh"), nil, nil)
}

// bulk runs operations. It repeats those for which the server is too busy, for at most Options.Patience.
func (b *Backend) bulk(ctx context.Context, ops []operation) error {
	if len(ops) == 0 {
		return ctx.Err()
	}
	return rest.Retry(ctx, b.o.Patience, func(int) (bool, error) {
		var left []operation
		var failed error
		for len(ops) > 0 {
			var body bytes.Buffer
			n := 0
			for ; n < len(ops) && body.Len() < mostBulk; n++ {
				if err := ops[n].write(&body); err != nil {
					return false, err
				}
			}
			again, err := b.bulkOnce(ctx, ops[:n], body.Bytes())
			if err != nil && len(again) == 0 {
				return false, err
			}
			if err != nil {
				failed = err
			}
			left, ops = append(left, again...), ops[n:]
		}
		ops = left
		return true, failed
	})
}

func (o operation) write(to *bytes.Buffer) error {
	line, err := json.Marshal(object{o.what: object{"_id": o.key}})
	if err != nil {
		return err
	}
	to.Write(append(line, '\n'))
	if o.s == nil {
		return nil
	}
	if line, err = json.Marshal(o.s); err != nil {
		return err
	}
	to.Write(append(line, '\n'))
	return nil
}

// bulkOnce runs operations and returns those to be repeated, with the error of one of them.
func (b *Backend) bulkOnce(ctx context.Context, ops []operation, body []byte) (again []operation, err error) {
	var out struct {
		Errors bool
		Items  []map[string]struct {
			Status int
			Error  struct{ Type, Reason string }
		}
	}
	if err := b.c.Call(ctx, "POST", b.path("_bulk?wait_for_active_shards="+strconv.Itoa(b.o.Copies)), body, &out); err != nil {
		return nil, err
	}
	if len(out.Items) != len(ops) {
		return nil, fmt.Errorf("%s: %w: %d answers for %d operations", b.Name(), ErrServer, len(out.Items), len(ops))
	}
	if !out.Errors {
		return nil, nil
	}
	for i, item := range out.Items {
		o := ops[i]
		r := item[o.what]
		failed := &rest.Failure{Status: r.Status, Kind: r.Error.Type, Reason: rest.Printable(r.Error.Reason, 500), Where: b.Name(), Err: ErrServer}
		switch {
		case r.Status/100 == 2, o.what == "delete" && r.Status == http.StatusNotFound:
		case r.Status == http.StatusTooManyRequests || r.Status >= 500:
			again, err = append(again, o), failed
		case o.what == "create" && r.Status == http.StatusConflict:
			// This call itself may have stored it if its answer was lost.
			stored, merr := b.mget(ctx, []string{o.key}, "realtime=true&_source_includes=put")
			if merr != nil {
				return nil, merr
			}
			if stored[0] == nil || stored[0].Put != o.s.Put {
				return nil, fmt.Errorf("%s: document %q: %w", b.Name(), o.s.ID, engine.ErrExists)
			}
		case o.s != nil:
			return nil, fmt.Errorf("document %q: %w", o.s.ID, failed)
		default:
			return nil, failed
		}
	}
	return again, err
}
