package modulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSLRIDFWeights(t *testing.T) {
	var all []passage
	for i, ids := range [][]int32{{5, 7}, {5}, {5, 9}, {5}} {
		all = append(all, passage{x: []float32{float32(i), 1, 0}, tokens: ids})
	}
	w := rarity{sumsOver(3, 20, all...)}.Weigh(Lexical{}, Input{Tokens: tokens(7, 5, 7, 11)})
	if !slices.Equal(w.IDs, []int32{7, 5, 11}) {
		t.Fatalf("ids %v", w.IDs)
	}
	for i, df := range []float64{1, 4, 0} {
		want := math.Log(1 + math.Log(1+(4-df+0.5)/(df+0.5))/math.Log(10))
		if math.Abs(float64(w.Weights[i])-want) > 1e-6 {
			t.Errorf("token %d weighs %v, want %v", w.IDs[i], w.Weights[i], want)
		}
	}
}

// At its start llr is slr.
func TestLLRStartsAsSLR(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	h, err := llr.Start(6, 3, Parts{})
	if err != nil {
		t.Fatal(err)
	}
	in := fullInput(r, 6, 30, tokens(4, 9, 4, 12))
	got, want := learned{h, scalar{h}.weigh}.Weigh(Lexical{}, in), presence{}.Weigh(Lexical{}, in)
	if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Weights, want.Weights) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// A token that repeats has the largest of its weights (Eq. 6 pools by max), and
// a negative score no weight.
func TestLLRPoolsByMax(t *testing.T) {
	h := &Head{U: []float32{1, 0}, B: []float32{0.5}}
	in := Input{
		Tokens: tokens(4, 9, 4), Dense: []float32{1, 0},
		Hidden: []float32{9, 9, 1, 0, -3, 0, 2, 5, 9, 9}, // of [CLS] 4 9 4 [SEP]
	}
	w, from := scalar{h}.weigh(Lexical{}, nil, in, true)
	if !slices.Equal(w.IDs, []int32{4, 9}) || math.Abs(float64(w.Weights[0])-math.Log(3.5)) > 1e-6 || w.Weights[1] != 0 {
		t.Fatalf("weights %v", w)
	}
	if from[0].State != 3 || from[1].Slope != 0 || math.Abs(float64(from[0].Slope)-1/3.5) > 1e-6 {
		t.Fatalf("origins %+v", from)
	}
	in.Hidden = nil
	if w := (learned{h, scalar{h}.weigh}).Weigh(Lexical{}, in); len(w.IDs) != 0 {
		t.Fatalf("without hidden states: %v", w)
	}
}

// The 64 largest weights are kept, whatever the order of the scores.
func TestCLRKeepsTheLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, softmax := range []bool{false, true} {
		for range 20 {
			s := &scoreScratch{}
			for range 500 {
				s.scores = append(s.scores, float32(r.NormFloat64()))
			}
			w := s.keep(Lexical{}, softmax)
			order := make([]int32, 500)
			var sum float64
			for i := range order {
				order[i] = int32(i)
				sum += math.Exp(float64(s.scores[i]))
			}
			slices.SortFunc(order, func(a, b int32) int {
				if s.scores[a] > s.scores[b] {
					return -1
				}
				return 1
			})
			want := slices.Sorted(slices.Values(order[:clrTokens]))
			if !slices.Equal(w.IDs, want) {
				t.Fatalf("kept %v, want %v", w.IDs, want)
			}
			for i, id := range w.IDs {
				x := float64(s.scores[id])
				if softmax {
					x = math.Exp(x) / sum
				}
				if math.Abs(float64(w.Weights[i])-math.Log1p(x)) > 1e-6 {
					t.Fatalf("weight %v, want %v", w.Weights[i], math.Log1p(x))
				}
			}
		}
	}
	s := &scoreScratch{scores: []float32{-1, 0, 2, float32(math.Inf(-1))}}
	if w := s.keep(Lexical{}, false); !slices.Equal(w.IDs, []int32{2}) {
		t.Fatalf("ReLU kept %v", w.IDs)
	}
	if w := s.keep(Lexical{}, true); !slices.Equal(w.IDs, []int32{0, 1, 2}) {
		t.Fatalf("softmax kept %v", w.IDs)
	}
}
