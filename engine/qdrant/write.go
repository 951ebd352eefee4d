package qdrant

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/points"
	"github.com/lexsem/lexsem/internal/nodes"
)

// point is a passage as the server is given it.
type point struct {
	ID      any            `json:"id"`
	Vector  map[string]any `json:"vector"`
	Payload any            `json:"payload"`
}

// payload is what stands beside the vectors. A text that is not UTF-8, which JSON cannot hold, stands in the field
// of its name with _bytes, too, as it is.
type payload struct {
	ID            string  `json:"id"`
	IDBytes       []byte  `json:"id_bytes,omitempty"`
	Chunk         int     `json:"chunk"`
	Chunks        int     `json:"chunks"`
	Title         string  `json:"title,omitempty"`
	TitleBytes    []byte  `json:"title_bytes,omitempty"`
	Text          string  `json:"text,omitempty"`
	TextBytes     []byte  `json:"text_bytes,omitempty"`
	Whole         string  `json:"whole,omitempty"`
	WholeBytes    []byte  `json:"whole_bytes,omitempty"`
	Start         int     `json:"start,omitempty"`
	Line          int     `json:"line,omitempty"`
	Metadata      string  `json:"metadata,omitempty"`
	MetadataBytes []byte  `json:"metadata_bytes,omitempty"`
	Truncated     int     `json:"truncated,omitempty"`
	Tokens        []int32 `json:"tokens,omitempty"`
	Terms         string  `json:"terms"`
	TermsBytes    []byte  `json:"terms_bytes,omitempty"`
	Length        int     `json:"length"`

	// What filters and counts go by; it is made of the rest.
	Words  []string `json:"words,omitempty"` // wordOf
	Facts  []string `json:"facts,omitempty"` // digests
	Order  []int64  `json:"order,omitempty"` // word.one
	Order2 []int64  `json:"order2,omitempty"`
}

// made are the fields that nobody reads again.
var made = []string{"words", "facts", "order", "order2"}

// without asks for all of a payload but some fields.
func without(fields ...string) object { return object{"exclude": fields} }

// readable is s as JSON holds it, and as bytes where that is not what it was.
func readable(s string) (string, []byte) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return strings.ToValidUTF8(s, "\uFFFD"), []byte(s)
}

// exact undoes readable.
func exact(s string, as []byte) string {
	if as != nil {
		return string(as)
	}
	return s
}

func (p *payload) passageID() engine.PassageID {
	return engine.PassageID{ID: exact(p.ID, p.IDBytes), Chunk: p.Chunk}
}

func pointOf(p engine.Passage) point {
	in := payload{Chunk: p.Chunk, Chunks: p.Chunks, Start: p.Start, Line: p.Line, Truncated: p.Truncated, Tokens: p.Tokens, Length: p.Length}
	in.ID, in.IDBytes = readable(p.ID)
	in.Title, in.TitleBytes = readable(p.Title)
	in.Text, in.TextBytes = readable(p.Text)
	in.Whole, in.WholeBytes = readable(p.Whole)
	in.Metadata, in.MetadataBytes = readable(p.Metadata)
	in.Terms, in.TermsBytes = readable(p.Terms)
	for _, f := range p.Facts {
		in.Facts = append(in.Facts, digest(f))
	}
	for _, w := range wordsOf(p.Facts) {
		in.Order, in.Order2 = append(in.Order, w.one), append(in.Order2, w.other)
	}
	counts := map[string]int{}
	for t := range strings.FieldsSeq(p.Terms) {
		counts[t]++
	}
	for t := range counts {
		in.Words = append(in.Words, wordOf(t))
	}
	slices.Sort(in.Words)
	vectors := map[string]any{dense: floats(p.Vector)}
	if len(counts) > 0 {
		vectors[sparse] = sparseOf(weightsOf(counts, p.Length))
	}
	return point{points.ID(p.PassageID), vectors, in}
}

// floats are written with nine digits, so that a reader that takes them for float64 first, as the server may,
// makes the same float32 of them.
type floats []float32

// MarshalJSON implements json.Marshaler.
func (v floats) MarshalJSON() ([]byte, error) {
	s := append(make([]byte, 0, 13*len(v)+2), '[')
	for i, x := range v {
		if x-x != 0 {
			return nil, fmt.Errorf("component %d of a vector is %v; only finite numbers can be kept", i, x)
		}
		if i > 0 {
			s = append(s, ',')
		}
		s = strconv.AppendFloat(s, float64(x), 'g', 9, 64)
	}
	return append(s, ']'), nil
}

const (
	// longestWord is how many bytes of a term are kept for counts.
	longestWord = 200
	// average is the length of passages, in terms, that weights are made for.
	average = 100
)

// wordOf is what stands for a term where passages are counted that have it: the term, or, where that is long or no
// text to JSON, a digest behind a space, which no term has.
func wordOf(term string) string {
	if len(term) <= longestWord && utf8.ValidString(term) {
		return term
	}
	return " " + digest(term)
}

// indexOf is the place of a term in sparse vectors. Two terms may share one: that changes which passages are
// candidates, and no score.
func indexOf(term string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(term)) // a hash takes all
	return h.Sum32()
}

// weightsOf are the parts of BM25 that a passage of a length has of its terms: the server multiplies them by
// the inverse document frequencies.
func weightsOf(counts map[string]int, length int) map[uint32]float32 {
	weights := make(map[uint32]float32, len(counts))
	for t, n := range counts {
		weights[indexOf(t)] += float32(float64(n) / (float64(n) + 1.2*(1-.75+.75*float64(length)/average)))
	}
	return weights
}

