package bench

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// stateCounter counts the passages whose token states were asked for.
type stateCounter struct {
	encoder.Encoder
	passages *int
}

func (e stateCounter) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if role == encoder.Passage && need&encoder.NeedHidden != 0 {
		*e.passages += len(in)
	}
	return e.Encoder.Encode(ctx, role, in, need)
}

func TestTokens(t *testing.T) {
	systems := []string{"dense", "dense+tokens", "tokens", "dense+tokens:weight=0", "hybrid", "hybrid+tokens", "hybrid+tokens:weight=0",
		"rlr+tokens:states=plain", "rlr+tokens:states=shift", "rlr+tokens:states=each", "rlr+slr+tokens:states=own", "hybrid:slr+tokens:states=own", "rlr-local+tokens"}
	rep, err := Run(context.Background(), encoder.NewHash(64), Options{Data: townCorpus(t, 60), Systems: systems, Tasks: []string{"query", "keyword"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]float64{}
	for _, r := range rep.Results {
		got[r.System+" "+r.Task] = r.Metrics
	}
	for _, task := range []string{" query", " keyword"} {
		for _, base := range []string{"dense", "hybrid"} {
			if !reflect.DeepEqual(got[base+"+tokens:weight=0"+task], got[base+task]) {
				t.Errorf("a weight of 0 changes %s%s: %v, %v", base, task, got[base+"+tokens:weight=0"+task], got[base+task])
			}
		}
		// The states of this encoder are its words: they find what shares most of them.
		if x, y := got["dense+tokens"+task]["ndcg@10"], got["dense"+task]["ndcg@10"]; !(x > y) {
			t.Errorf("dense+tokens%s: %g, dense %g", task, x, y)
		}
		if x := got["tokens"+task]["ndcg@10"]; !(x > 0.8) {
			t.Errorf("tokens%s: %g", task, x)
		}
	}
	if x, y := rep.BytesPerPassage["dense+tokens"], rep.BytesPerPassage["dense"]; !(x > y+200) {
		t.Errorf("%g bytes a passage with tokens, %g without", x, y)
	}
}

// A cache folder keeps the states: a run asks for the states of each passage once, a second one for none, and
// measures the same.
func TestTokenStatesAreKept(t *testing.T) {
	o := Options{Data: townCorpus(t, 40), Systems: []string{"dense+tokens", "tokens"}, Tasks: []string{"query"}, CacheDir: t.TempDir()}
	run := func() (*Report, int) {
		n := 0
		rep, err := Run(context.Background(), stateCounter{encoder.NewHash(32), &n}, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rep.Results {
			rep.Results[i].MsPerQuery, rep.Results[i].CPUMsPerQuery = 0, 0
		}
		return rep, n
	}
	first, asked := run()
	if asked != 40 { // for the basis, and then for the codes from the cache
		t.Errorf("the first run asked for the states of %d passages, want 40", asked)
	}
	second, asked := run()
	if asked != 0 || !reflect.DeepEqual(first.Results, second.Results) {
		t.Errorf("the second run asked for the states of %d passages, or measured otherwise", asked)
	}
}

// States that move with the vector of the query: by its shift, or each as if it were the vector.
func TestMovedStates(t *testing.T) {
	q := Question{Output: encoder.Output{Dense: []float32{0.6, 0.8}, Hidden: []float32{3, 0, 0, 4}}}
	r := tokenScorer{dim: 2, vector: func(dst []float32, q Question) []float32 {
		return append(dst, q.Output.Dense[0]+1, 2*q.Output.Dense[1])
	}}
	for states, want := range map[string][]float32{"shift": {5.5, 2, 2.5, 6}, "each": {6, 0, 4, 8}} { // the mean state is 2.5 long
		r.states = states
		if got, err := r.moved(q); err != nil || !slices.EqualFunc(got, want, func(x, y float32) bool { return math.Abs(float64(x-y)) < 1e-5 }) {
			t.Errorf("%s: %v, want %v", states, got, want)
		}
	}
	r.states = "plain"
	if got, err := r.moved(q); err != nil || &got[0] != &q.Output.Hidden[0] {
		t.Errorf("plain states were copied (%v)", err)
	}
}

// States by the factors of their own tokens: where all factors are equal every answer is that of plain states, score by
// score; where they are not, the states are those of the one-token queries and the rest stays.
func TestOwnStates(t *testing.T) {
	ctx, enc := context.Background(), encoder.NewHash(32)
	targets := NewTargets([]Passage{{ID: "a", Body: "one two three"}, {ID: "b", Body: "four five one"}, {ID: "c", Body: "six two seven"}})
	s, err := NewSetting(ctx, enc, targets, SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	need := encoder.NeedDense | encoder.NeedHidden
	questions, err := s.Questions(ctx, []string{"two one", "five seven two"}, need)
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]bool{"equal factors": true, "factors of each token": false} {
		p, err := modulate.NewProjection(enc.Dim(), enc.VocabSize())
		if err != nil {
			t.Fatal(err)
		}
		ids := questions[0].Output.Tokens.Lexical(nil)
		if err := p.Touch(ids...); err != nil {
			t.Fatal(err)
		}
		for i := range p.Rows() {
			if p.Rows()[i] = 1; !same {
				p.Rows()[i] = float32(i * 7 % 5)
			}
		}
		m, err := modulate.NewStack("slr", modulate.Parts{Weights: &modulate.Weights{Stack: "slr", Projection: p}})
		if err != nil {
			t.Fatal(err)
		}
		leg := stackRetriever(s, m, &Fit{})
		answers := map[string][][]Hit{}
		scorers := map[string]tokenScorer{}
		for _, states := range []string{"plain", "own"} {
			o, err := parseTokens("states=" + states)
			if err != nil {
				t.Fatal(err)
			}
			if scorers[states], err = s.tokenScorer(ctx, o, leg); err != nil {
				t.Fatal(err)
			}
			r := tokenRetriever{oneLeg{leg.(denseRetriever)}, scorers[states]}
			if answers[states], err = r.Retrieve(ctx, questions, 3); err != nil {
				t.Fatal(err)
			}
		}
		near := func(a, b []Hit) bool {
			return slices.EqualFunc(a, b, func(a, b Hit) bool { return a.Target == b.Target && math.Abs(a.Score-b.Score) < 1e-6 })
		}
		if slices.EqualFunc(answers["plain"], answers["own"], near) != same {
			t.Errorf("%s: %v by plain states, %v by own", name, answers["plain"], answers["own"])
		}
		got, err := scorers["own"].moved(questions[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range questions[0].Output.Tokens.IDs {
			state := questions[0].Output.Hidden[i*enc.Dim() : (i+1)*enc.Dim()]
			norm := length(state)
			one := questions[0]
			one.Output.Tokens = encoder.Tokens{IDs: []int32{id}, Special: questions[0].Output.Tokens.Special[i : i+1]}
			one.Output.Dense = make([]float32, enc.Dim())
			for j, x := range state {
				one.Output.Dense[j] = float32(float64(x) / norm)
			}
			for j, x := range leg.(vectorRetriever).vector(nil, one) {
				if x := float64(x)*norm - float64(got[i*enc.Dim()+j]); math.Abs(x) > 1e-5 {
					t.Fatalf("%s: token %d differs by %g", name, i, x)
				}
			}
		}
	}
}

// The weight of the term falls for long queries, and for what the encoder does not know.
func TestTokenWeight(t *testing.T) {
	enc := encoder.NewHash(32)
	targets := NewTargets([]Passage{{ID: "a", Body: "one two three"}, {ID: "b", Body: "four five"}})
	s, err := NewSetting(context.Background(), enc, targets, SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	o, err := parseTokens("weight=0.5")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.tokenScorer(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]float64{1: 1, 16: 1, 20: 0.8, 32: 0.5} {
		q, err := s.Questions(context.Background(), []string{strings.TrimSpace(strings.Repeat("two ", n))}, encoder.NeedDense|encoder.NeedHidden)
		if err != nil {
			t.Fatal(err)
		}
		query, counts, err := r.query(q[0])
		if err != nil || query.Len() != n || math.Abs(counts-want) > 1e-12 {
			t.Errorf("%d tokens: %d compared, %g of the weight, want %g (%v)", n, query.Len(), counts, want, err)
		}
	}
}

func TestTokenSystemsRefuse(t *testing.T) {
	for name, want := range map[string]error{
		"dense+tokens:weight=-1": ErrOption, "dense+tokens:weight=x": ErrOption, "dense+tokens:rank=16": ErrOption,
		"dense+tokens:states=none": ErrOption, "dense+tokens:what=1": ErrOption, "tokens:states=shift": ErrOption, "tokens:states=own": ErrOption,
		"dense+tokens:states=own": ErrOption, "rlr+tokens:states=own": ErrOption, "hybrid+tokens:states=own": ErrOption, "clr+tokens:states=own": ErrOption,
		"hybrid:clr+slr+tokens:states=own": ErrOption, "bm25+tokens:states=own": ErrOption, "side:passage:slr+tokens:states=own": ErrOption, "tokens:": ErrUnknownName, "nothing+tokens": ErrUnknownName, "+tokens": ErrUnknownName, "dense+tokensx": ErrUnknownName,
	} {
		if _, err := ParseSystem(name); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	for _, name := range []string{"slr+tokens:states=own", "rlr+slr+tokens:states=own", "llr+tokens:states=own/weight=2", "hybrid:llr-full+rlr+tokens:states=own",
		"whole:slr-idf+tokens:states=own", "import:slr:FILE+tokens:states=own", "side:both:slr+tokens:states=own"} {
		if _, err := ParseSystem(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := ParseSystem("hybrid:rlr+tokens:states=own"); err == nil || !strings.Contains(err.Error(), "hybrid:rlr has no") || !strings.Contains(err.Error(), " slr,") {
		t.Errorf("a refusal that does not say what is refused, and what has factors: %v", err)
	}
	dir := townCorpus(t, 10)
	for _, name := range []string{"bm25+tokens", "sparse:slr+tokens", "rlr-local+tokens:states=shift"} {
		if _, err := Run(context.Background(), encoder.NewHash(16), Options{Data: dir, Systems: []string{name}, Tasks: []string{"query"}}); err == nil {
			t.Errorf("%s was measured", name)
		}
	}
}
