package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// PartOfPassage asks with N contiguous words of a passage, drawn uniformly
// (LexSemBridge Sec. 4.2, "part-of-passage"). Words are what stands between
// white space, and the span is the passage's own bytes from the first to the
// last of them. Passages with fewer words are left out and counted.
var PartOfPassage = RegisterTask(TaskKind{
	Name:  "part",
	Usage: "part:N",
	Doc:   "N contiguous words of each passage that has as many",
	Make: func(arg string, in TaskInput) (*Task, error) {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%w: the span length %q is not a number of words from 1; write part:16", ErrUnknownName, arg)
		}
		return perTarget("part:"+strconv.Itoa(n), in, func(rng *rand.Rand, i int) string {
			text := in.Targets.Texts[i]
			words := fields(text)
			if len(words) < n {
				return ""
			}
			at := rng.IntN(len(words) - n + 1)
			return text[words[at].start:words[at+n-1].end]
		}), nil
	},
})

type byteSpan struct{ start, end int }

// fields finds the words of s as strings.Fields does, as byte offsets.
func fields(s string) []byteSpan {
	var out []byteSpan
	start := -1
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case !unicode.IsSpace(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			out = append(out, byteSpan{start, i})
			start = -1
		}
		i += n
	}
	if start >= 0 {
		out = append(out, byteSpan{start, len(s)})
	}
	return out
}
