package inverted_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// TestScorerEqualsWords: what a Scorer tells of documents elsewhere by their spelled
// terms is what an index of the same documents tells, to the last bit.
func TestScorerEqualsWords(t *testing.T) {
	analyzer, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(19, 1))
	words := strings.Fields("heart attack ERR_CONN_RESET ReadAll HeartAttack reading the of brain blood-pressure a.b.c 東京都 ﷺ vessels x brainVessels.readAll")
	say := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[rng.IntN(len(words))] + " ")
		}
		return b.String()
	}
	x, err := inverted.NewWords(inverted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	corpus := inverted.Corpus{Having: map[string]int{}}
	var spelled []string
	e := x.Edit()
	for id := range 60 {
		title := strings.TrimSpace(say(rng.IntN(5)))
		terms := text.InTitle(analyzer.Terms(nil, strings.TrimSpace(title+" "+say(rng.IntN(30)))), len(title))
		if err := e.Add(uint64(id), terms); err != nil {
			t.Fatal(err)
		}
		corpus.Documents++
		corpus.Length += int64(inverted.Length(terms))
		spelled = append(spelled, inverted.Spell(terms))
		if n := len(strings.Fields(spelled[id])); n != len(terms) {
			t.Fatalf("%d terms are spelled as %d: %q", len(terms), n, spelled[id])
		}
		seen := map[string]bool{}
		for _, term := range terms {
			if s := inverted.SpellTerm(term.Text); !seen[s] {
				seen[s] = true
				corpus.Having[s]++
			}
		}
	}
	x = e.Done()
	for range 200 {
		query := analyzer.Terms(nil, say(rng.IntN(7))+[]string{"", "unheard of"}[rng.IntN(2)])
		named := inverted.Corpus{Documents: corpus.Documents, Length: corpus.Length, Having: map[string]int{}}
		for _, term := range query {
			s := inverted.SpellTerm(term.Text)
			named.Having[s] = corpus.Having[s]
		}
		s, err := inverted.NewScorer(inverted.Options{}, named, query)
		if err != nil {
			t.Fatal(err)
		}
		if s.UB() != x.UB(query) {
			t.Fatalf("%v: limit %v, want %v", query, s.UB(), x.UB(query))
		}
		ids := []uint64{uint64(rng.IntN(60)), uint64(rng.IntN(60)), uint64(rng.IntN(60))}
		want := make([]inverted.Match, len(ids))
		if err := x.Match(t.Context(), want, query, ids); err != nil {
			t.Fatal(err)
		}
		// The recall of neighbours is that of one document of all their terms; 60 is absent.
		of := []inverted.Neighbours{{ids[0], ids[1], 60}, {ids[2], ids[2], ids[0]}, {60, ids[0], ids[1]}}
		here, there := make([]float64, len(of)), make([]float64, len(of))
		at := func(id uint64) string { return append(spelled, "")[id] }
		for i, n := range of {
			here[i] = s.Match(at(n[0])).Presence
			there[i] = here[i]
		}
		if err := errors.Join(x.Around(t.Context(), here, query, of), s.Around(t.Context(), there, of, at)); err != nil {
			t.Fatal(err)
		}
		for i, n := range of {
			alone, together := s.Match(at(n[0])).Presence, s.Match(at(n[0])+" "+at(n[1])+" "+at(n[2])).Presence
			if max(s.Match(at(n[1])).Presence, s.Match(at(n[2])).Presence) > alone {
				together = alone
			}
			if here[i] != together || there[i] != together {
				t.Fatalf("%v: %v around %q is %v, and %v by its spelled terms, want %v", query, n, at(n[0]), here[i], there[i], together)
			}
		}
		var pairs inverted.Pairs
		for i, id := range ids {
			if got := s.Match(spelled[id]); got != want[i] {
				t.Fatalf("%v in %q: %+v, want %+v", query, spelled[id], got, want[i])
			}
			shares, _, err := x.Explain(nil, query, id)
			if err != nil {
				t.Fatal(err)
			}
			for i := range shares {
				shares[i].Term = inverted.SpellTerm(shares[i].Term)
			}
			if got := s.Explain(nil, spelled[id]); !reflect.DeepEqual(got, shares) {
				t.Fatalf("%v in %q: %+v, want %+v", query, spelled[id], got, shares)
			}
			// Numbers of pairs differ between the two, what they have in common does not.
			other := ids[(i+1)%len(ids)]
			a, err := x.PairNumbers(nil, id)
			if err != nil {
				t.Fatal(err)
			}
			b, err := x.PairNumbers(nil, other)
			if err != nil {
				t.Fatal(err)
			}
			if got := common(pairs.Numbers(nil, spelled[id]), pairs.Numbers(nil, spelled[other])); got != common(a, b) {
				t.Fatalf("%q and %q have %v pairs, want %v", spelled[id], spelled[other], got, common(a, b))
			}
		}
	}
}

// common are the sizes of two ascending sets, and of what both have.
func common(a, b []uint64) (n [3]int) {
	n = [3]int{len(a), len(b), 0}
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); ok {
			n[2]++
		}
	}
	return n
}

// TestScorerCountsOfDifferentMoments: more documents with a term than there are, as
// counts taken beside writes may say, give no NaN.
func TestScorerCountsOfDifferentMoments(t *testing.T) {
	query := []text.Term{{Text: "a"}, {Text: "b"}}
	s, err := inverted.NewScorer(inverted.Options{}, inverted.Corpus{Documents: 2, Length: 4, Having: map[string]int{"a": 3}}, query)
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Match("a b"); !(m.BM25 > 0 && m.Coverage < 1 && m.Presence > 0) {
		t.Errorf("%+v", m)
	}
}

func BenchmarkScorer(b *testing.B) {
	query := []text.Term{{Text: "heart"}, {Text: "attack"}, {Text: "risk"}, {Text: "old"}}
	spelled := strings.Repeat("heart w1 w2 w3 attack w4 w5 risk w6 w7 ", 20)
	s, err := inverted.NewScorer(inverted.Options{}, inverted.Corpus{Documents: 1e6, Length: 1e8, Having: map[string]int{"heart": 1000, "attack": 200, "risk": 5000}}, query)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.Match(spelled)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200, "ns/term")
}
