package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// particles are Korean particles at the end of a word; those that end with another particle come first.
var particles = func() []string {
	all := strings.Fields(`에게서 에서는 에서도 에서의 으로서 으로써 으로는 으로도 까지 부터 에서 에게 한테 으로 처럼 보다 마다 조차 마저 이나 이란 에는 에도
		은 는 이 가 을 를 에 의 로 와 과 도 만`)
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}()

// withParticle is the weight of a query's character pairs that contain part of a particle: a text may have the word
// with another particle, or the apparent particle may belong to the word.
const withParticle = 0.1

// particle is the length of the word at the front of s without its particle; 0 if it has none or is not Hangul.
func particle(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool { return !unicode.Is(unicode.Hangul, r) })
	if end < 0 {
		end = len(s)
	}
	if r, n := utf8.DecodeRuneInString(s[end:]); end < len(s) && classOf(r, n) != classOther {
		return 0
	}
	for _, p := range particles {
		if word, ok := strings.CutSuffix(s[:end], p); ok && word != "" {
			return len(word)
		}
	}
	return 0
}
