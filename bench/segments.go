package bench

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/text"
)

// standsAlone reports whether a character belongs to a script without blanks. Marks belong to the character before
// them.
func standsAlone(r rune) bool {
	return text.Dense(r) && !unicode.Is(unicode.Hangul, r) && !unicode.IsMark(r)
}

// segments finds the words of passages for probes. In a script without blanks a word is a pair of characters:
// of overlapping pairs, the pair in more passages is taken first. Pairs that only one passage has are not
// words.
type segments struct {
	df map[string]int // passages with a pair
}

func newSegments(passages []string) segments {
	g := segments{df: map[string]int{}}
	for _, p := range passages {
		seen := map[string]struct{}{}
		eachRun(p, func(_ string, chars []byteSpan) {
			for i := range max(0, len(chars)-1) {
				seen[p[chars[i].start:chars[i+1].end]] = struct{}{}
			}
		})
		for pair := range seen {
			g.df[pair]++
		}
	}
	return g
}

// words calls fn for the words of s in their order, in lower case.
func (g segments) words(s string, fn func(word string)) {
	eachRun(s, func(word string, chars []byteSpan) {
		if word != "" {
			fn(word)
			return
		}
		var pairs []int // by their first character
		for i := range max(0, len(chars)-1) {
			if g.df[s[chars[i].start:chars[i+1].end]] > 1 {
				pairs = append(pairs, i)
			}
		}
		slices.SortStableFunc(pairs, func(a, b int) int {
			return cmp.Compare(g.df[s[chars[b].start:chars[b+1].end]], g.df[s[chars[a].start:chars[a+1].end]])
		})
		taken := make([]bool, len(chars)) // whether a pair begins there
		for _, i := range pairs {
			if !taken[i] && !taken[i+1] && (i == 0 || !taken[i-1]) {
				taken[i] = true
			}
		}
		for i, begins := range taken {
			if begins {
				fn(s[chars[i].start:chars[i+1].end])
			}
		}
	})
}

// eachRun calls fn for each word of s, in lower case, and for each run of characters of scripts without
// blanks, with the positions of its characters in s.
func eachRun(s string, fn func(word string, chars []byteSpan)) {
	for _, w := range text.Words(nil, s) {
		plain, chars := w.Start, []byteSpan(nil)
		flush := func(end int) {
			if chars != nil {
				fn("", chars)
				chars = nil
			} else if plain < end {
				for _, part := range text.Words(nil, s[plain:end]) {
					fn(part.Lower, nil)
				}
			}
			plain = end
		}
		for i := w.Start; i < w.End; {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case standsAlone(r):
				if chars == nil {
					flush(i)
				}
				chars = append(chars, byteSpan{i, i + n})
			case chars != nil && unicode.IsMark(r):
				chars[len(chars)-1].end = i + n
			case chars != nil:
				flush(i)
			}
			i += n
		}
		flush(w.End)
	}
}
