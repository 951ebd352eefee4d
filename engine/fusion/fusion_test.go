package fusion

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/inverted"
)

func candidates() []Candidate {
	return []Candidate{
		{Ord: 3, Dense: 0.9, Match: inverted.Match{}},
		{Ord: 2, Dense: 0.5, Match: inverted.Match{BM25: 8, Presence: 1, Near: 1, Coverage: 0.5, Pair: 1, Title: 0.0625}},
		{Ord: 1, Dense: 0.1, Match: inverted.Match{BM25: 2, Presence: 0.0625, Coverage: 0.25}},
	}
}

// TestFuse holds each kind to scores worked out by hand.
func TestFuse(t *testing.T) {
	for name, x := range map[string]struct {
		o    Options
		ords []uint64
		want []float64
	}{
		"calibrated": {Options{}, []uint64{2, 3, 1}, []float64{0.5 + 0.25 + 0.07 + 0.05 + 0.2 + 0.2/32, 0.9, 0.1 + 0.25/32 + 0.025}},
		"presence":   {Options{Beta: -1, Pair: -1, Near: 0.03, Title: 1.6}, []uint64{3, 2, 1}, []float64{0.9, 0.83, 0.1 + 0.25/32}},
		"weights":    {Options{Presence: -1, Near: -1, Beta: 2, Pair: -1, Title: -1}, []uint64{2, 3, 1}, []float64{1.5, 0.9, 0.6}},
		"ranks":      {Options{Kind: RRF, RankConstant: 1}, []uint64{2, 1, 3}, []float64{1.0/3 + 0.5, 0.25 + 1.0/3, 0.5}},
		"convex":     {Options{Kind: Convex, LexicalShare: 0.5}, []uint64{2, 3, 1}, []float64{0.75, 0.5, 0.125}},
	} {
		cs := candidates()
		if err := x.o.Fuse(cs); err != nil {
			t.Fatal(name, err)
		}
		for i, c := range cs {
			if c.Ord != x.ords[i] || math.Abs(c.Score-x.want[i]) > 1e-12 {
				t.Errorf("%s: place %d has %d with %v, want %d with %v", name, i+1, c.Ord, c.Score, x.ords[i], x.want[i])
			}
		}
	}
	even := []Candidate{{Ord: 9, Dense: 1}, {Ord: 4, Dense: 1}}
	if err := (Options{Kind: Convex}).Fuse(even); err != nil || even[0].Ord != 4 || even[0].Score != 0.7 || even[1].Score != 0.7 {
		t.Errorf("of equal ones without a word of the query: %+v, %v", even, err)
	}
	one := []Candidate{{Ord: 1, Dense: 0.9, Match: inverted.Match{BM25: 3}}}
	if err := (Options{Kind: Convex}).Fuse(one); err != nil || one[0].Score != 1 {
		t.Errorf("of the only match: %+v, %v", one, err)
	}
	if err := (Options{Kind: RRF}).Fuse(nil); err != nil {
		t.Error(err)
	}
}

