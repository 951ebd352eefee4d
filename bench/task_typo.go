package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"unicode"

	"github.com/lexsem/lexsem/internal/bench/random"
	"github.com/lexsem/lexsem/internal/text"
)

// mistypedLetters is the minimum length of a word that gets a typo.
const mistypedLetters = 4

// Typo misspells N words of each judged query by one edit each: a letter is removed, inserted, replaced, or swapped
// with the next. Words have 4 letters or more; a query with fewer such words has fewer typos. The typos depend on the
// seed and the query's id.
var _ = RegisterTask(TaskKind{
	Name:  "typo",
	Usage: "typo:N",
	Doc:   "the judged queries, N words of each mistyped by one edit",
	Make: func(arg string, in TaskInput) (*Task, error) {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%w: the number of mistyped words %q is not a number from 1; write typo:1", ErrUnknownName, arg)
		}
		t, err := MakeTask("query", in)
		if err != nil {
			return nil, err
		}
		t.Queries = slices.Clone(t.Queries)
		for i := range t.Queries {
			q := &t.Queries[i]
			q.Text = mistyped(random.New(in.Seed, "typo", q.ID), q.Text, n)
		}
		return t, nil
	},
})

// mistyped is s with n of its words mistyped.
func mistyped(rng *rand.Rand, s string, n int) string {
	words := slices.DeleteFunc(text.Words(nil, s), func(w text.Word) bool {
		letters := []rune(s[w.Start:w.End])
		return len(letters) < mistypedLetters || slices.ContainsFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) })
	})
	rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	words = words[:min(n, len(words))]
	slices.SortFunc(words, func(a, b text.Word) int { return b.Start - a.Start })
	for _, w := range words { // the last first, so that offsets hold
		s = s[:w.Start] + typo(rng, []rune(s[w.Start:w.End])) + s[w.End:]
	}
	return s
}

// typo is a word with one edit. A new letter is one of the word's own letters.
func typo(rng *rand.Rand, word []rune) string {
	for {
		at, letter := rng.IntN(len(word)), word[rng.IntN(len(word))]
		w := slices.Clone(word)
		switch rng.IntN(4) {
		case 0:
			w = slices.Delete(w, at, at+1)
		case 1:
			w = slices.Insert(w, at, letter)
		case 2:
			w[at] = letter
		default:
			next := min(at+1, len(w)-1)
			w[at], w[next] = w[next], w[at]
		}
		if !slices.Equal(w, word) {
			return string(w)
		}
	}
}