// sparseOf is a sparse vector as the server takes it.
func sparseOf(weights map[uint32]float32) object {
	indices := slices.Sorted(maps.Keys(weights))
	values := make([]float32, len(indices))
	for i, x := range indices {
		values[i] = weights[x]
	}
	return object{"indices": indices, "values": values}
}

// record is a point as the server gives it.
type record struct {
	ID      string
	Payload payload
	Vector  map[string][]float32
}

// check refuses a point that is not the one of its passage: somebody else has put it there.
func (b *Backend) check(id string, of engine.PassageID) error {
	if id != points.ID(of) {
		return fmt.Errorf("%s: %w: point %s is not a passage that lexsem has stored; remove it", b.Name(), engine.ErrCorrupt, nodes.Printable(id))
	}
	return nil
}

func (b *Backend) passage(r record) (p engine.Passage, err error) {
	in := &r.Payload
	p = engine.Passage{
		PassageID: in.passageID(), Chunks: in.Chunks, Title: exact(in.Title, in.TitleBytes), Text: exact(in.Text, in.TextBytes), Start: in.Start, Line: in.Line,
		Whole: exact(in.Whole, in.WholeBytes), Metadata: exact(in.Metadata, in.MetadataBytes), Vector: r.Vector[dense], Terms: exact(in.Terms, in.TermsBytes),
		Length: in.Length, Truncated: in.Truncated, Tokens: in.Tokens,
	}
	if err := b.check(r.ID, p.PassageID); err != nil {
		return p, err
	}
	if p.Facts, err = filter.Facts([]byte(p.Metadata)); err != nil {
		err = fmt.Errorf("%s: %w: metadata of document %q: %v", b.Name(), engine.ErrCorrupt, p.ID, err)
	}
	return p, err
}

// Fetch implements engine.Backend.
func (b *Backend) Fetch(ctx context.Context, ids []engine.PassageID, vectors bool) ([]*engine.Passage, error) {
	out := make([]*engine.Passage, len(ids))
	at := make(map[string][]int, len(ids))
	var keys []string
	for i, id := range ids {
		k := points.ID(id)
		if at[k] == nil {
			keys = append(keys, k)
		}
		at[k] = append(at[k], i)
	}
	for from := 0; from < len(keys); from += page {
		request := object{"ids": keys[from:min(from+page, len(keys))]}
		if vectors {
			request["with_payload"], request["with_vector"] = without(made...), []string{dense}
		} else {
			request["with_payload"], request["with_vector"] = without(append([]string{"whole", "whole_bytes", "tokens"}, made...)...), false
		}
		var found []record
		if err := b.call(ctx, "POST", "/points", request, &found); err != nil {
			return nil, err
		}
		for _, r := range found {
			p, err := b.passage(r)
			if err != nil {
				return nil, err
			}
			for _, i := range at[r.ID] {
				one := p
				out[i] = &one
			}
		}
	}
	return out, ctx.Err()
}

// keeper is what it does by passages.
func (b *Backend) keeper() points.Keeper {
	return points.Keeper{Name: b.Name(), Fetch: b.Fetch, Note: b.note, Remove: b.remove}
}

// Documents implements engine.Backend.
func (b *Backend) Documents(ctx context.Context, ids []string) ([][]engine.Passage, error) {
	return b.keeper().Documents(ctx, ids)
}

// bulk is how many bytes of points are sent at once, about: the server takes 32 MiB.
const bulk = 8 << 20

// Put implements engine.Backend. A document that has fewer chunks than before loses the
// others first, so that none of an older version stays behind whatever fails.
func (b *Backend) Put(ctx context.Context, docs [][]engine.Passage, fresh bool) error {
	if err := b.keeper().Clear(ctx, docs, fresh); err != nil || len(docs) == 0 {
		return err
	}
	var some []point
	size := 0
	for _, ps := range docs {
		for _, p := range ps {
			more := len(p.Title) + len(p.Text) + len(p.Whole) + len(p.Metadata) + 3*len(p.Terms) + 12*len(p.Vector) + 8*len(p.Tokens)
			if size+more > bulk && len(some) > 0 {
				if err := b.store(ctx, some); err != nil {
					return err
				}
				some, size = nil, 0
			}
			some, size = append(some, pointOf(p)), size+more
		}
	}
	return b.store(ctx, some)
}

// change is what is asked of the server where points change: that all copies of a shard which are there have
// changed, in one order, before it answers.
const change = "?wait=true&ordering=medium"

// changed makes a call that changes points. It may be made twice: what it asks for is the same.
func (b *Backend) changed(ctx context.Context, method, what string, in any) error {
	return b.c.Retry(ctx, func(int) (again bool, err error) {
		var out struct{ Status string }
		if err := b.call(ctx, method, what+change, in, &out); err != nil {
			return false, err
		}
		if out.Status != "completed" {
			return true, fmt.Errorf("%s: %w: a write is %q, not completed", b.Name(), ErrServer, nodes.Printable(out.Status))
		}
		return false, nil
	})
}

func (b *Backend) store(ctx context.Context, some []point) error {
	return b.changed(ctx, "PUT", "/points", object{"points": some})
}

// remove deletes passages, whether they are there or not.
func (b *Backend) remove(ctx context.Context, ids []engine.PassageID) error {
	for some := range slices.Chunk(ids, page) {
		keys := make([]string, len(some))
		for i, id := range some {
			keys[i] = points.ID(id)
		}
		if err := b.changed(ctx, "POST", "/points/delete", object{"points": keys}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Delete implements engine.Backend.
func (b *Backend) Delete(ctx context.Context, ids []string) (int, error) {
	return b.keeper().Delete(ctx, ids)
}
