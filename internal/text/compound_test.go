package text

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// TestShortcuts: what is read a byte at a time is what the rules say of every rune.
func TestShortcuts(t *testing.T) {
	for b := range 256 {
		for _, rest := range []string{"", ":", ":/", "//", "\\", ">", "x"} {
			s, want := string([]byte{byte(b)})+rest, 0
			for _, j := range joints {
				if strings.HasPrefix(s, j) {
					want = len(j)
					break
				}
			}
			if got := joint(s); got != want {
				t.Fatalf("the joint of %q has %d bytes, not %d", s, got, want)
			}
		}
	}
	alphabet := []rune("abzABZ09éÉßǅ'’\u0301 _")
	r := rand.New(rand.NewPCG(4, 2))
	for _, language := range []string{"en", "fr"} { // the second elides
		a := analyzerOf(t, Options{Language: language})
		for range 20_000 {
			s := make([]rune, 1+r.IntN(8))
			for i := range s {
				s[i] = alphabet[r.IntN(len(alphabet))]
			}
			sc := scanner{a: a, s: string(s)}
			if got, want := sc.run(0), slowRun(&sc); got != want {
				t.Fatalf("%s: the run of %q is %+v, not %+v", language, string(s), got, want)
			}
		}
	}
}

// slowRun is run(0) by the tables of Unicode alone.
func slowRun(sc *scanner) run {
	out := run{letters: true}
	runes := []rune(sc.s)
	for i, c := range runes {
		apostrophe := (c == '\'' || c == '’') && !sc.a.elides && i > 0 && unicode.IsLetter(runes[i-1]) && i+1 < len(runes) && unicode.IsLetter(runes[i+1])
		if !apostrophe && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) {
			break
		}
		out.letters = out.letters && !unicode.IsDigit(c)
		out.camel = out.camel || i > 0 && unicode.IsLower(runes[i-1]) && unicode.IsUpper(c) ||
			i > 1 && unicode.IsUpper(runes[i-2]) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(c)
		out.end += len(string(c))
	}
	return out
}
