package inverted_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// placed is a text as words, each with its pieces, and the places of all terms.
type placed struct {
	words  []string
	pieces [][]string // of each word; those before the first word are words[0]'s, which is ""
	at     map[string][]int
	title  map[string]bool
	heads  [][]string // of each word of the title, itself and its pieces; of what stands before them heads[0]
}

func place(terms []text.Term) placed {
	p := placed{words: []string{""}, pieces: [][]string{nil}, at: map[string][]int{}, title: map[string]bool{}, heads: [][]string{{""}}}
	for _, t := range terms {
		last := len(p.words) - 1
		place := last
		switch {
		case !t.Beside:
			p.words, p.pieces = append(p.words, t.Text), append(p.pieces, nil)
			place++
		case strings.ContainsAny(t.Text, "_.="):
			place++ // a compound comes before its words
		default:
			p.pieces[last] = append(p.pieces[last], t.Text)
		}
		p.at[t.Text] = append(p.at[t.Text], place)
		if t.Title {
			p.title[t.Text] = true
			if n := len(p.heads) - 1; !t.Beside {
				p.heads = append(p.heads, []string{t.Text})
			} else if place == last {
				p.heads[n] = append(p.heads[n], t.Text)
			}
		}
	}
	return p
}

// asked is the share of the title's words that a query has; a word of pieces counts as its pieces.
func (p placed) asked(query map[string]float64) float64 {
	var all, has float64
	for i, word := range p.heads {
		_, whole := query[word[0]]
		units := word[min(1, len(word)-1):]
		for _, u := range units {
			if _, ok := query[u]; ok || whole {
				has++
			}
		}
		if all += float64(len(units)); i == 0 {
			all-- // it is no word
		}
	}
	return min(1, has/max(all, 1))
}

// pairs are the neighbours, in any order.
func (p placed) pairs() map[[2]string]bool {
	out := map[[2]string]bool{}
	for i, word := range p.words {
		inner := p.pieces[i]
		for j := range max(len(inner)-1, 0) {
			out[[2]string{inner[j], inner[j+1]}] = true
		}
		if i == 0 {
			continue
		}
		left, right := []string{p.words[i-1]}, []string{word}
		if n := len(p.pieces[i-1]); n > 0 {
			left = append(left, p.pieces[i-1][n-1])
		}
		if len(inner) > 0 {
			right = append(right, inner[0])
		}
		for _, a := range left {
			for _, b := range right {
				if a != "" {
					out[[2]string{a, b}] = true
				}
			}
		}
	}
	return out
}

// plainMatch is how a query matches a document, written down plainly: Presence, Near, Pair and Title.
func plainMatch(query, doc []text.Term, idf func(string) float64) (m inverted.Match) {
	weights, all := map[string]float64{}, 0.0
	for _, t := range query {
		weights[t.Text] = max(weights[t.Text], weight(t)*idf(t.Text))
	}
	d := place(doc)
	last := len(d.words)
	near := make([]float64, last+1) // by the first word of the window
	for t, w := range weights {
		all += w
		if len(d.at[t]) > 0 {
			m.Presence += w
		}
		if d.title[t] {
			m.Title += w
		}
		for from := range near {
			for _, at := range d.at[t] {
				if from <= at && at < from+24 {
					near[from] += w
					break
				}
			}
		}
	}
	for _, n := range near {
		m.Near = max(m.Near, n)
	}
	found, asked := 0.0, 0.0
	has := d.pairs()
	first := map[[2]string]float64{}
	for _, n := range inverted.PairShares(query, doc, idf) { // which orders them, and weighs by the first of each
		first[[2]string{n.First, n.Second}] = n.Share
	}
	for pair := range place(query).pairs() {
		share, ok := first[pair]
		if !ok {
			panic("a pair is left out: " + pair[0] + " " + pair[1])
		}
		asked++
		if has[pair] {
			found += share
		}
	}
	if int(asked) != len(first) {
		panic("a pair too many")
	}
	m.Pair = found
	if all > 0 {
		m.Presence, m.Near, m.Title = m.Presence/all, m.Near/all, m.Title/all*(1+3*d.asked(weights))/4
	}
	return m
}

// TestPiecesAreNeighbours: the analyser's pieces of a word stand next to each other, and the outer
// ones next to the words around, in documents and in queries.
func TestPiecesAreNeighbours(t *testing.T) {
	a, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	one := func(string) float64 { return 1 }
	for _, c := range []struct {
		query, passage, found, missing string
	}{
		{"unknown authority", "x509 UnknownAuthorityError", "unknown author", ""},
		{"authority unknown", "x509 UnknownAuthorityError", "", "author unknown"},
		{"x509 unknown error", "x509 UnknownAuthorityError", "x509 unknown", "unknown error"},
		{"context deadline exceeded", "context.DeadlineExceeded", "context deadlin,deadlin exceed", ""},
		{"error message", "a NetworkError message", "error messag", ""},
		{"network message", "a NetworkError message", "", "network messag"},
		{"error x.y", "NetworkError x.y", "error x,x y", ""},
		{"error conn", "NetworkError net.Conn", "", "error conn"}, // net is between them
		{"UnknownAuthorityError", "the unknown authority error", "unknown author,author error", ""},
		{"max_retry_count", "retry count max", "retri count", "max retri"},
		{"big maxRetry", "big maxRetry", "big maxretri,big max,max retri", ""},
	} {
		var found, missing []string
		for _, p := range inverted.PairShares(a.Terms(nil, c.query), a.Terms(nil, c.passage), one) {
			if p.Found {
				found = append(found, p.First+" "+p.Second)
			} else {
				missing = append(missing, p.First+" "+p.Second)
			}
		}
		if strings.Join(found, ",") != c.found || strings.Join(missing, ",") != c.missing {
			t.Errorf("%q in %q: found %q, not %q", c.query, c.passage, found, missing)
		}
	}
}

