package inverted_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

func TestBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, o := range []inverted.Options{{K1: -1}, {K1: nan}, {K1: inf}, {B: -.1}, {B: 1.1}, {B: nan}, {Analysis: strings.Repeat("x", 256)}} {
		if _, err := inverted.NewWords(o); !errors.Is(err, inverted.ErrOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, vocab := range []int{-1, 0, 1<<24 + 1} {
		if _, err := inverted.NewSparse(vocab); !errors.Is(err, inverted.ErrOptions) {
			t.Errorf("vocabulary of %d: %v", vocab, err)
		}
	}
	x := newWords(t, inverted.Options{})
	for _, words := range []string{"", strings.Repeat("x", 1<<16)} {
		if err := x.Add(1, terms("good", words)); !errors.Is(err, inverted.ErrTerm) || x.Len() != 0 {
			t.Errorf("term of %d bytes: %v, %d documents", len(words), err, x.Len())
		}
	}
	for _, k := range []int{0, -1, math.MinInt} {
		if _, err := x.Search(t.Context(), nil, terms("a"), k, nil); !errors.Is(err, inverted.ErrBadK) {
			t.Errorf("k %d: %v", k, err)
		}
	}
	if err := x.Scores(t.Context(), make([]float64, 1), terms("a"), nil); !errors.Is(err, inverted.ErrLength) {
		t.Error(err)
	}
	if err := pairShares(t.Context(), x.Words, make([]float64, 1), terms("a"), nil); !errors.Is(err, inverted.ErrLength) {
		t.Error(err)
	}
	s, err := inverted.NewSparse(10)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		w    []inverted.Weighted
		want error
	}{
		{[]inverted.Weighted{{Term: 10, Weight: 1}}, inverted.ErrTerm},
		{[]inverted.Weighted{{Term: -1, Weight: 1}}, inverted.ErrTerm},
		{[]inverted.Weighted{{Term: 3, Weight: 1}, {Term: 3, Weight: 2}}, inverted.ErrTerm},
		{[]inverted.Weighted{{Term: 3, Weight: float32(nan)}}, inverted.ErrWeight},
		{[]inverted.Weighted{{Term: 3, Weight: float32(inf)}}, inverted.ErrWeight},
		{[]inverted.Weighted{{Term: 3, Weight: -1}}, inverted.ErrWeight},
	} {
		e := s.Edit()
		if err := e.Add(1, c.w); !errors.Is(err, c.want) || e.Done().Len() != 0 {
			t.Errorf("add %v: %v", c.w, err)
		}
		if _, err := s.Search(t.Context(), nil, c.w, 1, nil); !errors.Is(err, c.want) {
			t.Errorf("search %v: %v", c.w, err)
		}
	}
}

// TestEmpty: an empty index, an empty query, documents without words.
func TestEmpty(t *testing.T) {
	x := newWords(t, inverted.Options{})
	search := func(words ...string) int {
		t.Helper()
		got, err := x.Search(t.Context(), nil, terms(words...), 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	if search("a") != 0 || search() != 0 || x.UB(nil) != 0 || inverted.Coverage(0, x.UB(nil)) != 0 {
		t.Error("an empty index answers")
	}
	if err := x.Add(5, nil); err != nil {
		t.Fatal(err)
	}
	if search("a") != 0 || x.Len() != 1 || !has(t, x, 5) || has(t, x, 6) {
		t.Error("a document without words is wrong")
	}
	got := make([]float64, 2)
	if err := x.Scores(t.Context(), got, terms("a"), []uint64{5, 6}); err != nil || got[0] != 0 || !math.IsNaN(got[1]) {
		t.Error(got, err)
	}
	if err := pairShares(t.Context(), x.Words, got, terms("a", "b"), []uint64{5, 6}); err != nil || got[0] != 0 || !math.IsNaN(got[1]) {
		t.Error(got, err)
	}
	if err := x.Add(math.MaxUint64, terms("a")); err != nil || search("a") != 1 {
		t.Error("the greatest id is lost", err)
	}
}

func has(t *testing.T, x *words, id uint64) bool {
	t.Helper()
	ok, err := x.Has(id)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// TestCodesComeFirst: whoever asks for a code gets the document with the code,
// though others have all of its words, and more often.
func TestCodesComeFirst(t *testing.T) {
	docs := []string{
		"conn reset err: err conn reset, reset conn err",
		"A browser may show several codes when the page cannot be opened, for example after a long wait, and one of these many different codes is ERR_CONN_RESET, which most users have never heard of.",
		"ERR_CONN_REFUSED and ERR_CONN_ABORTED and ERR_CACHE_RESET",
		"all that I read of io, io and read all: io readers read all",
		"Nothing of what is left in the buffer gets lost since we call io.ReadAll before the response is closed by whoever opened it in the first place.",
		"v1 2 3, version 1 2 3 and 3 2 1 of v1",
		"The fault that made the program stop on some of the older machines has been repaired in v1.2.3 and will not be taken to the older lines.",
		"errors 0x80070005 and 0x80070002",
		"The update ends with 0x80070057 where a parameter is wrong, which the log in the folder of the system tells in many more words.",
		"C and c and see, also c in c",
		"She wrote the whole of the program that counts birds in C++ within a week and then went on holiday for a month.",
	}
	for i := range 30 {
		docs = append(docs, fmt.Sprintf("An error of kind %d, and what to do when this error comes: read on.", i))
	}
	a, x := analyzer(t), newWords(t, inverted.Options{})
	for i, d := range docs {
		if err := x.Add(uint64(i), a.Terms(nil, d)); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]uint64{
		"ERR_CONN_RESET": 1, "err_conn_reset": 1, "what is ERR_CONN_RESET?": 1, "io.ReadAll": 4, "call of io.readall()": 4,
		"v1.2.3": 6, "1.2.3": 6, "0x80070057": 8, "error 0X80070057": 8, "C++": 10,
	} {
		got, err := x.Search(t.Context(), nil, a.Terms(nil, query), 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 || got[0].ID != want {
			t.Errorf("%q: %v, want document %d first", query, got, want)
		}
	}
}

// pairBonus is the sum of the shares of pairs that are found.
func pairBonus(query, passage []text.Term, idf func(term string) float64) float64 {
	sum := 0.0
	for _, p := range inverted.PairShares(query, passage, idf) {
		if p.Found {
			sum += p.Share
		}
	}
	return min(sum, 1) // rounding
}

func TestPairBonusByHand(t *testing.T) {
	idf := func(w string) float64 { return map[string]float64{"new": 1, "york": 3, "city": 2, "hall": 4}[w] }
	beside := terms("new", "york", "new-york", "city")
	beside[2].Beside = true
	for _, c := range []struct {
		query, passage []text.Term
		want           float64
	}{
		{terms("new", "york", "city"), terms("new", "york"), 4. / 9},
		{terms("new", "york", "city"), terms("york", "new", "city"), 0},
		{terms("new", "york", "city"), terms("old", "york", "city", "new", "york"), 1},
		{terms("new", "york", "new", "york"), terms("new", "york"), 4. / 8}, // york new is the other pair
		{terms("city"), terms("city"), 0},
		{nil, terms("city"), 0},
		{terms("new", "york", "city"), beside, 1},
		{beside, terms("new", "york", "city"), 1},
		{terms("city", "hall", "x"), terms("hall", "city"), 0},
	} {
		if got := pairBonus(c.query, c.passage, idf); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%v in %v: %v, want %v", c.query, c.passage, got, c.want)
		}
	}
}
