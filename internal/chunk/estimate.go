package chunk

import (
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
)

// estimate estimates the tokens of an encoder without a local tokenizer, such as a remote
// model. It counts one token for each four bytes of a run of letters and digits, and one
// for each other visible character. For English it counts about a third more than BERT's
// WordPiece (1.35 times on sure-nq and 1.31 on scifact), for Chinese 0.99 times as many.
type estimate struct{ encoder.Encoder }

const bytesPerToken = 4

// Tokenize returns the estimated positions of tokens; their ids are meaningless.
func (estimate) Tokenize(_ encoder.Role, text string) encoder.Tokens {
	var t encoder.Tokens
	emit := func(start, end int) {
		t.IDs, t.Special = append(t.IDs, 0), append(t.Special, false)
		t.Offsets = append(t.Offsets, encoder.Span{Start: int32(start), End: int32(end)})
	}
	start := -1
	for i, r := range text {
		n := utf8.RuneLen(r)
		if n < 0 || r == utf8.RuneError { // of invalid bytes each is one
			_, n = utf8.DecodeRuneInString(text[i:])
		}
		word := unicode.In(r, unicode.L, unicode.N, unicode.M)
		if start >= 0 && (!word || i+n-start > bytesPerToken) {
			emit(start, i)
			start = -1
		}
		switch {
		case word && start < 0:
			start = i
		case !word && !unicode.IsSpace(r):
			emit(i, i+n)
		}
	}
	if start >= 0 {
		emit(start, len(text))
	}
	return t
}
