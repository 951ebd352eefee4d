package tokenizer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/regular"
)

const (
	// maxFile bounds a tokenizer.json; that of Gemma, among the largest, has 33 MB.
	maxFile = 64 << 20
	// maxDepth bounds sequences of sequences, maxParts their parts.
	maxDepth, maxParts = 8, 64
)

// Load reads a tokenizer.json; see Parse.
func Load(path string) (*Tokenizer, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open tokenizer: %w", err)
	}
	defer f.Close()
	t, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Parse reads a tokenizer.json of at most 64 MiB. It ignores truncation and padding. Damage, and
// anything that cannot be followed exactly, is an error that wraps encoder.ErrTokenizer and names the
// cause.
func Parse(r io.Reader) (*Tokenizer, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	if len(b) > maxFile {
		return nil, refuse("longer than %d bytes; is this a tokenizer.json?", maxFile)
	}
	if !utf8.Valid(b) {
		return nil, refuse("not UTF-8; fetch the model again")
	}
	f := file{size: len(b)}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, refuse("%v; fetch the model again", err)
	}
	var kind struct{ Type string }
	m := lists(f.Model)
	if err := json.Unmarshal(m.rest, &kind); err != nil {
		return nil, refuse("model: %v; fetch the model again", err)
	}
	return f.build(cmp.Or(kind.Type, "WordPiece"), m) // early files of BERT name no type
}

// refuse is an error that wraps ErrTokenizer.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", encoder.ErrTokenizer, fmt.Sprintf(format, args...))
}

// unsupported refuses a setting by its name.
func unsupported(name string, value any) error {
	return refuse("%s is %.200q, which is not supported; use another model", name, fmt.Sprint(value))
}

// file is a tokenizer.json.
type file struct {
	size          int // bytes
	Version       string
	AddedTokens   []json.RawMessage `json:"added_tokens"`
	Normalizer    json.RawMessage
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         json.RawMessage
}

// strict decodes a part of a file and refuses settings that v does not have.
func strict(name string, raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return refuse("%s: %v, which is not supported; use another model", name, err)
	}
	return nil
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// builder is a tokenizer in the making.
type builder struct {
	*Tokenizer
	ids     map[string]int32 // of the model's entries
	entries int              // of the model
	raw     bool             // the last pre-tokenizer is ByteLevel
	unk     int32            // -1 for none
	parts   int
	frames  int   // that the post-processor puts around texts
	limit   int32 // of ids: a single one could ask for any amount of memory
}

func (f *file) build(kind string, m modelJSON) (*Tokenizer, error) {
	b := newBuilder(len(f.Model) + len(f.AddedTokens))
	if err := b.normalizer(f.Normalizer, 0); err != nil {
		return nil, err
	}
	return f.finish(b, kind, func() error { return b.readModel(kind, m) })
}

func newBuilder(limit int) *builder {
	return &builder{Tokenizer: &Tokenizer{properties: unicodeProperties(), words: &cache{}}, unk: -1, limit: int32(limit)}
}

