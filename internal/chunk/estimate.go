package chunk

import (
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
)

// estimate counts the tokens of an encoder that has no tokenizer here: those of a
// model behind a URL. Letters and digits count one for each four bytes of a run, and
// other visible characters one each. English comes out about a third above what the
// WordPiece of BERT makes of it, 1.35 times on sure-nq and 1.31 on scifact, Chinese
// at .99.
type estimate struct{ encoder.Encoder }

const bytesPerToken = 4

// Tokenize tells where the tokens might be; their ids mean nothing.
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