// TestReach: where no candidate has the share Reach of the query's words, shares
// are raised until one has it; else all stays as it is.
func TestReach(t *testing.T) {
	weak := func() []Candidate {
		return []Candidate{
			{Ord: 1, Dense: 0.5, Match: inverted.Match{Presence: 0.25, Near: 0.25, Coverage: 0.125, Pair: 0.0625, Title: 0.25}},
			{Ord: 2, Dense: 0.75},
			{Ord: 3, Dense: 0.125, Match: inverted.Match{Presence: 0.125, Coverage: 0.0625}},
		}
	}
	half := math.Pow(0.5, 1.25)
	for name, x := range map[string]struct {
		o    Options
		want []float64 // by ord
	}{
		"half":    {Options{Reach: 0.5}, []float64{0.5 + 0.52*half + 0.1*0.25 + 0.2*0.125, 0.75, 0.125 + 0.25*half*half + 0.1*0.125}},
		"more":    {Options{Reach: 0.55}, []float64{0.5 + 0.52*math.Pow(0.55, 1.25) + 0.1*0.275 + 0.2*0.1375, 0.75, 0.125 + 0.25*math.Pow(0.275, 1.25) + 0.1*0.1375}},
		"all":     {Options{Reach: 1}, []float64{0.5 + 0.52 + 0.1*0.5 + 0.2*0.25, 0.75, 0.125 + 0.25*half + 0.1*0.25}},
		"reached": {Options{Reach: 0.25}, []float64{0.5 + 0.52*half*half + 0.1*0.125 + 0.2*0.0625, 0.75, 0.125 + 0.25*half*half*half + 0.1*0.0625}},
		"shipped": {Options{}, []float64{0.5 + 0.52*half*half + 0.1*0.125 + 0.2*0.0625, 0.75, 0.125 + 0.25*half*half*half + 0.1*0.0625}},
	} {
		cs := weak()
		if err := x.o.Fuse(cs); err != nil {
			t.Fatal(name, err)
		}
		for _, c := range cs {
			sum := 0.0
			for _, term := range x.o.Terms(c) {
				sum += term.Weight * term.Value
			}
			if want := x.want[c.Ord-1]; math.Abs(c.Score-want) > 1e-12 || math.Abs(sum-want) > 1e-12 {
				t.Errorf("%s: %d has %v, terms add up to %v, want %v", name, c.Ord, c.Score, sum, want)
			}
		}
		again := slices.Clone(cs)
		if err := x.o.Fuse(again); err != nil || !slices.Equal(again, cs) {
			t.Errorf("%s: fused twice: %+v, %v", name, again, err)
		}
	}
	silent := []Candidate{{Ord: 1, Dense: 0.5}}
	if err := (Options{}).Fuse(silent); err != nil || silent[0].Score != 0.5 || silent[0].Lift != 1 {
		t.Errorf("without words: %+v, %v", silent, err)
	}
}

// TestTerms: the terms of a candidate add up to its score.
func TestTerms(t *testing.T) {
	for _, o := range []Options{{}, {Presence: 2, Beta: -1}, {Unknown: .25}, {Unknown: 1}} {
		cs := candidates()
		if err := o.Fuse(cs); err != nil {
			t.Fatal(err)
		}
		for _, c := range cs {
			sum := 0.0
			for _, term := range o.Terms(c) {
				sum += term.Weight * term.Value
				if term.Weight <= 0 || term.Name == "" {
					t.Errorf("%+v", term)
				}
			}
			if terms := o.Terms(c); terms[0].Name == "cosine" && terms[0].Weight != 1-o.Unknown || terms[0].Name != "cosine" && o.Unknown < 1 {
				t.Errorf("%+v where %v is unknown", terms, o.Unknown)
			}
			if math.Abs(sum-c.Score) > 1e-12 {
				t.Errorf("%+v: terms add up to %v", c, sum)
			}
		}
	}
	if terms := (Options{Kind: RRF}).Terms(candidates()[0]); terms != nil {
		t.Errorf("%+v", terms)
	}
}

func TestRefusals(t *testing.T) {
	for _, o := range []Options{{Kind: "magic"}, {Beta: 1001}, {Pair: math.NaN()}, {Title: 1001}, {Title: math.NaN()}, {Near: 1001}, {Near: math.NaN()}, {Presence: math.Inf(1)},
		{RankConstant: -1}, {RankConstant: 1e7}, {LexicalShare: -0.1}, {LexicalShare: 1.1}, {Reach: 1.1}, {Reach: -0.1}, {Reach: math.NaN()}, {Unknown: -.1}, {Unknown: 1.1}, {Unknown: math.NaN()}} {
		if err := o.Check(); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
		if err := o.Fuse(candidates()); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestSort compares with sorting the candidates themselves, with ties and scores that are no numbers among them.
func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 60 {
		cs := make([]Candidate, n)
		for i := range cs {
			cs[i] = Candidate{Ord: uint64(i * 7 % n), Dense: []float64{r.Float64(), .5, math.NaN(), -1}[r.IntN(4)], Score: float64(i)}
		}
		want := slices.Clone(cs)
		slices.SortFunc(want, func(a, b Candidate) int {
			return cmp.Or(cmp.Compare(b.Dense, a.Dense), cmp.Compare(a.Ord, b.Ord), cmp.Compare(a.Score, b.Score))
		})
		Sort(cs, Dense)
		for i := range cs {
			if cs[i].Ord != want[i].Ord || n%7 != 0 && cs[i].Score != want[i].Score {
				t.Fatalf("%d candidates: %+v at %d, want %+v", n, cs[i], i, want[i])
			}
		}
	}
}
