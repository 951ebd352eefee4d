package sage

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// change is a way to alter a text.
type change struct {
	name  string
	apply func(rng *rand.Rand, s string) string
}

// superficial changes keep the meaning, semantic ones do not (Sec. A.3).
var (
	superficial = []change{{"capitals", randomCapitals}, {"deletion", deleteCharacters}, {"numerization", numerize}}
	semantic    = []change{{"negation", negate}, {"sentence-shuffle", shuffleSentences}, {"word-shuffle", shuffleWords}}
)

// The places where content is inserted or removed, and how much of it, as
// shares of the tokens (Sec. A.4).
var (
	places    = []float64{0, .5, 1}
	insertion = []float64{.15, .5, 1}
	removal   = []float64{.15, .5, .9}
)

// randomCapitals makes a quarter of the characters upper case.
func randomCapitals(rng *rand.Rand, s string) string {
	return strings.Map(func(r rune) rune {
		if rng.IntN(4) == 0 {
			return unicode.ToUpper(r)
		}
		return r
	}, s)
}

// deleteCharacters removes every tenth character; white space is counted and
// stays, so that words remain apart.
func deleteCharacters(_ *rand.Rand, s string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		if n++; n%10 == 0 && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

var digits = strings.NewReplacer("e", "3", "i", "1", "a", "4", "o", "0", "E", "3", "I", "1", "A", "4", "O", "0")

// numerize writes e, i, a, o as 3, 1, 4, 0.
func numerize(_ *rand.Rand, s string) string { return digits.Replace(s) }

// auxiliaries are the verbs that a following "not" negates.
var auxiliaries = []string{"is", "are", "was", "were", "am", "be", "been", "has", "have", "had", "do", "does", "did",
	"can", "could", "will", "would", "shall", "should", "may", "might", "must"}

// negate negates sentences: it removes "not" after an auxiliary verb, or inserts it if
// there is none, and removes n't. A text without such verbs gets a denial at its start.
func negate(_ *rand.Rand, s string) string {
	words := strings.Split(s, " ")
	var out []string
	changed := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		bare := strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }))
		bare = strings.ReplaceAll(bare, "’", "'")
		switch {
		case bare == "cannot":
			out, changed = append(out, strings.Replace(w, "not", "", 1)), true
		case strings.HasSuffix(bare, "n't"):
			w = strings.Replace(strings.Replace(w, "n't", "", 1), "n’t", "", 1)
			out, changed = append(out, w), true
		case slices.Contains(auxiliaries, bare) && bare == strings.ToLower(w):
			out, changed = append(out, w), true
			if i+1 < len(words) && strings.ToLower(words[i+1]) == "not" {
				i++
			} else {
				out = append(out, "not")
			}
		default:
			out = append(out, w)
		}
	}
	if !changed {
		return "It is not true that " + s
	}
	return strings.Join(out, " ")
}

// shuffleSentences puts the sentences in random order; a single sentence stays.
func shuffleSentences(rng *rand.Rand, s string) string {
	parts := sentences(s)
	rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return strings.Join(parts, " ")
}

// shuffleWords puts the words in random order.
func shuffleWords(rng *rand.Rand, s string) string {
	words := strings.Fields(s)
	rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words, " ")
}

// sentences cuts s after . ! or ? followed by white space.
func sentences(s string) []string {
	var out []string
	start := 0
	for i, r := range s {
		if !unicode.IsSpace(r) || i == 0 {
			continue
		}
		if last, _ := utf8.DecodeLastRuneInString(s[:i]); !strings.ContainsRune(".!?", last) {
			continue
		}
		if part := strings.TrimSpace(s[start:i]); part != "" {
			out = append(out, part)
		}
		start = i
	}
	if part := strings.TrimSpace(s[start:]); part != "" {
		out = append(out, part)
	}
	return out
}

// insert puts filler of share times the tokens of s at a place: 0 is the start of s and 1
// its end, counted in characters.
func insert(rng *rand.Rand, s string, share, place float64) string {
	needle := filler(rng, max(1, int(share*float64(len(tokenSpans(s)))+.5)))
	runes := []rune(s)
	at := int(place * float64(len(runes)))
	return strings.TrimSpace(string(runes[:at]) + " " + needle + " " + string(runes[at:]))
}

// remove cuts a run of tokens out of s. share is its length as a share of all tokens;
// place 0 is the start of s, place 1 its end.
func remove(s string, share, place float64) string {
	tokens := tokenSpans(s)
	n := int(share*float64(len(tokens)) + .5)
	at := int(place * float64(len(tokens)-n))
	return strings.TrimSpace(strings.Join(tokens[:at], "") + strings.Join(tokens[at+n:], ""))
}
