package bench

import (
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/internal/text"
)

// Operator makes queries with operators: two adjacent content words of a passage in quotes, and a third word with a
// plus. The passage meets both operators. A system without operators gets the three words with their signs. Passages
// without such words are left out and counted.
var _ = registerContentTask("operator", "a phrase in quotes and a required word of each passage", func(in TaskInput, stop func(string) bool) func(*rand.Rand, int) string {
	found := newSegments(in.Targets.Texts)
	return func(rng *rand.Rand, i int) string {
		passage := in.Targets.Texts[i]
		return withOperators(rng, passage, contentWords(found, stop, passage))
	}
})

// withOperators is a query of content words of a passage, "" if it has too few.
func withOperators(rng *rand.Rand, passage string, content []string) string {
	says := make(map[string]bool, len(content))
	for _, w := range content {
		says[w] = true
	}
	words := text.Words(nil, passage)
	var phrases [][2]text.Word
	for i := 1; i < len(words); i++ {
		a, b := words[i-1], words[i]
		if passage[a.End:b.Start] == " " && says[a.Lower] && says[b.Lower] {
			phrases = append(phrases, [2]text.Word{a, b})
		}
	}
	if len(phrases) == 0 {
		return ""
	}
	p := phrases[rng.IntN(len(phrases))]
	content = slices.DeleteFunc(content, func(w string) bool { return w == p[0].Lower || w == p[1].Lower })
	if len(content) == 0 {
		return ""
	}
	return `"` + passage[p[0].Start:p[1].End] + `" +` + content[rng.IntN(len(content))]
}
