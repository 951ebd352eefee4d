package tokenizer

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// TestForms holds each form to package norm, on strings of what forms change and
// of letters beside it.
func TestForms(t *testing.T) {
	p := unicodeProperties()
	var some []rune
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if p.of(r)&(isDecomposes|isOrdered) != 0 && !(hangulBase <= r && r < hangulEnd) {
			some = append(some, r)
		}
	}
	awkward := []rune("aeoAKq 1.!中日अরকகᄀ까ᅵᆨᇂ가각힣क\u093c\u094d\u09be\u09d7\u0b57\u0bbe\u0cc2\u0cd5\u0dcf\u102e\u1b35\u0301\u0307\u0308\u0323\u0327\u0338\u0345\u0344\u0f73éếǖṩÅﬁ①½\ufdfaｶ\uff9e")
	r := rand.New(rand.NewPCG(7, 7))
	for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
		f := newUnicodeForm(p, form)
		check := func(text string) {
			var dst, src buffer
			src.load(text, 0, len(text))
			got := &src
			if f.normalize(&dst, &src) {
				got = &dst
			}
			if want := f.form.Bytes([]byte(text)); !bytes.Equal(got.text, want) || len(got.from) != len(want) {
				t.Fatalf("form %d of %+q: %+q, want %+q", f.form, text, got.text, want)
			}
			for i := range got.text { // what is aligned with a code point is aligned with its start
				if from := int(got.from[i]); from >= len(text) || !utf8.RuneStart(text[from]) {
					t.Fatalf("form %d of %+q: byte %d is from %d", f.form, text, i, from)
				}
			}
		}
		for _, c := range some {
			check(string(c))
			check("a" + string(c) + "b")
		}
		for range 60_000 {
			var text []rune
			for range 1 + r.IntN(9) {
				if r.IntN(4) == 0 {
					text = append(text, some[r.IntN(len(some))])
				} else {
					text = append(text, awkward[r.IntN(len(awkward))])
				}
			}
			check(string(text))
		}
	}
}
