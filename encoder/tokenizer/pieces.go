package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Pieces is a Unigram vocabulary of SentencePiece, for models whose files have no tokenizer.json.
type Pieces struct {
	Texts  []string        // by id
	Scores []float32       // log probabilities, by id
	Rules  map[rune]string // what the normaliser puts in the place of single code points
	// Start, End, Pad and Unknown are the ids of <s>, </s>, <pad> and <unk>. A piece "<mask>" at the end is special, too.
	Start, End, Pad, Unknown int32
}

// FromPieces returns the tokenizer of XLM-RoBERTa with these pieces. Sequences of code points of less than six bytes
// are composed by NFC, as in the rules that SentencePiece derives from NFKC. Errors wrap encoder.ErrTokenizer.
func FromPieces(p Pieces) (*Tokenizer, error) {
	n := len(p.Texts)
	if len(p.Scores) != n {
		return nil, refuse("%d pieces have %d scores; fetch the model again", n, len(p.Scores))
	}
	special := []int32{p.Start, p.Pad, p.End, p.Unknown}
	if n > 0 && p.Texts[n-1] == "<mask>" {
		special = append(special, int32(n-1))
	}
	f := file{}
	for _, id := range special {
		if id < 0 || int(id) >= n {
			return nil, refuse("the special token %d is none of %d pieces; fetch the model again", id, n)
		}
		f.AddedTokens = append(f.AddedTokens, asJSON(map[string]any{"id": id, "content": p.Texts[id], "single_word": false,
			"lstrip": p.Texts[id] == "<mask>", "rstrip": false, "normalized": false, "special": true}))
	}
	f.PreTokenizer = asJSON(map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})
	f.PostProcessor = asJSON(map[string]any{"type": "RobertaProcessing", "cls": []any{p.Texts[p.Start], p.Start},
		"sep": []any{p.Texts[p.End], p.End}, "trim_offsets": false, "add_prefix_space": false})
	f.Normalizer = asJSON(map[string]any{"type": "Replace", "pattern": map[string]string{"Regex": " {2,}"}, "content": " "})

	b := newBuilder(n)
	c := composing{}
	h := sha256.New()
	for _, r := range slices.Sorted(maps.Keys(p.Rules)) {
		if !utf8.ValidString(p.Rules[r]) {
			return nil, refuse("what stands for %q is not UTF-8; fetch the model again", r)
		}
		c[r] = []byte(p.Rules[r])
		fmt.Fprintf(h, "%d %q\n", r, p.Rules[r])
	}
	b.normalizers = append(b.normalizers, charsmapOf(c))
	if err := b.normalizer(f.Normalizer, 0); err != nil {
		return nil, err
	}
	scores := make([]float64, n)
	for i, s := range p.Scores {
		scores[i] = float64(s)
	}
	t, err := f.finish(b, "Unigram", func() error { return b.scored(p.Texts, scores, p.Unknown, false) })
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(h, t.digest)
	t.digest = hex.EncodeToString(h.Sum(nil)[:16])
	return t, nil
}

// asJSON is a part of a tokenizer.json.
func asJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers alone go in
	}
	return b
}

// composing holds rules for single code points, and compositions.
type composing map[rune][]byte

func (c composing) lookup(key []byte) ([]byte, bool) {
	r, end := decode(key)
	if s, ok := c[r]; ok {
		return s, true
	}
	for end < len(key) {
		r, n := decode(key[end:])
		if _, ok := c[r]; ok {
			break
		}
		end += n
		if s, ok := joinedLetter(key[:end]); ok {
			return s, true
		}
	}
	return nil, false
}

// joinedLetter returns the one letter into which NFC composes several code points, unless NFKC writes it
// differently.
func joinedLetter(s []byte) ([]byte, bool) {
	one := norm.NFC.Append(make([]byte, 0, 2*utf8.UTFMax), s...)
	if r, n := utf8.DecodeRune(one); n != len(one) || r < utf8.RuneSelf || !norm.NFKC.IsNormal(one) {
		return nil, false
	}
	return one, true
}
