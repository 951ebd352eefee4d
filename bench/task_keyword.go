package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a keyword query (LexSemBridge Sec. 4.2: "3–8 keywords").
const minKeywords, maxKeywords = 3, 8

// Keyword makes queries of 3 to 8 distinct content words of a passage in random order. Each word is
// drawn with a probability proportional to its idf over the corpus. Passages with fewer than 3 are
// left out and counted. In scripts without blanks a word is a pair of characters; see segments.
var _ = registerContentTask("keyword", "3 to 8 content words of each passage, drawn by idf", func(in TaskInput, stop func(string) bool) func(*rand.Rand, int) string {
	words := make([][]string, in.Targets.Len())
	df := map[string]int{}
	found := newSegments(in.Targets.Texts)
	for i, t := range in.Targets.Texts {
		words[i] = contentWords(found, stop, t)
		for _, w := range words[i] {
			df[w]++
		}
	}
	n := float64(in.Targets.Len())
	idf := func(w string) float64 {
		d := float64(df[w])
		return math.Log(1 + (n-d+.5)/(d+.5))
	}
	return func(rng *rand.Rand, i int) string {
		if len(words[i]) < minKeywords {
			return ""
		}
		want := minKeywords + rng.IntN(maxKeywords-minKeywords+1)
		return strings.Join(drawWeighted(rng, words[i], min(want, len(words[i])), idf), " ")
	}
})

// registerContentTask registers a task that makes its queries of the content words of a passage. draw returns the query
// of passage i, or "" if it has too few words. stop names function words.
func registerContentTask(name, doc string, draw func(in TaskInput, stop func(string) bool) func(rng *rand.Rand, i int) string) TaskKind {
	return RegisterTask(TaskKind{
		Name:  name,
		Usage: name,
		Doc:   doc,
		Make: func(arg string, in TaskInput) (*Task, error) {
			if err := noArgument(arg); err != nil {
				return nil, err
			}
			stop, err := in.stop()
			if err != nil {
				return nil, err
			}
			return PerTarget(name, in, draw(in, stop)), nil
		},
	})
}

// contentWords returns the distinct words of s that say something about its
// topic, in order of first occurrence: no function words, no single
// characters.
func contentWords(g segments, stop func(string) bool, s string) []string {
	var out []string
	seen := map[string]struct{}{}
	g.words(s, func(w string) {
		if _, dup := seen[w]; dup || stop(w) || utf8.RuneCountInString(w) < 2 {
			return
		}
		seen[w] = struct{}{}
		out = append(out, w)
	})
	return out
}

// drawWeighted draws n of words without replacement, in proportion to their weights, by the keys
// log(u)/weight of Efraimidis and Spirakis (2006). The words come back in random order.
func drawWeighted(rng *rand.Rand, words []string, n int, weight func(string) float64) []string {
	type keyed struct {
		word string
		key  float64
	}
	keys := make([]keyed, len(words))
	for i, w := range words {
		keys[i] = keyed{w, math.Log(1-rng.Float64()) / weight(w)}
	}
	slices.SortStableFunc(keys, func(a, b keyed) int {
		switch {
		case a.key > b.key:
			return -1
		case a.key < b.key:
			return 1
		}
		return 0
	})
	out := make([]string, n)
	for i := range out {
		out[i] = keys[i].word
	}
	rng.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
