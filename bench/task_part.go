package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/train"
)

// PartOfPassage makes queries of N consecutive words of a passage, drawn uniformly (LexSemBridge Sec.
// 4.2, "part-of-passage"). Words are separated by white space, each character of a script without blanks is one, and the query is the passage's bytes
// from the first to the last word. Passages with fewer words are left out and counted. With
// Options.Clean, the words come from the part that fits leave alone.
var _ = RegisterTask(TaskKind{
	Name:  "part",
	Usage: "part:N",
	Doc:   "N contiguous words of each passage that has as many",
	Make: func(arg string, in TaskInput) (*Task, error) {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%w: the span length %q is not a number of words from 1; write part:16", ErrUnknownName, arg)
		}
		if in.Clean && n < train.CleanRun {
			return nil, fmt.Errorf("%w: part:%d as a clean probe: shorter spans than part:%d are not kept out of training; ask for longer ones", ErrOption, n, train.CleanRun)
		}
		return PerTarget("part:"+strconv.Itoa(n), in, func(rng *rand.Rand, i int) string {
			if in.Clean {
				return cleanSpan(rng, in.Targets.Texts[i], n)
			}
			passage := in.Targets.Texts[i]
			words := fields(passage)
			if len(words) < n {
				return ""
			}
			at := rng.IntN(len(words) - n + 1)
			return passage[words[at].start:words[at+n-1].end]
		}), nil
	},
})

// cleanSpan draws n consecutive words from the part of a passage that fits do not use, or returns "" if it
// has too few. A span with fewer than train.CleanRun words of letters and digits is not drawn, since it may
// occur elsewhere in the passage.
func cleanSpan(rng *rand.Rand, passage string, n int) string {
	from, to := train.Reserved(passage)
	held := passage[from:to]
	words := fields(held)
	var spans []string
	for at := range len(words) - n + 1 {
		span := held[words[at].start:words[at+n-1].end]
		if len(text.Words(nil, span)) >= train.CleanRun {
			spans = append(spans, span)
		}
	}
	if len(spans) == 0 {
		return ""
	}
	return spans[rng.IntN(len(spans))]
}

type byteSpan struct{ start, end int }

// fields finds the words of s as strings.Fields does, and the characters of scripts without blanks, as byte offsets.
func fields(s string) []byteSpan {
	var out []byteSpan
	start, alone := -1, false
	end := func(i int) {
		if start >= 0 {
			out = append(out, byteSpan{start, i})
		}
		start, alone = -1, false
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			end(i)
		case standsAlone(r):
			end(i)
			start, alone = i, true
		case start < 0:
			start = i
		case alone && (unicode.IsLetter(r) || unicode.IsDigit(r)): // a word beside it; its marks and punctuation belong to it
			end(i)
			start = i
		}
		i += n
	}
	end(len(s))
	return out
}
