package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPatternsByHand holds each pattern that is followed by hand to the same pattern
// as package regexp follows it.
func TestPatternsByHand(t *testing.T) {
	patterns := []string{patternGPT2, patternO200k, patternCLIP, `\s+`, `\d`, ` {2,}`, `[a-c1.]{2,3}`, `\W`, `x`}
	for _, digits := range []string{`\p{N}`, `\p{N}{1,3}`, `\p{N}+`} {
		patterns = append(patterns, patternApostroph+patternLetters+digits+patternRest)
	}
	texts := recorded().texts
	// Marks, letters without case, titlecase, spaces of every kind, signs and breaks.
	pieces := strings.Split("a|b|A|B|s|S|\u017f|re|LL|'|’|\u0301|\u0903|ª|中|ʰ|ǅ|ß|Ж|ж|1|٣|½|_| |  |\t|\n|\r\n|\u00a0|\u3000|.|/|!|\U0001f600|-", "|")
	r := rand.New(rand.NewPCG(5, 5))
	for range 20_000 {
		var s strings.Builder
		for range 1 + r.IntN(8) {
			s.WriteString(pieces[r.IntN(len(pieces))])
		}
		texts = append(texts, s.String())
	}
	for _, pattern := range patterns {
		hand, err := newMatcher(pattern)
		if err != nil {
			t.Fatal(err)
		}
		want, err := compile(strings.NewReplacer(`\p{L}+`, `[\p{L}]+`, `\p{N}+`, `[\p{N}]+`).Replace(pattern)) // }+ may mean two things
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := hand.(*compiled); ok {
			t.Fatalf("%s is not followed by hand", pattern)
		}
		for _, s := range texts {
			text := []byte(strings.ToValidUTF8(s, "\ufffd"))
			for at := 0; ; {
				lo, hi := hand.find(text, at)
				wantLo, wantHi := want.find(text, at)
				if lo != wantLo || hi != wantHi {
					t.Fatalf("%s from %d of %q: %d to %d, want %d to %d", pattern, at, text, lo, hi, wantLo, wantHi)
				}
				if lo < 0 {
					break
				}
				at = hi
			}
		}
	}
}
