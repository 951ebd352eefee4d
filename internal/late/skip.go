package late

import (
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/text"
)

// Skip marks the tokens of a passage that get no code: special ones and punctuation. If none would be left, punctuation
// gets codes.
func Skip(passage string, t encoder.Tokens) []bool {
	skip, left := slices.Clone(t.Special), false
	for i := range skip {
		skip[i] = skip[i] || Punctuation(passage, t, i)
		left = left || !skip[i]
	}
	if !left {
		return t.Special
	}
	return skip
}

// Punctuation reports whether token i of a text is punctuation. It is false if the tokens have no offsets.
func Punctuation(s string, t encoder.Tokens, i int) bool {
	return i < len(t.Offsets) && text.Punctuation(s, int(t.Offsets[i].Start), int(t.Offsets[i].End))
}