// TestNearAndTitle: words within 24 count in Near, however they stand, and those of the title in Title.
func TestNearAndTitle(t *testing.T) {
	x := newWords(t, inverted.Options{})
	far := func(gap int) []text.Term {
		return terms("a", strings.Repeat("x ", gap), "b")
	}
	split := func(d []text.Term) (out []text.Term) {
		for _, t := range d {
			for _, w := range strings.Fields(t.Text) {
				out = append(out, text.Term{Text: w})
			}
		}
		return out
	}
	titled := terms("a", "c", "b")
	titled[0].Title, titled[1].Title = true, true
	code := split(far(23))
	code[24] = text.Term{Text: "b.b", Beside: true} // a compound, which stands where its words would
	for id, d := range [][]text.Term{split(far(22)), split(far(23)), titled, terms("b"), nil, code} {
		if err := x.Add(uint64(id), d); err != nil {
			t.Fatal(err)
		}
	}
	query := terms("a", "b")
	a, b := x.IDF("a"), x.IDF("b")
	got := make([]inverted.Match, 5)
	if err := x.Match(t.Context(), got, query, []uint64{0, 1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []inverted.Match{{Near: 1}, {Near: max(a, b) / (a + b)}, {Near: 1, Title: a / (a + b) * (1 + 3*.5) / 4}, {Near: b / (a + b)}, {}} {
		if d := got[i].Near - want.Near; d > 1e-12 || d < -1e-12 || got[i].Near > got[i].Presence {
			t.Errorf("document %d: near %v, want %v", i, got[i].Near, want.Near)
		}
		if d := got[i].Title - want.Title; d > 1e-12 || d < -1e-12 {
			t.Errorf("document %d: title %v, want %v", i, got[i].Title, want.Title)
		}
	}
	query = append(query, text.Term{Text: "b.b"})
	if err := x.Match(t.Context(), got[:1], query, []uint64{5}); err != nil || got[0].Near >= got[0].Presence {
		t.Errorf("a compound 24 words away: %+v, %v", got[0], err)
	}
}

// TestTitleThatSaysMore: of titles with the words of the query, the shorter one matches better. A word counts as its
// pieces, all of which match where the word is asked.
func TestTitleThatSaysMore(t *testing.T) {
	a, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query, title string
		want         float64
	}{
		{"walk", "walk", 1}, {"walk", "walk tree", 5. / 8}, {"walk", "fast walk tree long", 7. / 16}, {"walk", "WalkDir", 5. / 8},
		{"walk", "WalkDirFunc", .5}, {"WalkDirFunc", "WalkDirFunc", 1}, {"WalkDirFunc", "WalkDirFunc x", (1 + 3*.75) / 4},
		{"walk dir", "filepath.WalkDir", .75}, {"tree", "walk", 0}, {"walk", "", 0},
	} {
		doc := a.Terms(nil, c.title+" and tree, walk, dir, WalkDirFunc")
		s, err := inverted.NewScorer(inverted.Options{}, inverted.Corpus{Documents: 1, Length: int64(len(doc)), Having: having(doc)}, a.Asked(nil, c.query))
		if err != nil {
			t.Fatal(err)
		}
		if m := s.Match(inverted.Spell(text.InTitle(doc, len(c.title)))); m.Presence < .999 || m.Title-c.want > 1e-12 || c.want-m.Title > 1e-12 {
			t.Errorf("%q in %q: %+v, want %v", c.query, c.title, m, c.want)
		}
	}
}

func having(doc []text.Term) map[string]int {
	n := map[string]int{}
	for _, t := range doc {
		n[inverted.SpellTerm(t.Text)] = 1
	}
	return n
}

// TestNearOfEqualWords: the same words near each other give the same number to the last bit, in
// whatever order they stand.
func TestNearOfEqualWords(t *testing.T) {
	x := newWords(t, inverted.Options{})
	r := rand.New(rand.NewPCG(3, 3))
	var query []text.Term
	for i := range 12 {
		query = append(query, text.Term{Text: string(rune('a' + i)), Weight: 1 / float32(1+i%5)})
	}
	var ids []uint64
	for id := range uint64(40) {
		var d []text.Term
		for i := range 40 { // far from each other, one window of all but two words, and more of few
			d = append(d, text.Term{Text: string(rune('a' + i%2))}, text.Term{Text: "x"}, text.Term{Text: "y"})
		}
		for _, i := range r.Perm(10) {
			d = append(d, query[i])
		}
		d = append(d, terms(strings.Fields(strings.Repeat("x ", 30)+" l")...)...)
		if err := x.Add(id, d); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	got := make([]inverted.Match, len(ids))
	if err := x.Match(t.Context(), got, query, ids); err != nil {
		t.Fatal(err)
	}
	for _, m := range got {
		if m.Near != got[0].Near || m.Near >= m.Presence || m.Near < .8*m.Presence {
			t.Fatalf("%v of %v, another has %v", m.Near, m.Presence, got[0].Near)
		}
	}
}
