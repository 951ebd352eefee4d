package weaviate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/internal/rest"
)

// stored is a passage as the server keeps it.
type stored struct {
	Class      string               `json:"class"`
	ID         string               `json:"id"`
	Properties properties           `json:"properties"`
	Vectors    map[string][]float32 `json:"vectors,omitempty"`
}

// properties are the fields that the server searches, and the rest as JSON.
type properties struct {
	ID     string   `json:"docid"`
	Key    string   `json:"dockey"`
	Chunk  int      `json:"chunk"`
	Facts  []string `json:"facts,omitempty"` // in hexadecimal
	Terms  string   `json:"terms"`
	Length int      `json:"length"`
	Body   string   `json:"body"` // body as JSON
}

type body struct {
	Chunks    int
	Title     string   `json:",omitempty"`
	Text      string   `json:",omitempty"`
	Whole     string   `json:",omitempty"`
	Bytes     *raw     `json:",omitempty"` // in place of the three where one is not UTF-8
	Start     int      `json:",omitempty"`
	Line      int      `json:",omitempty"`
	Metadata  string   `json:",omitempty"`
	Facts     []string `json:",omitempty"`
	Truncated int      `json:",omitempty"`
	Tokens    []int32  `json:",omitempty"`
}

// raw are texts as bytes, so that JSON keeps them exactly.
type raw struct{ Title, Text, Whole []byte }

func (b *Backend) storedOf(p remote.Passage) (stored, error) {
	if !utf8.ValidString(p.ID) {
		return stored{}, fmt.Errorf("%w: document %q: an id that is not UTF-8, which this engine cannot keep; give it another", engine.ErrInvalid, p.ID)
	}
	in := body{Chunks: p.Chunks, Title: p.Title, Text: p.Text, Whole: p.Whole, Start: p.Start, Line: p.Line, Metadata: p.Metadata, Facts: p.Facts, Truncated: p.Truncated, Tokens: p.Tokens}
	if !utf8.ValidString(p.Title) || !utf8.ValidString(p.Text) || !utf8.ValidString(p.Whole) {
		in.Bytes = &raw{[]byte(p.Title), []byte(p.Text), []byte(p.Whole)}
		in.Title, in.Text, in.Whole = "", "", ""
	}
	rest, err := json.Marshal(in)
	if err != nil {
		return stored{}, err
	}
	facts := make([]string, len(p.Facts))
	for i, f := range p.Facts {
		facts[i] = inHex(f)
	}
	return stored{
		Class: b.o.Class, ID: uuidOf(p.PassageID), Vectors: map[string][]float32{vectorName: p.Vector},
		Properties: properties{ID: p.ID, Key: keyOf(p.ID), Chunk: p.Chunk, Facts: facts, Terms: p.Terms, Length: p.Length, Body: string(rest)},
	}, nil
}

func (s *stored) passage() (remote.Passage, error) {
	var in body
	if err := json.Unmarshal([]byte(s.Properties.Body), &in); err != nil {
		return remote.Passage{}, fmt.Errorf("%w: document %q: %v", engine.ErrCorrupt, s.Properties.ID, err)
	}
	if in.Bytes != nil {
		in.Title, in.Text, in.Whole = string(in.Bytes.Title), string(in.Bytes.Text), string(in.Bytes.Whole)
	}
	return remote.Passage{
		PassageID: remote.PassageID{ID: s.Properties.ID, Chunk: s.Properties.Chunk}, Chunks: in.Chunks, Title: in.Title, Text: in.Text, Start: in.Start, Line: in.Line,
		Whole: in.Whole, Metadata: in.Metadata, Facts: in.Facts, Vector: s.Vectors[vectorName], Terms: s.Properties.Terms, Length: s.Properties.Length, Truncated: in.Truncated, Tokens: in.Tokens,
	}, nil
}

// keyOf is the key for the id of a document: its length is bounded, and it has no characters with a meaning
// for the server.
func keyOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Fetch implements remote.Backend.
func (b *Backend) Fetch(ctx context.Context, ids []remote.PassageID, vectors bool) ([]*remote.Passage, error) {
	out := make([]*remote.Passage, len(ids))
	at := make(map[string]int, len(ids))
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = uuidOf(id)
		at[keys[i]] = i
	}
	found, err := b.read(ctx, keys, vectors)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		p, err := s.passage()
		if err != nil {
			return nil, err
		}
		if !vectors {
			p.Whole, p.Tokens = "", nil
		}
		out[at[s.ID]] = &p
	}
	return out, nil
}