// finish reads the parts after the normalizer; model adds the model.
func (f *file) finish(b *builder, kind string, model func() error) (*Tokenizer, error) {
	for _, step := range []func() error{
		func() error { return b.preTokenizer(f.PreTokenizer, 0) },
		model,
		func() error { return b.added(f.AddedTokens) },
		func() error { return b.postProcessor(f.PostProcessor, 0) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	t := b.Tokenizer
	for _, id := range append(append([]int32(nil), t.head...), t.tail...) {
		if id < 0 || int(id) >= len(t.vocab) {
			return nil, refuse("post_processor has the id %d, the vocabulary %d entries; fetch the model again", id, len(t.vocab))
		}
		t.special[id] = true
	}
	if b.unk >= 0 {
		t.special[b.unk] = true
	}
	if len(t.trims) > 0 {
		if kind == "Unigram" {
			return nil, unsupported("post_processor.trim_offsets", "true with Unigram")
		}
		t.white = make([][2]uint8, len(t.vocab))
		for id, w := range t.vocab {
			before, behind := t.blanksAround([]byte(w))
			t.white[id] = [2]uint8{uint8(min(before, math.MaxUint8)), uint8(min(behind, math.MaxUint8))}
		}
	}
	if b.frames != 1 {
		t.pairErr = refuse("post_processor does not tell how two texts are joined; use another model")
	}
	for _, part := range [][]modelspec.TypedToken{t.pair.Before, t.pair.Between, t.pair.Behind} {
		for _, s := range part {
			if s.ID < 0 || int(s.ID) >= len(t.vocab) {
				return nil, refuse("post_processor has the id %d, the vocabulary %d entries; fetch the model again", s.ID, len(t.vocab))
			}
		}
	}
	t.pair.Head, t.pair.Tail = len(t.head), len(t.tail)
	if t.digest = f.bertDigest(b); t.digest == "" {
		t.digest = f.digest(t)
	}
	if kind == "WordPiece" || kind == "Unigram" {
		t.unwritten()
	}
	t.scans.New = func() any { return &scan{t: t} }
	return t, nil
}

// digest is a digest of everything that determines ids.
func (f *file) digest(t *Tokenizer) string {
	h := sha256.New()
	fmt.Fprintf(h, "tokenizer 1 vocab=%d\n", len(t.vocab))
	sumVocab(h, t.vocab)
	part := func(name string, raw json.RawMessage) {
		var v any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if absent(raw) || d.Decode(&v) != nil {
			v = nil
		}
		if m, ok := v.(map[string]any); ok {
			delete(m, "decoder")
		}
		sorted, _ := json.Marshal(v) // v came out of JSON
		fmt.Fprintf(h, "%s %d %s\n", name, len(sorted), sorted)
	}
	part("normalizer", f.Normalizer)
	part("pre_tokenizer", f.PreTokenizer)
	part("post_processor", f.PostProcessor)
	for _, a := range f.AddedTokens {
		part("added", a)
	}
	fmt.Fprintf(h, "model %s\n", t.modelSum())
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// part counts a part at this depth of sequences, and returns its type.
func (b *builder) part(name string, raw json.RawMessage, depth int) (kind string, err error) {
	if b.parts++; depth > maxDepth || b.parts > maxParts {
		return "", refuse("%s has more than %d parts, or more than %d within each other", name, maxParts, maxDepth)
	}
	var v struct{ Type string }
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", refuse("%s: %v; fetch the model again", name, err)
	}
	return v.Type, nil
}

// sequence reads the parts of a sequence at some depth.
func sequence(parts []json.RawMessage, depth int, read func(raw json.RawMessage, depth int) error) error {
	for _, raw := range parts {
		if err := read(raw, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// added reads the added tokens. Their ids follow from the model, as in the reference; a file with
// other ids is refused.
func (b *builder) added(list []json.RawMessage) error {
	next := int32(b.entries)
	var raw, normal []addedToken
	taken := map[string]bool{}
	size := 0
	for _, r := range list {
		var j struct {
			ID                                  int32
			Content                             string
			SingleWord                          bool `json:"single_word"`
			Lstrip, Rstrip, Normalized, Special bool
		}
		if err := strict("added_tokens", r, &j); err != nil {
			return err
		}
		id, known := b.ids[j.Content]
		if !known {
			id = next
			next++
		}
		if j.Content == "" || taken[j.Content] {
			return refuse("added token %q is empty or there twice; fetch the model again", j.Content)
		}
		taken[j.Content] = true
		if j.ID != id {
			return refuse("added token %q has the id %d where %d was to be expected; fetch the model again", j.Content, j.ID, id)
		}
		if !known && int(id) < len(b.vocab) && b.vocab[id] != "" {
			return refuse("%q and %q have the id %d; fetch the model again", b.vocab[id], j.Content, id)
		}
		if err := b.name(j.Content, id); err != nil {
			return err
		}
		b.special[id] = j.Special
		a := addedToken{Content: j.Content, ID: id, Special: j.Special, Normalized: j.Normalized, SingleWord: j.SingleWord, Lstrip: j.Lstrip, Rstrip: j.Rstrip, pattern: j.Content}
		if j.Normalized {
			a.pattern = b.normalize(j.Content)
			normal = append(normal, a)
		} else {
			raw = append(raw, a)
		}
		size += len(a.pattern)
	}
	if size > maxEntryBytes {
		return refuse("added_tokens have %d bytes; at most %d are allowed", size, maxEntryBytes)
	}
	for _, s := range []struct {
		tokens []addedToken
		into   **finder
	}{{raw, &b.Tokenizer.raw}, {normal, &b.normal}} {
		patterns := map[string]bool{}
		for _, a := range s.tokens {
			if a.pattern == "" || patterns[a.pattern] {
				return refuse("added token %q is empty or the same as another when it is normalised; use another model", a.Content)
			}
			patterns[a.pattern] = true
		}
		if len(s.tokens) > 0 {
			*s.into = newFinder(b.properties, s.tokens)
		}
	}
	return nil
}

// name gives an id its entry.
func (b *builder) name(text string, id int32) error {
	if id < 0 || id >= b.limit {
		return refuse("%.200q has the id %d, which is negative or more than a file of this length can have; fetch the model again", text, id)
	}
	for int(id) >= len(b.vocab) {
		b.vocab, b.special = append(b.vocab, ""), append(b.special, false)
	}
	b.vocab[id] = text
	return nil
}

// normalize applies the normalizers to text.
func (b *builder) normalize(text string) string {
	var x, y buffer
	src, dst := &x, &y
	src.load(text, 0, len(text))
	for _, n := range b.normalizers {
		dst.reset()
		if n.normalize(dst, src) {
			src, dst = dst, src
		}
		if len(src.text) == 0 {
			break
		}
	}
	return string(src.text)
}
