package encoder

import "errors"

// ErrTokenizer is wrapped by errors about a tokenizer description that is damaged or cannot be
// followed.
var ErrTokenizer = errors.New("unusable tokenizer")

// Tokenizer cuts texts into the token ids of a model. Implementations are immutable and safe for
// concurrent use. They take any string: each byte that is not UTF-8 counts as U+FFFD.
type Tokenizer interface {
	// Tokenize returns the ids of text with the model's special tokens around them, at most max ids; 0
	// means no limit. Tokens.Truncated counts the tokens that did not fit. Special tokens are kept
	// under any limit.
	Tokenize(text string, max int) Tokens
	// VocabSize returns |V|; every id is in [0, |V|).
	VocabSize() int
	// Token returns the vocabulary entry of id, or "" if there is none.
	Token(id int32) string
	// Digest identifies vocabulary and normalisation. Tokenizers with the same digest give the same
	// ids for every text.
	Digest() string
}

// WithPrefix tokenizes prefix+text as one string, as a model with an instruction prefix sees it.
// Tokens entirely within the prefix are marked Special and have the span {0, 0}. All other offsets are
// relative to text.
func WithPrefix(t Tokenizer, prefix, text string, max int) Tokens {
	if prefix == "" {
		return t.Tokenize(text, max)
	}
	tokens := t.Tokenize(prefix+text, max)
	cut := int32(len(prefix))
	for i, s := range tokens.Offsets {
		if s.End <= cut {
			tokens.Special[i] = true
			tokens.Offsets[i] = Span{}
			continue
		}
		tokens.Offsets[i] = Span{Start: s.Start - min(s.Start, cut), End: s.End - cut}
	}
	return tokens
}
