package bench

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/text"
)

// maxPhrase is the length at which a run of content words is cut: a longer run is a list, not a
// phrase.
const maxPhrase = 4

// enoughKeywords is the number of words at which no more phrases are added. Since whole phrases are
// added, queries are longer: 7.0 words on average on 1,997 passages of Wikipedia, and 5.5 with
// Keyword.
const enoughKeywords = 5

// KeywordRake makes queries of the best phrases of a passage by RAKE (Rose et al. 2010). Phrases are
// runs of content words between function words and punctuation. A word scores degree/frequency, a
// phrase the sum of its words.
//
// Phrases are added, best first, until the query has 5 words. A phrase is skipped if it repeats a word
// or makes the query longer than 8. Passages with fewer words give queries of 3 or 4. It uses neither
// randomness nor idf, so it shares nothing with the generator of training queries.
var _ = registerContentTask("keyword-rake", "the best RAKE phrases of each passage, 3 to 8 words", func(in TaskInput, stop func(string) bool) func(*rand.Rand, int) string {
	return func(_ *rand.Rand, i int) string {
		return rakeQuery(stop, in.Targets.Texts[i])
	}
})

func rakeQuery(stop func(string) bool, s string) string {
	phrases := rakePhrases(stop, s)
	freq, degree := map[string]int{}, map[string]int{}
	for _, p := range phrases {
		for _, w := range p {
			freq[w]++
			degree[w] += len(p)
		}
	}
	score := func(p []string) float64 {
		sum := 0.0
		for _, w := range p {
			sum += float64(degree[w]) / float64(freq[w])
		}
		return sum
	}
	// Stable: of equal phrases the one that comes first in the text.
	slices.SortStableFunc(phrases, func(a, b []string) int {
		switch x, y := score(a), score(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return joinPhrases(phrases)
}

// joinPhrases makes a query of phrases, the best first.
func joinPhrases(phrases [][]string) string {
	var out []string
	for _, p := range phrases {
		if len(out) >= enoughKeywords {
			break
		}
		known := func(w string) bool { return slices.Contains(out, w) }
		if len(out)+len(p) <= maxKeywords && !slices.ContainsFunc(p, known) {
			out = append(out, p...)
		}
	}
	if len(out) < minKeywords {
		return ""
	}
	return strings.Join(out, " ")
}

// rakePhrases returns the runs of content words that only blanks separate.
func rakePhrases(stop func(string) bool, s string) [][]string {
	var out [][]string
	var run []string
	end := 0
	flush := func() {
		if len(run) > 0 {
			out = append(out, run)
			run = nil
		}
	}
	for _, w := range text.Words(nil, s) {
		if strings.Trim(s[end:w.Start], " \t") != "" || len(run) == maxPhrase {
			flush()
		}
		end = w.End
		if stop(w.Lower) {
			flush()
			continue
		}
		run = append(run, w.Lower)
	}
	flush()
	return out
}