// read returns the existing passages with the given ids of the server, in any order.
func (b *Backend) read(ctx context.Context, keys []string, vectors bool) (all []stored, err error) {
	fields := "docid chunk terms length body _additional{id}"
	if vectors {
		fields = "docid chunk terms length body _additional{id vectors{" + vectorName + "}}"
	}
	if len(keys) == 0 {
		return nil, ctx.Err()
	}
	one, err := b.oneCopy(ctx)
	if err != nil {
		return nil, err
	}
	for from := 0; from < len(keys); from += page {
		some := keys[from:min(from+page, len(keys))]
		var out struct {
			Get map[string][]struct {
				properties
				Additional struct {
					ID      string
					Vectors map[string][]float32
				} `json:"_additional"`
			}
		}
		if err := b.ask(ctx, fmt.Sprintf(`{Get{%s(%slimit:%d%s){%s}}}`, b.o.Class, one, len(some), named(some).argument(), fields), &out); err != nil {
			return nil, err
		}
		for _, x := range out.Get[b.o.Class] {
			all = append(all, stored{ID: x.Additional.ID, Properties: x.properties, Vectors: x.Additional.Vectors})
		}
	}
	return all, ctx.Err()
}

// bulk is the approximate maximum size of one batch request.
const bulk = 8 << 20

// Put implements remote.Backend. If a document has fewer chunks than before, the surplus chunks are removed first, so
// a failure leaves none of them.
func (b *Backend) Put(ctx context.Context, docs [][]remote.Passage, fresh bool) error {
	if err := b.clear(ctx, docs, fresh); err != nil || len(docs) == 0 {
		return err
	}
	var some []stored
	size := 0
	flush := func() error {
		if len(some) == 0 {
			return nil
		}
		err := b.batch(ctx, some)
		some, size = nil, 0
		return err
	}
	for _, ps := range docs {
		for _, p := range ps {
			s, err := b.storedOf(p)
			if err != nil {
				return err
			}
			some = append(some, s)
			if size += len(s.Properties.Body) + len(s.Properties.Terms) + 10*len(p.Vector); size > bulk {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// note counts n writes before they are made, in a separate object for each, so that writers need not
// coordinate.
func (b *Backend) note(ctx context.Context, n int) error {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	return b.send(ctx, []object{{"class": b.writesClass(), "id": uuid([12]byte(id[:12]), binary.BigEndian.Uint32(id[12:])), "properties": object{"n": n}}}, 1)
}

// batch stores passages, and returns once searches find them.
func (b *Backend) batch(ctx context.Context, some []stored) error {
	if err := b.send(ctx, some, len(some)); err != nil {
		return err
	}
	return b.settle(ctx, some)
}

// send stores n objects. If a copy fails, it stores all again, for at most Options.Patience.
func (b *Backend) send(ctx context.Context, objects any, n int) error {
	type outcome struct {
		Properties struct{ Docid string }
		Result     struct {
			Status string
			Errors *struct{ Error []struct{ Message string } }
		}
	}
	return rest.Retry(ctx, b.o.Patience, func(int) (again bool, err error) {
		var out []outcome
		if err := b.c.Call(ctx, "POST", "/v1/batch/objects?consistency_level="+b.o.Consistency, object{"objects": objects}, &out); err != nil {
			return false, err
		}
		if len(out) != n {
			return false, fmt.Errorf("%s: %w: %d answers for %d objects", b.Name(), ErrServer, len(out), n)
		}
		for _, o := range out {
			if o.Result.Errors != nil && len(o.Result.Errors.Error) > 0 {
				return true, fmt.Errorf("%s: %w: document %q: %s", b.Name(), ErrServer, o.Properties.Docid, rest.Printable(o.Result.Errors.Error[0].Message, 500))
			}
		}
		return false, nil
	})
}

// remove deletes passages, even if some do not exist.
func (b *Backend) remove(ctx context.Context, ids []remote.PassageID) error {
	for from := 0; from < len(ids); from += page {
		some := ids[from:min(from+page, len(ids))]
		keys := make([]string, len(some))
		for i, id := range some {
			keys[i] = uuidOf(id)
		}
		err := rest.Retry(ctx, b.o.Patience, func(int) (again bool, err error) {
			var out struct {
				Results struct {
					Failed  int
					Objects []struct {
						Errors *struct{ Error []struct{ Message string } }
					}
				}
			}
			if err := b.c.Call(ctx, http.MethodDelete, "/v1/batch/objects?consistency_level="+b.o.Consistency, object{
				"match":  object{"class": b.o.Class, "where": object{"path": []string{"id"}, "operator": "ContainsAny", "valueTextArray": keys}},
				"output": "verbose",
			}, &out); err != nil || out.Results.Failed == 0 {
				return false, err
			}
			reason := "no reason given"
			for _, o := range out.Results.Objects {
				if o.Errors != nil && len(o.Errors.Error) > 0 {
					reason = o.Errors.Error[0].Message
				}
			}
			return true, fmt.Errorf("%s: %w: %d passages could not be deleted: %s", b.Name(), ErrServer, out.Results.Failed, rest.Printable(reason, 500))
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
