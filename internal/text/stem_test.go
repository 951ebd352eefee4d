package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/blevesearch/snowballstem"
)

// TestStemsAreRemembered: a stem is Snowball's, met for the first time, again, behind others
// that took its slot, and beside other goroutines; in every language.
func TestStemsAreRemembered(t *testing.T) {
	begins, forms := []string{"gener", "happ", "cit", "fl", "run", "naïv", "straß", "читa", "y", "", strings.Repeat("a", 300)}, []string{"y", "ies", "ied", "ing", "ation", "ally", "s", "e", "ен", "ость", "ungen", "'s", "iness", ""}
	var words []string
	for _, b := range begins {
		for _, f := range forms {
			for i := range 40 {
				words = append(words, b+strings.Repeat("n", i%3)+f+fmt.Sprint(i)[:i%2])
			}
		}
	}
	prefixes, others := 0, 0
	for language, l := range languages {
		if l.stem == nil {
			continue
		}
		s := newStemmer(l.stem, map[string]struct{}{"runs": {}, words[1]: {}})
		want := make([]string, len(words))
		for i, w := range words {
			if w == "runs" || w == words[1] {
				continue // of a function word there is no stem
			}
			env := snowballstem.NewEnv(w)
			l.stem(env)
			if want[i] = env.Current(); want[i] == "" {
				want[i] = w
			}
			if strings.HasPrefix(w, want[i]) {
				prefixes++
			} else {
				others++
			}
		}
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 1))
				for range 8 * len(words) {
					i := r.IntN(len(words))
					if got := s.of(words[i]); got != want[i] {
						t.Errorf("%s: the stem of %q is %q, want %q", language, words[i], got, want[i])
						return
					}
				}
			})
		}
		all.Wait()
	}
	if prefixes == 0 || others == 0 {
		t.Errorf("%d stems are how their words begin and %d are not: the test shows nothing of one kind", prefixes, others)
	}
}
