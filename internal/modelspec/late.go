package modelspec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
)

// Late describes a model that compares texts token by token: a ColBERT, as PyLate or its first authors write it. The
// Dense modules turn each state of the transformer into a token state, which gets length 1. Such a model has no vector
// of a text: here the mean of the token states is the vector.
//
// PyLate also compares the states of the [MASK] tokens that fill a short query. Where the other tokens do not attend to
// them, which is PyLate's default, they change no other state and are left out here.
type Late struct {
	QueryMark   string   `json:"query_mark"`       // vocabulary entry that stands second in a query; "" for none
	PassageMark string   `json:"passage_mark"`     // the same for a passage
	QueryTokens int      `json:"query_tokens"`     // tokens at which a query is cut; Spec.MaxTokens is the limit of passages
	Filler      string   `json:"filler,omitempty"` // vocabulary entry that fills queries up to QueryTokens; "" for none
	Skip        []string `json:"skip,omitempty"`   // vocabulary entries that are not compared: Special in Tokens
}

// A checkpoint of ColBERT's first authors has this architecture, and its Dense module is a tensor of the model's own
// file.
const (
	stanford     = "HF_ColBERT"
	stanfordHead = "."
)

// punctuation is what is skipped where a folder does not say.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// fileStanford is the configuration of such a checkpoint.
const fileStanford = "artifact.metadata"

// late reads the configuration of a Late model. Keys that it lacks have PyLate's defaults.
func (d *description) late() error {
	c := struct {
		Query       string   `json:"query_prefix"`
		Passage     string   `json:"document_prefix"`
		QueryLength int      `json:"query_length"`
		Length      int      `json:"document_length"`
		Expands     bool     `json:"do_query_expansion"`
		Attends     bool     `json:"attend_to_expansion_tokens"`
		Skip        []string `json:"skiplist_words"`
	}{"[Q] ", "[D] ", 32, 180, true, false, strings.Split(punctuation, "")}
	var err error
	if slices.Contains(d.spec.Dense, stanfordHead) {
		s := struct {
			Query       string `json:"query_token_id"`
			Passage     string `json:"doc_token_id"`
			QueryLength int    `json:"query_maxlen"`
			Length      int    `json:"doc_maxlen"`
			Attends     bool   `json:"attend_to_mask_tokens"`
		}{"[unused0]", "[unused1]", c.QueryLength, c.Length, false}
		_, err = d.read(fileStanford, &s)
		c.Query, c.Passage, c.QueryLength, c.Length, c.Attends = s.Query, s.Passage, s.QueryLength, s.Length, s.Attends
	} else {
		_, err = d.read(filePrompts, &c)
	}
	if err != nil {
		return err
	}
	d.spec.MaxTokens = c.Length
	d.spec.Late = &Late{QueryMark: c.Query, PassageMark: c.Passage, QueryTokens: c.QueryLength, Skip: c.Skip}
	if c.Expands && c.Attends {
		d.spec.Late.Filler, err = d.filler()
	}
	return err
}

// filler returns the token that fills queries: that of masked words or, in decoders, that which ends a text.
func (d *description) filler() (string, error) {
	var c map[string]json.RawMessage
	if _, err := d.read(fileTokenizer, &c); err != nil {
		return "", err
	}
	for _, key := range []string{"mask_token", "eos_token"} {
		var text string
		var entry struct {
			Content string `json:"content"`
		}
		if json.Unmarshal(c[key], &text) != nil && json.Unmarshal(c[key], &entry) == nil {
			text = entry.Content
		}
		if text != "" {
			return text, nil
		}
	}
	return "", d.wrong("queries are filled with tokens, and %s has neither mask_token nor eos_token; name the filler in %s", fileTokenizer, SpecFile)
}

// Before returns what stands before the texts of a role, for a Fingerprint: the mark of a Late model, and the prefix.
func (s Spec) Before(r encoder.Role) string {
	switch {
	case s.Late == nil:
		return s.Prefix(r)
	case r == encoder.Query:
		return s.Late.QueryMark + s.QueryPrefix
	}
	return s.Late.PassageMark + s.PassagePrefix
}

// Tokens returns the function that cuts texts into the tokens that the model sees. The error wraps ErrSpec.
func (s Spec) Tokens(t encoder.Tokenizer) (func(encoder.Role, string) encoder.Tokens, error) {
	if s.Late == nil {
		return func(r encoder.Role, text string) encoder.Tokens {
			return WithPrefix(t, s.Prefix(r), text, s.MaxTokens)
		}, nil
	}
	l := *s.Late
	ids := map[string]int32{}
	for id := range int32(t.VocabSize()) {
		if name := t.Token(id); name != "" {
			ids[name] = id
		}
	}
	for _, name := range []string{l.QueryMark, l.PassageMark, l.Filler} {
		if _, ok := ids[name]; !ok && name != "" {
			return nil, fmt.Errorf("%w: %s marks texts with %q, which its vocabulary lacks; save the model with its tokenizer", ErrSpec, s.Model, name)
		}
	}
	skipped := map[int32]bool{}
	for _, name := range l.Skip {
		if id, ok := ids[name]; ok {
			skipped[id] = true
		}
	}
	return func(r encoder.Role, text string) encoder.Tokens {
		mark, limit := l.PassageMark, s.MaxTokens
		if r == encoder.Query {
			mark, limit = l.QueryMark, min(limit, l.QueryTokens)
		}
		marks := 0
		if mark != "" {
			marks = 1
		}
		k := WithPrefix(t, s.Prefix(r), text, limit-marks)
		for i, id := range k.IDs {
			if skipped[id] {
				k.Special[i], k.Offsets[i] = true, encoder.Span{}
			}
		}
		put := func(at int, name string, n int) {
			k.IDs = slices.Insert(k.IDs, at, slices.Repeat([]int32{ids[name]}, n)...)
			k.Special = slices.Insert(k.Special, at, slices.Repeat([]bool{true}, n)...)
			k.Offsets = slices.Insert(k.Offsets, at, make([]encoder.Span, n)...)
		}
		put(min(1, len(k.IDs)), mark, marks)
		if r == encoder.Query && l.Filler != "" {
			put(len(k.IDs), l.Filler, max(0, limit-len(k.IDs)))
		}
		return k
	}, nil
}
