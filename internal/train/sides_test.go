package train

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// A fit of a side gains on held-out probes where that side is modulated, and depends on neither the number of
// workers nor, for passages alone, on what the tokens of queries weigh.
func TestFitSides(t *testing.T) {
	enc := encoder.NewHash(64)
	corpus := encoded(t, enc, invented(200))
	for _, stack := range []string{"slr", "llr", "clr"} {
		made := map[string][]byte{}
		for _, side := range []string{"", PassageSide, BothSides} {
			o := small
			o.Stack, o.Side, o.Workers = stack, side, 1
			w, r, err := Fit(t.Context(), corpus, enc, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %q: losses %.3f, held %.3f, probes %+v", stack, side, r.Losses, r.Held, r.Probes)
			if !(r.Losses[1] < r.Losses[0]) {
				t.Errorf("%s %q: losses %v do not fall", stack, side, r.Losses)
			}
			for _, p := range r.Probes {
				if dense := map[string]float64{"keyword": .265, "part:16": .92}[p.Task]; p.Dense != dense || p.Task == "keyword" && !(p.Modified > p.Dense+0.01) {
					t.Errorf("%s %q: probe %+v, dense has %v", stack, side, p, dense)
				}
			}
			if held := heldBy(t, enc, corpus, w, o); math.Abs(held-r.Held[r.Best-1]) > 2e-3 {
				t.Errorf("%s %q: the weights have the held-out loss %v, the best epoch had %v", stack, side, held, r.Held[r.Best-1])
			}
			if made[side], err = w.Encode(); err != nil {
				t.Fatal(err)
			}
			if side == "" {
				continue
			}
			o.Workers = 3
			if w, _, err = Fit(t.Context(), corpus, enc, o); err != nil {
				t.Fatal(err)
			}
			if again, err := w.Encode(); err != nil || !bytes.Equal(again, made[side]) {
				t.Errorf("%s %q: the number of workers changed the bridge (%v)", stack, side, err)
			}
		}
		if bytes.Equal(made[""], made[PassageSide]) || bytes.Equal(made[PassageSide], made[BothSides]) {
			t.Errorf("%s: two sides have one bridge", stack)
		}
	}
}

// heldBy is the held-out loss of weights whose side o names.
func heldBy(t *testing.T, enc encoder.Encoder, corpus *list, w *modulate.Weights, o Options) float64 {
	t.Helper()
	o, set, sums := begun(t, corpus, enc, o)
	m, err := modulate.NewStack(o.Stack, modulate.Parts{Sums: sums, Weights: w})
	if err != nil {
		t.Fatal(err)
	}
	held, err := drawProbes(t.Context(), enc, set, m.Need(), o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Side != "" {
		out, err := enc.Encode(t.Context(), encoder.Passage, encoder.Texts(set.texts...), m.Need())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range out {
			set.moved = m.Modulate(set.moved, inputOf(x))
		}
	}
	var sum float64
	for i, x := range held.out {
		q := x.Dense
		if o.Side != PassageSide {
			q = m.Modulate(nil, inputOf(x))
		}
		a, err := nearest(t.Context(), set, q, held.target[i:i+1], o)
		if err != nil {
			t.Fatal(err)
		}
		sum += a[0].loss
	}
	return sum / float64(len(held.out))
}

// Passages move in training as a bench moves them: by Modulate of the passage as it is encoded.
func TestPassagesMoveAsModulateMovesThem(t *testing.T) {
	enc := encoder.NewHash(32)
	texts := invented(40)
	corpus := encoded(t, enc, texts)
	for _, stack := range stacks {
		o := small
		o.Stack, o.Side, o.Tau = stack, BothSides, 0.5
		w, _, err := Fit(t.Context(), corpus, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		p, _, _ := prepared(t, corpus, enc, o, w)
		sums, err := sumsOf(t.Context(), corpus, enc)
		if err != nil {
			t.Fatal(err)
		}
		m, err := modulate.NewStack(stack, modulate.Parts{Sums: sums, Weights: w})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.movedPassages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out, err := enc.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), m.Need())
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range out {
			x.Hidden = widen(nil, narrow(nil, x.Hidden)) // as training keeps them
			if want := m.Modulate(nil, inputOf(x)); !slices.Equal(want, got[i*32:(i+1)*32]) || slices.Equal(want, x.Dense) {
				t.Fatalf("%s: passage %d is moved otherwise in training", stack, i)
			}
		}
	}
}
