package bench

import (
	"strings"

	"github.com/lexsem/lexsem/internal/text"
)

// ownPassages returns the ids of queries that are also passages of the corpus, as in ArguAna and Quora.
// BEIR leaves the passage with a query's id out of the query's ranking. Ids also agree by chance, where
// queries and passages are both numbered. So a query counts as a passage if the passage with its id has
// nearly the same words, or if this holds for half of the queries that share an id with a passage. A
// passage that is judged relevant to the query with its own id stays in the ranking.
func (c *Corpus) ownPassages() map[string]struct{} {
	texts := make(map[string]string, len(c.Queries))
	for _, q := range c.Queries {
		texts[q.ID] = q.Text
	}
	shared, alike := map[string]struct{}{}, map[string]struct{}{}
	for _, p := range c.Passages {
		query, ok := texts[p.ID]
		if !ok || c.Qrels[p.ID][p.ID] > 0 {
			continue
		}
		shared[p.ID] = struct{}{}
		if sameWords(query, p.Body) || sameWords(query, p.Text()) {
			alike[p.ID] = struct{}{}
		}
	}
	switch {
	case len(alike) == 0:
		return nil
	case 2*len(alike) >= len(shared):
		return shared
	}
	return alike
}

// sameWords reports whether the words that two texts share are at least six tenths of all their words.
func sameWords(a, b string) bool {
	of := map[string]int{}
	for i, s := range []string{a, b} {
		for _, w := range text.Words(nil, s) {
			of[w.Lower] |= 1 << i
		}
	}
	if len(of) == 0 {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	both := 0
	for _, in := range of {
		if in == 3 {
			both++
		}
	}
	return 10*both >= 6*len(of)
}
