package bench

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/text"
)

// KeywordYake makes queries of the best phrases of a passage by YAKE (Campos et al. 2020). A word
// scores by its capitals, the position of its sentences, its frequency, the number of its sentences,
// and the number of its different neighbours. A phrase of up to 3 words scores by the product of its
// words against their sum and its own frequency.
//
// Phrases are added as in KeywordRake, so queries have 3 to 8 words. It reads one passage alone: no
// corpus, no idf, no randomness.
var _ = registerContentTask("keyword-yake", "the best YAKE phrases of each passage, 3 to 8 words", func(in TaskInput, stop func(string) bool) func(*rand.Rand, int) string {
	return func(_ *rand.Rand, i int) string {
		return joinPhrases(yakePhrases(stop, in.Targets.Texts[i]))
	}
})

// yakeLength is the maximum number of words in a phrase.
const yakeLength = 3

// yakeWord counts the features of one word.
type yakeWord struct {
	count, upper, acronym float64
	sentences             []int // distinct ones, in order
	left, right           map[string]float64
	score                 float64 // the lower, the better
}

// yakePhrases returns the phrases of s, the best first, ties in order of
// occurrence.
func yakePhrases(stop func(string) bool, s string) [][]string {
	sentences := yakeSentences(s)
	words := map[string]*yakeWord{}
	for n, chunks := range sentences {
		for c, chunk := range chunks {
			for i, w := range chunk {
				y := words[w.Lower]
				if y == nil {
					y = &yakeWord{left: map[string]float64{}, right: map[string]float64{}}
					words[w.Lower] = y
				}
				y.count++
				switch raw := s[w.Start:w.End]; {
				case utf8.RuneCountInString(raw) > 1 && strings.ToUpper(raw) == raw && strings.ToLower(raw) != raw:
					y.acronym++
				case i+c > 0 && capital(raw): // the first word of a sentence has one anyway
					y.upper++
				}
				if len(y.sentences) == 0 || y.sentences[len(y.sentences)-1] != n {
					y.sentences = append(y.sentences, n)
				}
				if i > 0 {
					y.left[chunk[i-1].Lower]++
					words[chunk[i-1].Lower].right[w.Lower]++
				}
			}
		}
	}
	scoreYakeWords(stop, words, len(sentences))
	return rankYakePhrases(stop, sentences, words)
}

func scoreYakeWords(stop func(string) bool, words map[string]*yakeWord, sentences int) {
	var sum, squares, n, most float64
	for w, y := range words {
		most = max(most, y.count)
		if !stop(w) {
			sum, squares, n = sum+y.count, squares+y.count*y.count, n+1
		}
	}
	mean := sum / max(n, 1)
	deviation := math.Sqrt(max(0, squares/max(n, 1)-mean*mean))
	for _, y := range words {
		casing := max(y.upper, y.acronym) / (1 + math.Log(y.count))
		position := math.Log(math.Log(3 + median(y.sentences)))
		frequency := y.count / (mean + deviation)
		// Words with many different neighbours say little.
		relatedness := 1 + (dispersion(y.left)+dispersion(y.right))*y.count/most
		spread := float64(len(y.sentences)) / float64(sentences)
		y.score = relatedness * position / (casing + frequency/relatedness + spread/relatedness)
	}
}

// dispersion is the share of different words among the neighbours.
func dispersion(neighbours map[string]float64) float64 {
	total := 0.0
	for _, n := range neighbours {
		total += n
	}
	if total == 0 {
		return 0
	}
	return float64(len(neighbours)) / total
}

func median(sorted []int) float64 {
	return float64(sorted[(len(sorted)-1)/2]+sorted[len(sorted)/2]) / 2
}

func rankYakePhrases(stop func(string) bool, sentences [][][]text.Word, words map[string]*yakeWord) [][]string {
	type phrase struct {
		words []string
		count float64
		score float64
	}
	var found []*phrase
	at := map[string]*phrase{}
	for _, chunks := range sentences {
		for _, chunk := range chunks {
			for i := range chunk {
				for n := 1; n <= min(yakeLength, len(chunk)-i); n++ {
					if stop(chunk[i].Lower) || stop(chunk[i+n-1].Lower) {
						continue
					}
					var p []string
					for _, w := range chunk[i : i+n] {
						p = append(p, w.Lower)
					}
					key := strings.Join(p, " ")
					if at[key] == nil {
						at[key] = &phrase{words: p}
						found = append(found, at[key])
					}
					at[key].count++
				}
			}
		}
	}
	for _, p := range found {
		product, sum := 1.0, 0.0
		for _, w := range p.words {
			if stop(w) { // function words inside neither help nor harm
				continue
			}
			product, sum = product*words[w].score, sum+words[w].score
		}
		p.score = product / (p.count * (1 + sum))
	}
	slices.SortStableFunc(found, func(a, b *phrase) int { return cmp.Compare(a.score, b.score) })
	out := make([][]string, len(found))
	for i, p := range found {
		// A query has content words alone, as the other keyword tasks do.
		out[i] = slices.DeleteFunc(p.words, func(w string) bool { return stop(w) || utf8.RuneCountInString(w) < 2 })
	}
	return slices.DeleteFunc(out, func(p []string) bool { return len(p) == 0 })
}

// yakeSentences cuts s into sentences, and each sentence into runs of words that only blanks
// separate.
func yakeSentences(s string) [][][]text.Word {
	var out [][][]text.Word
	var chunks [][]text.Word
	var run []text.Word
	end := 0
	flush := func(sentence bool) {
		if len(run) > 0 {
			chunks, run = append(chunks, run), nil
		}
		if sentence && len(chunks) > 0 {
			out, chunks = append(out, chunks), nil
		}
	}
	for _, w := range text.Words(nil, s) {
		between := s[end:w.Start]
		switch {
		case strings.ContainsAny(between, "!?\n") || strings.Contains(between, ". "):
			flush(true)
		case strings.Trim(between, " \t") != "":
			flush(false)
		}
		end = w.End
		run = append(run, w)
	}
	flush(true)
	return out
}

func capital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}
