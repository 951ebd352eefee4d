package tokenizer

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// TestFinderStarts: where a token may begin is found wherever it stands.
func TestFinderStarts(t *testing.T) {
	for _, patterns := range [][]string{{"<s>"}, {"<s>", "[CLS]"}, {"<s>", "[CLS]", "  "}} {
		var tokens []addedToken
		starts := map[byte]bool{}
		for _, p := range patterns {
			tokens = append(tokens, addedToken{pattern: p})
			starts[p[0]] = true
		}
		f := newFinder(unicodeProperties(), tokens)
		for seed := range uint64(300) {
			rng := rand.New(rand.NewPCG(seed, 1))
			text := bytes.Repeat([]byte("a"), rng.IntN(20_000))
			for range rng.IntN(3) {
				if len(text) > 0 {
					text[rng.IntN(len(text))] = "<[ "[rng.IntN(3)]
				}
			}
			want := 0
			for want < len(text) && !starts[text[want]] {
				want++
			}
			if got := f.start(text); got != want {
				t.Fatalf("%q: from %d of %d bytes, want %d", patterns, got, len(text), want)
			}
		}
	}
}

// TestFinderIsLinear: a byte that begins a token, but is nowhere in the text, is not looked for again
// and again to its end.
func TestFinderIsLinear(t *testing.T) {
	late := time.AfterFunc(2*time.Minute, func() { panic("still looking") })
	defer late.Stop()
	f := newFinder(unicodeProperties(), []addedToken{{pattern: "<s>"}, {pattern: "[CLS]"}})
	if found, _, _, _ := f.next(bytes.Repeat([]byte("["), 8<<20), 0, 0); found != nil {
		t.Errorf("found %+v", found)
	}
}
