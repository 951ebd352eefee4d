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
