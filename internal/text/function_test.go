package text

import "testing"

// TestTells: punctuation, signs and function words of the language tell nothing; names in capitals, numbers, signs of
// other kinds and what cannot be read do.
func TestTells(t *testing.T) {
	a, err := For("en")
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]bool{
		"the": false, "The": false, " of": false, ".": false, "...": false, "+=": false, "$": false, "`": false, "": false, "、": false,
		"ferry": true, "US": true, "IT": true, "A": false, "42": true, "©": true, "der": true, "渡": true, "x.": true,
	} {
		s := "<" + word + ">"
		if got := a.Tells(s, 1, 1+len(word)); got != want {
			t.Errorf("%q tells: %v", word, got)
		}
	}
	for _, at := range [][2]int{{-1, 2}, {2, 1}, {1, 99}} {
		if !a.Tells("the", at[0], at[1]) {
			t.Errorf("%v of a text of 3 bytes tells nothing", at)
		}
	}
}
