package modulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

const exactVocab = 700 // its rows are several blocks

// exactParts are sums in which some tokens stand in no passage and some in one, and the start of
// a variant.
func exactParts(t *testing.T, name string) (Parts, *Head) {
	t.Helper()
	sums, _ := corpusSums(rand.New(rand.NewPCG(9, 9)), lawDim, exactVocab, 200)
	count := map[int]int{}
	for id := range int32(exactVocab) {
		count[min(2, sums.DF(id))]++
	}
	if count[0] == 0 || count[1] == 0 || count[2] < 300 {
		t.Fatalf("tokens in no passage, in one and in more: %v", count)
	}
	s, err := ParseStack(name)
	if err != nil {
		t.Fatal(err)
	}
	p := Parts{Sums: sums}
	if p.Weights, err = s.Start(lawDim, exactVocab, 5, p); err != nil {
		t.Fatal(err)
	}
	return p, p.Weights.Heads[name]
}

// Eq. 6 written out: of every token of the vocabulary the largest score over all positions.
func TestLLRExact(t *testing.T) {
	p, h := exactParts(t, "llr-exact")
	w, err := llrExact.Weigh(p)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 10))
	for range 20 {
		in := fullInput(r, lawDim, exactVocab, randomTokens(r, exactVocab, 1+r.IntN(9)))
		got, from := w.(learned).weigh(Lexical{}, nil, in, true)
		if plain := w.Weigh(Lexical{}, in); !slices.Equal(plain.IDs, got.IDs) || !slices.Equal(plain.Weights, got.Weights) {
			t.Fatalf("%v, traced %v", plain, got)
		}
		if len(got.IDs) != h.Rows() || len(from) != h.Rows() {
			t.Fatalf("%d entries, %d origins for %d rows", len(got.IDs), len(from), h.Rows())
		}
		for k, id := range got.IDs {
			row, best := h.row(id), math.Inf(-1)
			scores := map[int32]float64{} // by position
			for j, special := range in.Tokens.Special {
				if special {
					continue
				}
				a := float64(h.B[row])
				for i := range lawDim {
					a += float64(in.Hidden[j*lawDim+i]) * float64(h.U[row*lawDim+i])
				}
				scores[int32(j)], best = a, max(a, best)
			}
			slope := 0.0
			if best > 0 {
				slope = 1 / (1 + best)
			}
			if want := math.Log1p(max(0, best)); math.Abs(float64(got.Weights[k])-want) > 1e-5 {
				t.Fatalf("token %d weighs %g, want %g", id, got.Weights[k], want)
			}
			// Of positions whose scores differ by the rounding of float32 either may win.
			o := from[k]
			if score, scored := scores[o.State]; !scored || score < best-1e-5 || int(o.Row) != row || math.Abs(float64(o.Slope)-slope) > 1e-5 {
				t.Fatalf("token %d from %+v, want row %d, slope %g and one of the best of %v", id, o, row, slope, scores)
			}
		}
	}
	p.Weights.Heads["llr-exact"] = &Head{U: make([]float32, lawDim), B: []float32{1}}
	if _, err := llrExact.Weigh(p); !errors.Is(err, ErrNotFitted) {
		t.Errorf("one row for all tokens: error %v", err)
	}
}

// Both start with a row for each token of the corpus and no other: that of a token which no
// passage has would be 0, and in llr-exact weigh nothing and have no slope to be learned by.
func TestExactRows(t *testing.T) {
	for _, name := range []string{"llr-exact", "clr-exact"} {
		p, h := exactParts(t, name)
		for id := range int32(exactVocab) {
			if (h.row(id) >= 0) != (p.Sums.DF(id) > 0) {
				t.Fatalf("%s: token %d, in %d passages, has the row %d", name, id, p.Sums.DF(id), h.row(id))
			}
		}
	}
	if w, slope := activate(0); w != 0 || slope != 0 {
		t.Errorf("a score of 0 weighs %g, slope %g", w, slope)
	}
}

// Eq. 7 written out: log(1 + softmax) over every token of the vocabulary.
func TestCLRExact(t *testing.T) {
	p, h := exactParts(t, "clr-exact")
	w, err := clrExact.Weigh(p)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 11))
	absent := 0
	for range 20 {
		in := fullInput(r, lawDim, exactVocab, randomTokens(r, exactVocab, 3))
		score, sum := make([]float64, exactVocab), 0.0
		for id := range score {
			if row := h.row(int32(id)); row >= 0 {
				score[id] = float64(h.B[row])
				for i := range lawDim {
					score[id] += float64(in.Dense[i]) * float64(h.U[row*lawDim+i])
				}
			} else {
				absent++
			}
			sum += math.Exp(score[id] / 0.1)
		}
		got := w.Weigh(Lexical{}, in)
		if len(got.IDs) != exactVocab {
			t.Fatalf("%d entries for %d tokens", len(got.IDs), exactVocab)
		}
		for k, id := range got.IDs {
			if want := math.Log1p(math.Exp(score[id]/0.1) / sum); int(id) != k || math.Abs(float64(got.Weights[k])-want) > 1e-5*max(want, 1e-3) {
				t.Fatalf("entry %d: token %d weighs %g, want %g", k, id, got.Weights[k], want)
			}
		}
	}
	if absent == 0 {
		t.Fatal("every token stands in a passage")
	}
}

// mlm keeps the 64 largest of the corpus, mlm-exact all that are above 0: log(1 + logit), special tokens left out.
func TestMLMExact(t *testing.T) {
	p, _ := exactParts(t, "clr-exact")
	in := Input{Tokens: encoder.Tokens{IDs: []int32{1, 4, 5}, Special: []bool{true, false, false}}, Logits: make([]float32, exactVocab)}
	for i := range in.Logits {
		in.Logits[i] = float32(i%3 - 1)
	}
	w, err := mlmExact.Weigh(p)
	if err != nil {
		t.Fatal(err)
	}
	in.Logits[1] = 7
	got := w.Weigh(Lexical{}, in)
	n := 0
	for id, x := range in.Logits {
		if x <= 0 || id == 1 {
			continue
		}
		if n >= len(got.IDs) || got.IDs[n] != int32(id) || got.Weights[n] != float32(math.Log1p(float64(x))) {
			t.Fatalf("token %d: %v", id, got)
		}
		n++
	}
	if n != len(got.IDs) || n < 3 {
		t.Errorf("%d tokens weigh, want %d", len(got.IDs), n)
	}
	if got := w.Weigh(Lexical{}, Input{Tokens: encoder.Tokens{IDs: []int32{1}, Special: []bool{true}}, Logits: in.Logits}); len(got.IDs) > 0 {
		t.Errorf("without a token that may weigh: %v", got)
	}
}

// What is Whole is found by name and listed nowhere.
func TestWholeIsNotListed(t *testing.T) {
	for _, v := range []Variant{llrExact, clrExact, mlmExact} {
		if got, err := Lookup(v.Name); err != nil || !got.Whole {
			t.Errorf("%s: %+v, error %v", v.Name, got, err)
		}
		if slices.ContainsFunc(Variants(), func(o Variant) bool { return o.Name == v.Name }) {
			t.Errorf("%s is listed", v.Name)
		}
	}
}
