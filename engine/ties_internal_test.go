package engine

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/late"
)

// TestTies: each word of the query is answered by a word of title or text that stands where
// the tie says, itself where it is there, and the ties make the score.
func TestTies(t *testing.T) {
	t.Parallel()
	e := opened(t, t.TempDir(), keptOptions, autoHNSW)
	defer closed(t, e)
	put(t, e, madeDocs(rand.New(rand.NewPCG(1, 2)), 0, 80)...)
	long := strings.Repeat("Nothing of that stands in this sentence here. ", 12)
	put(t, e, Document{ID: "t", Title: "  Über Grüße", Text: long + "The signing-keys rotate, every ninety days. " + long})
	text, err := e.Get(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	const query = "rotate signing keys: grüße"
	x, err := e.Explain(t.Context(), Query{Text: query}, "t")
	if err != nil || len(x.Ties) < 4 || x.Chunks < 2 {
		t.Fatalf("%+v, %v", x, err)
	}
	sum, weights := 0.0, 0.0
	found := map[string]explain.Tie{}
	for i, tie := range x.Ties {
		found[tie.Word] = tie
		field := text.Text
		if tie.Field == "title" {
			field = text.Title
		}
		if query[tie.Start:tie.End] != tie.Word || field[tie.MatchStart:tie.MatchEnd] != tie.Match || i > 0 && tie.Start <= x.Ties[i-1].Start {
			t.Errorf("%+v does not stand there", tie)
		}
		sum, weights = sum+tie.Weight*tie.Cosine, weights+tie.Weight
	}
	m := late.Match{Whole: sum, Near: sum, Front: sum} // the chunk is short
	if math.Abs(fusion.Answered(m, matchOf(x.Hit))-float64(x.TokenScore)) > 1e-5 || math.Abs(weights-1) > 1e-5 {
		t.Errorf("ties make %v, of weight %v; the score is %v", sum, weights, x.TokenScore)
	}
	for word, match := range map[string]string{"rotate": "rotate", "signing": "signing", "keys": "keys"} {
		if tie := found[word]; tie.Match != match || tie.Cosine < 0.7 || tie.Field != "text" {
			t.Errorf("%s is answered by %+v", word, tie)
		}
	}
	if x, err = e.Explain(t.Context(), Query{Text: query, Fusion: fusion.Options{Tokens: -1}}, "t"); err != nil || len(x.Ties) > 0 {
		t.Errorf("%+v, %v", x.Ties, err)
	}
}

// TestTiesOfSource: matches in source code stand where the ties and spans say, whether its signs were encoded or not.
func TestTiesOfSource(t *testing.T) {
	t.Parallel()
	const text = "// ★★★ the walrus → keeper\nfunc feed(fish []int) { return fish[0] != nil }\n// ★ nothing else ★ at all\n"
	meta := map[string]any{"language": "go", "_file": map[string]any{"kind": "code", "path": "zoo.go", "root": "/src"}}
	e := opened(t, t.TempDir(), keptOptions, autoHNSW)
	defer closed(t, e)
	put(t, e, madeDocs(rand.New(rand.NewPCG(1, 2)), 0, 80)...)
	put(t, e, Document{ID: "now", Title: "zoo ★ go", Text: text, Metadata: meta}, Document{ID: "before", Title: "zoo ★ go", Text: text})
	if _, err := e.Patch(t.Context(), []Patch{{ID: "before", Metadata: meta}}); err != nil { // as an older program encoded it
		t.Fatal(err)
	}
	const query = "keeper feed fish zoo"
	for _, id := range []string{"now", "before"} {
		x, err := e.Explain(t.Context(), Query{Text: query}, id)
		if err != nil || len(x.Ties) != 4 {
			t.Fatalf("%s: %+v, %v", id, x.Ties, err)
		}
		for _, tie := range x.Ties {
			if field := map[string]string{"text": text, "title": "zoo ★ go"}[tie.Field]; tie.Match != tie.Word || field[tie.MatchStart:tie.MatchEnd] != tie.Match {
				t.Errorf("%s: %+v does not stand there", id, tie)
			}
		}
	}
}

func TestWordAt(t *testing.T) {
	for _, c := range []struct {
		text       string
		start, end int32
		want       string
	}{
		{"embedding", 2, 5, "embedding"}, {"a re-run", 2, 4, "re"}, {"a re-run", 4, 5, "-"}, {"Grüße, du", 2, 4, "Grüße"},
		{"x", 0, 0, ""}, {"", 0, 0, ""}, {"abc", 5, 9, ""}, {"abc", 2, 1, ""}, {"東京 に", 0, 3, "東京"},
	} {
		w := wordAt(c.text, encoder.Span{Start: c.start, End: c.end})
		if got := c.text[w.Start:w.End]; got != c.want {
			t.Errorf("%q from %d to %d: %q, want %q", c.text, c.start, c.end, got, c.want)
		}
	}
}
