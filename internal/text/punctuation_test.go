package text_test

import (
	"testing"

	"github.com/lexsem/lexsem/internal/text"
)

// TestPunctuation: words, numbers, signs of other kinds and what cannot be read are no punctuation.
func TestPunctuation(t *testing.T) {
	for word, want := range map[string]bool{
		".": true, "...": true, "+=": true, "$": true, "`": true, "": true, "、": true, " (": true,
		"the": false, "ferry": false, "42": false, "©": false, "渡": false, "x.": false, "\xff": false,
	} {
		if got := text.Punctuation("<"+word+">", 1, 1+len(word)); got != want {
			t.Errorf("%q is punctuation: %v", word, got)
		}
	}
	for _, at := range [][2]int{{-1, 2}, {2, 1}, {1, 99}} {
		if text.Punctuation("...", at[0], at[1]) {
			t.Errorf("%v of a text of 3 bytes is punctuation", at)
		}
	}
}
