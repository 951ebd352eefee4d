package train

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// small is a fit that takes a moment.
var small = Options{QueriesPerPassage: 6, Epochs: 2, Batch: 64}

// stacks are the stacks that the tests of fitting range over.
var stacks = []string{"slr", "rlr+slr", "slr-idf", "rlr+slr+slr-idf", "llr", "rlr+llr+slr", "clr", "clr-softmax", "llr-full", "rlr+clr+llr-full"}

// forms are fits of the stacks, and of the lexical side alone of some.
func forms() (all []Options) {
	for _, s := range stacks {
		all = append(all, Options{Stack: s})
	}
	for _, s := range []string{"slr", "llr", "clr"} {
		all = append(all, Options{Stack: s, Alone: true})
	}
	return all
}

func TestFitGains(t *testing.T) {
	enc := encoder.NewHash(64)
	corpus := encoded(t, enc, invented(200))
	for _, stack := range stacks {
		t.Run(stack, func(t *testing.T) {
			o := small
			o.Stack, o.Seq = stack, 77
			w, r, err := Fit(t.Context(), corpus, enc, o)
			if err != nil {
				t.Fatal(err)
			}
			least := 0.01
			if strings.HasPrefix(stack, "clr") { // knows no more than the dense vector does
				least = -0.02
			}
			t.Logf("%d queries, %d tokens, losses %.3f, probes %+v, took %v", r.Queries, r.Tokens, r.Losses, r.Probes, r.Took)
			if len(r.Losses) != 2 || !(r.Losses[1] < r.Losses[0]) {
				t.Errorf("losses %v do not fall", r.Losses)
			}
			for _, p := range r.Probes {
				if p.Queries != 200 || p.Dense > 0.95 || !(p.Modified > p.Dense+least) {
					t.Errorf("probe %+v: want a gain above %v on 200 queries", p, least)
				}
			}
			if parsed, err := modulate.ParseStack(stack); err != nil || w.Stack != parsed.Name() || w.Seq != 77 || w.Seed != 1 || w.Passages != 200 || w.Queries != r.Queries || len(w.Data) != 64 {
				t.Errorf("weights %+v", w)
			}
			if err := w.CheckEncoder("bridge", enc.Fingerprint()); err != nil {
				t.Error(err)
			}
			if (w.RLR != modulate.RLROptions{}) != strings.Contains(stack, "rlr") {
				t.Errorf("RLR options %+v for %s", w.RLR, stack)
			}
		})
	}
}

// The bytes of the bridge depend on the seed, not on the number of workers.
func TestFitDeterministic(t *testing.T) {
	enc := encoder.NewHash(32)
	corpus := encoded(t, enc, invented(60))
	fit := func(stack string, seed uint64, workers, all int) []byte {
		o := small
		o.Stack, o.Seed, o.Workers, o.AllCandidates = stack, seed, workers, all
		w, _, err := Fit(t.Context(), corpus, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := w.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, stack := range []string{"rlr+slr", "llr-full+slr-idf", "clr+llr"} {
		for _, all := range []int{0, 10} { // all candidates, and sampled ones
			one := fit(stack, 5, 1, all)
			if !bytes.Equal(one, fit(stack, 5, 3, all)) {
				t.Errorf("%s, all candidates %d: the number of workers changed the bridge", stack, all)
			}
			if bytes.Equal(one, fit(stack, 6, 1, all)) {
				t.Errorf("%s, all candidates %d: the seed changed nothing", stack, all)
			}
		}
	}
}

// What training optimises is what a query gets: the forward pass of every
// training query equals Modulate bit for bit.
func TestTrainingPassIsTheQueryPath(t *testing.T) {
	enc := encoder.NewHash(32)
	corpus := encoded(t, enc, invented(40))
	for _, form := range append(forms(), Options{Stack: "llr-exact"}, Options{Stack: "clr-exact"}) {
		o, stack := small, form.Stack
		o.Stack, o.Alone = stack, form.Alone
		w, _, err := Fit(t.Context(), corpus, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		p, _, texts := prepared(t, corpus, enc, o, w)
		sums, err := sumsOf(t.Context(), corpus, enc)
		if err != nil {
			t.Fatal(err)
		}
		m, err := modulate.NewStack(stack, modulate.Parts{Sums: sums, Weights: w, Alone: o.Alone})
		if err != nil {
			t.Fatal(err)
		}
		out, err := enc.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), m.Need())
		if err != nil {
			t.Fatal(err)
		}
		f := newForward(1, 32, 1)
		for i, x := range out {
			if err := p.weigh(t.Context(), []int32{int32(i)}); err != nil {
				t.Fatal(err)
			}
			p.forward(f, 0, i, p.lex[0])
			x.Hidden = widen(nil, narrow(nil, x.Hidden)) // as training keeps them
			if got := m.Modulate(nil, inputOf(x)); !slices.Equal(got, f.out) {
				t.Fatalf("%s: query %q: %v in training, %v in search", stack, texts[i], f.out, got)
			}
		}
	}
}

// The vectors of a Whole variant would take 8 bytes for every token of the vocabulary and query.
func TestWideWeightsAreNotKept(t *testing.T) {
	enc := encoder.NewHash(16)
	corpus := encoded(t, enc, invented(8))
	for stack, want := range map[string]keeping{"slr": keepsWeights, "clr": keepsWeights, "llr": keepsStates, "llr-exact": keepsStates, "clr-exact": keepsNothing} {
		tr, _, _ := prepared(t, corpus, enc, Options{Stack: stack, QueriesPerPassage: 1}, nil)
		if q := tr.q; q.keeps != want || (len(q.lex.IDs) > 0) != (want == keepsWeights) || (len(q.states) > 0) != (want == keepsStates) {
			t.Errorf("%s: keeps %d, %d weights, %d numbers of states", stack, q.keeps, len(q.lex.IDs), len(q.states))
		}
	}
}

// Only what weighs every token has the same tokens in each query: the columns of one query are then those of all.
func TestEvenWeights(t *testing.T) {
	for name, want := range map[string]bool{"mlm-exact": false, "mlm": false, "slr": false, "rlr+mlm-exact": false, "rlr": true} {
		stack, err := modulate.ParseStack(name)
		if err != nil {
			t.Fatal(err)
		}
		b := &modulate.Bridge{}
		if keeps, even := keepingOf(stack, b); even != want || keeps != keepsWeights {
			t.Errorf("%s: even %v, keeps %d", name, even, keeps)
		}
	}
}

// begun is what every fit of corpus reads first.
func begun(t *testing.T, corpus Corpus, enc encoder.Encoder, o Options) (Options, *passages, *ridge.Sums) {
	t.Helper()
	o, err := o.defaults()
	if err != nil {
		t.Fatal(err)
	}
	set, err := readPassages(t.Context(), corpus, enc.Dim(), o)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := sumsOf(t.Context(), corpus, enc)
	if err != nil {
		t.Fatal(err)
	}
	return o, set, sums
}

// prepared returns the problem that a fit of corpus poses with the weights
// that a fit starts with, or those of w; and the texts of its queries.
func prepared(t *testing.T, corpus Corpus, enc encoder.Encoder, o Options, w *modulate.Weights) (*trainer, *modulate.Weights, []string) {
	t.Helper()
	o, set, sums := begun(t, corpus, enc, o)
	stack, err := fittable(o.Stack)
	if err != nil {
		t.Fatal(err)
	}
	parts := modulate.Parts{Sums: sums, RLR: o.RLR}
	shift, err := stack.Shifters(parts)
	if err != nil {
		t.Fatal(err)
	}
	length, err := stateLength(t.Context(), enc, stack, set)
	if err != nil {
		t.Fatal(err)
	}
	if w == nil {
		if w, err = stack.Start(enc.Dim(), enc.VocabSize(), length, parts); err != nil {
			t.Fatal(err)
		}
	}
	parts.Weights = w
	bridge, err := stack.Bridge(parts)
	if err != nil {
		t.Fatal(err)
	}
	d, err := set.draw(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	q, err := encodeQueries(t.Context(), enc, stack, bridge, d, o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Side != "" {
		if err := q.takePassages(t.Context(), enc, stack, bridge, set, o); err != nil {
			t.Fatal(err)
		}
	}
	q.length = length
	tr, err := newTrainer(t.Context(), q, set, shift, bridge, w.Projection, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr, w, d.texts
}

// The gradients of the whole loss with respect to W and to the heads, through
// cosine, softmax, shift, both normalisations, product, lexical weights and
// hidden states, against central differences.
func TestGradientOfTheLoss(t *testing.T) {
	enc := encoder.NewHash(16)
	many, few := encoded(t, enc, invented(30)), encoded(t, enc, invented(10)) // each step modulates all passages
	all := forms()
	sided := []string{"slr", "llr", "clr"} // of the paper's Table 5
	if trial.Long() {
		sided = stacks
	}
	for _, s := range sided {
		all = append(all, Options{Stack: s, Side: PassageSide}, Options{Stack: s, Side: BothSides})
	}
	for _, o := range all {
		stack, corpus := o.Stack+" "+o.Side, many
		if o.Side != "" {
			corpus = few
		}
		o.QueriesPerPassage, o.Tau, o.Batch, o.Workers, o.Bias = 2, 0.5, 5, 1, true
		p, w, _ := prepared(t, corpus, enc, o, nil)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range w.Projection.Rows() {
			w.Projection.Rows()[i] = float32(r.NormFloat64())
		}
		for _, h := range w.Heads {
			for i := range h.U {
				h.U[i] += 0.1 * float32(r.NormFloat64())
			}
		}
		batch := []int32{0, 3, 4, 9, 17}
		f := newForward(len(batch), 16, p.candidates.n)
		rows := p.rows(batch)
		loss := func() float64 {
			if err := p.weigh(t.Context(), rows); err != nil {
				t.Fatal(err)
			}
			for i, r := range batch {
				p.target[i] = p.q.target[r]
			}
			if p.sides == nil {
				p.block(f, batch, p.lex, &p.candidates, p.target, 1, p.dz, p.loss)
			} else if err := p.sided(t.Context(), batch, rows, p.target, 1); err != nil {
				t.Fatal(err)
			}
			var sum float64
			for _, l := range p.loss {
				sum += l
			}
			return sum
		}
		loss()
		p.collect(rows)
		checked, wrong := 0, 0
		check := func(what string, x *float32, h float32, grad float64) {
			was := *x
			*x = was + h
			up := loss()
			*x = was - h
			down := loss()
			*x = was
			want := (up - down) / (2 * float64(h))
			checked++
			if math.Abs(want-grad) > 2e-4+4e-3*math.Abs(want) {
				wrong++
				t.Logf("%s: dL/d%s = %g, finite difference %g", stack, what, grad, want)
			}
		}
		grads := map[int][]float32{}
		for _, s := range p.used {
			g := make([]float32, 16)
			for _, u := range p.usesOf[s] {
				vec.Axpy(g, u.weight, p.dz[int(u.row)*16:int(u.row+1)*16])
			}
			grads[int(s)] = g
		}
		type entry struct {
			h *headFit
			r int
			g []float32
			b float32
		}
		var entries []entry
		if p.learner != nil {
			if err := p.learner.gradients(t.Context(), p, rows); err != nil {
				t.Fatal(err)
			}
			for _, h := range p.learner.heads {
				for r := 0; h != nil && r < h.Rows(); r++ {
					if len(h.usesOf[r]) > 0 {
						g := make([]float32, 16)
						entries = append(entries, entry{h, r, g, h.gradient(p.q, g, r)})
					}
				}
			}
			if len(entries) == 0 {
				t.Fatalf("%s: no head has a gradient", stack)
			}
		}
		bias := slices.Clone(p.biasGradient(len(rows)))
		for j := range bias {
			check("b of Eq. 8", &w.Projection.Bias()[j], 1.0/64, float64(bias[j]))
		}
		for s, g := range grads {
			for j := 0; j < 16; j += 3 {
				check("W", &w.Projection.Rows()[s*16+j], 1.0/64, float64(g[j]))
			}
		}
		for _, e := range entries[:min(20, len(entries))] {
			for j := 0; j < 16; j += 5 {
				check("U", &e.h.U[e.r*16+j], 1.0/256, float64(e.g[j]))
			}
			check("b", &e.h.B[e.r], 1.0/256, float64(e.b))
		}
		// A step of a difference may cross a kink of ReLU or max, which has no
		// derivative: one in a hundred is let pass.
		if checked < 50 || wrong > checked/100 {
			t.Errorf("%s: %d of %d derivatives differ", stack, wrong, checked)
		}
	}
}

// Adam on rows that are used now and then against its published recurrence on
// the whole matrix in float64, in which unused rows have a zero gradient.
func TestAdam(t *testing.T) {
	const steps, rows, dim = 300, 4, 3
	a := newAdam(rows, dim, steps, 0.02)
	w := make([]float32, rows*dim)
	var want, m, v [rows * dim]float64
	r := rand.New(rand.NewPCG(3, 3))
	for step := 1; step <= steps; step++ {
		g := make([]float32, rows*dim)
		for row := range rows {
			if row == 0 || r.IntN([]int{1, 1, 8, 150}[row]) > 0 {
				continue // row 0 is never used, row 1 always
			}
			for i := range dim {
				g[row*dim+i] = float32(r.NormFloat64()) * []float32{1, 1e-4, 0}[i]
			}
			a.settle(w, row, step-1)
			a.apply(w, row, g[row*dim:(row+1)*dim], step)
		}
		// The form at the end of Section 2 of the paper, which leaves ε as it is.
		rate := 0.02 * (1 - float64(step-1)/steps) *
			math.Sqrt(1-math.Pow(0.999, float64(step))) / (1 - math.Pow(0.9, float64(step)))
		for i, x := range g {
			m[i] = 0.9*m[i] + 0.1*float64(x)
			v[i] = 0.999*v[i] + 0.001*float64(x)*float64(x)
			want[i] -= rate * m[i] / (math.Sqrt(v[i]) + 1e-8)
		}
	}
	for row := range rows {
		a.settle(w, row, steps)
	}
	for i := range want {
		if math.Abs(float64(w[i])-want[i]) > 1e-3*math.Abs(want[i])+1e-5 {
			t.Errorf("row %d: %v, want %v", i/dim, w[i], want[i])
		}
	}
	if want[rows*dim-3] == 0 {
		t.Fatal("the rare row was never used")
	}
}

func TestHardNegatives(t *testing.T) {
	enc := encoder.NewHash(32)
	texts := invented(300)
	texts = append(texts, texts[:20]...) // twenty twins
	corpus := encoded(t, enc, texts)
	var calls atomic.Int64
	o := small
	o.AllCandidates = 100
	o.HardNegatives = func(_ context.Context, q []float32, from, to int) ([]int, error) {
		calls.Add(1)
		order := make([]int, len(texts))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int {
			if vec.Dot(q, corpus.vectors[a]) > vec.Dot(q, corpus.vectors[b]) {
				return -1
			}
			return 1
		})
		return order[from:to], nil
	}
	w, r, err := Fit(t.Context(), corpus, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("losses %.3f, probes %+v", r.Losses, r.Probes)
	if r.Distinct != 300 || r.Passages != 320 || int(calls.Load()) != w.Queries {
		t.Errorf("%d distinct of %d passages, %d searches for %d queries", r.Distinct, r.Passages, calls.Load(), w.Queries)
	}
	for _, p := range r.Probes {
		if !(p.Modified > p.Dense) {
			t.Errorf("probe %+v: no gain", p)
		}
	}
	o.HardNegatives = func(context.Context, []float32, int, int) ([]int, error) { return nil, errors.New("index gone") }
	if _, _, err := Fit(t.Context(), corpus, enc, o); err == nil || !strings.Contains(err.Error(), "index gone") {
		t.Errorf("a failing search gave %v", err)
	}
}

// No mined negative has the text of its target, whatever the search returns.
func TestMinedNegativesAreNegative(t *testing.T) {
	enc := encoder.NewHash(32)
	texts := invented(40)
	corpus := encoded(t, enc, append(texts, texts...))
	o, err := Options{AllCandidates: 1, HardNegatives: func(context.Context, []float32, int, int) ([]int, error) {
		return []int{0, 40, 1, 41, 79, -1, 80}, nil
	}}.defaults()
	if err != nil {
		t.Fatal(err)
	}
	set, err := readPassages(t.Context(), corpus, 32, o)
	if err != nil {
		t.Fatal(err)
	}
	q := &queries{dim: 32, dense: make([]float32, 40*32)}
	for i := range int32(40) {
		q.target = append(q.target, i)
	}
	mined, err := mine(t.Context(), q, set, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range mined {
		if m < 0 || int(m) >= 40 || m == q.target[i/o.Negatives] {
			t.Fatalf("query %d got negative %d", i/o.Negatives, m)
		}
	}
}

func TestFitStopsWhenCancelled(t *testing.T) {
	enc := encoder.NewHash(32)
	corpus := encoded(t, enc, invented(200))
	for _, at := range []string{"sample", "encode queries", "fit", "evaluate"} {
		ctx, cancel := context.WithCancel(t.Context())
		o := small
		o.Progress = func(stage string, done, total int, _ float64) {
			if done > total {
				t.Errorf("stage %s: %d of %d", stage, done, total)
			}
			if stage == at {
				cancel()
			}
		}
		if w, _, err := Fit(ctx, corpus, enc, o); !errors.Is(err, context.Canceled) || w != nil {
			t.Errorf("cancelled while in stage %s: error %v", at, err)
		}
		cancel()
	}
}

func TestFitRefuses(t *testing.T) {
	enc := encoder.NewHash(32)
	corpus := encoded(t, enc, invented(20))
	bad := &list{texts: corpus.texts, vectors: slices.Clone(corpus.vectors)}
	bad.vectors[3] = bad.vectors[3][:31]
	twins := encoded(t, enc, []string{"one text", "one text"})
	wordless := encoded(t, enc, []string{"...", "!!!", "?"})
	otherSums, err := ridge.NewSums(31, 5, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		corpus Corpus
		o      Options
		want   error
	}{
		"empty":          {&list{}, Options{}, ErrCorpus},
		"one text":       {twins, Options{}, ErrCorpus},
		"no words":       {wordless, Options{}, ErrCorpus},
		"short vector":   {bad, Options{}, ErrCorpus},
		"other sums":     {corpus, Options{Sums: otherSums}, ErrCorpus},
		"unknown stack":  {corpus, Options{Stack: "nope"}, modulate.ErrUnknownVariant},
		"nothing to fit": {corpus, Options{Stack: "rlr"}, ErrOptions},
		"epochs":         {corpus, Options{Epochs: -1}, ErrOptions},
		"query limit":    {corpus, Options{MaxQueries: -1}, ErrOptions},
		"rate":           {corpus, Options{LearningRate: math.NaN()}, ErrOptions},
		"tau":            {corpus, Options{Tau: -1}, ErrOptions},
		"side":           {corpus, Options{Side: "query"}, ErrOptions},
		"side, mined":    {corpus, Options{Side: BothSides, AllCandidates: 2}, ErrOptions},
		"alone with rlr": {corpus, Options{Stack: "rlr+slr", Alone: true}, modulate.ErrOptions},
		"alpha":          {corpus, Options{RLR: modulate.RLROptions{Alpha: -1}}, modulate.ErrOptions},
	} {
		if _, _, err := Fit(t.Context(), c.corpus, enc, c.o); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	broken := &failingEncoder{Encoder: enc}
	if _, _, err := Fit(t.Context(), corpus, broken, Options{}); err == nil || !strings.Contains(err.Error(), "model broke") {
		t.Errorf("a broken encoder gave %v", err)
	}
}

func TestMaxQueriesSpreadEvenly(t *testing.T) {
	enc := encoder.NewHash(32)
	o, err := Options{MaxQueries: 130}.defaults()
	if err != nil {
		t.Fatal(err)
	}
	set, err := readPassages(t.Context(), encoded(t, enc, invented(60)), 32, o)
	if err != nil {
		t.Fatal(err)
	}
	d, err := set.draw(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	count := make([]int, 60)
	for _, r := range d.target {
		count[r]++
	}
	if len(d.texts) != 130 || slices.Min(count) < 2 || slices.Max(count) > 3 {
		t.Fatalf("%d queries, %d to %d a passage", len(d.texts), slices.Min(count), slices.Max(count))
	}
}

// A bias is fitted when asked for, and moves no query without tokens.
func TestBias(t *testing.T) {
	enc := encoder.NewHash(64)
	corpus := encoded(t, enc, invented(300))
	fit := func(o Options) *modulate.Weights {
		o.QueriesPerPassage, o.Epochs, o.Batch, o.Stack = 6, 2, 64, "slr"
		w, _, err := Fit(t.Context(), corpus, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if plain := fit(Options{}); plain.Projection.Bias() != nil {
		t.Errorf("a bias %v without a wish for one", plain.Projection.Bias())
	}
	with := fit(Options{Bias: true})
	if vec.Norm(with.Projection.Bias()) == 0 {
		t.Error("no bias was fitted")
	}
	for _, p := range with.Probes {
		if !(p.Modified > p.Dense) {
			t.Errorf("with bias: probe %+v", p)
		}
	}
	m, err := modulate.NewStack("slr", modulate.Parts{Weights: with})
	if err != nil {
		t.Fatal(err)
	}
	q := corpus.vectors[0]
	if got := m.Modulate(nil, modulate.Input{Dense: q}); !slices.Equal(got, q) {
		t.Error("the bias moved a query without tokens")
	}
}

// Hidden states take no more memory than allowed; the queries that are left
// out are spread over the passages.
func TestStatesAreBounded(t *testing.T) {
	enc := encoder.NewHash(32)
	corpus := encoded(t, enc, invented(80))
	o := small
	o.Stack = "llr"
	all, _, _ := prepared(t, corpus, enc, o, nil)
	o.StateBytes = int64(len(all.q.states)) // half of what they take
	half, _, _ := prepared(t, corpus, enc, o, nil)
	if n := 2 * int64(len(half.q.states)); n > o.StateBytes || n < o.StateBytes/2 {
		t.Fatalf("%d bytes of states where %d are allowed", n, o.StateBytes)
	}
	if half.q.len() >= all.q.len() || half.q.len() < 80 {
		t.Fatalf("%d of %d queries are left", half.q.len(), all.q.len())
	}
}

// A head that is taught leaves its start, and stays near it.
func TestHeadsLearn(t *testing.T) {
	enc := encoder.NewHash(64)
	corpus := encoded(t, enc, invented(300))
	o := small
	o.Stack = "llr"
	w, _, err := Fit(t.Context(), corpus, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	h := w.Heads["llr"]
	if vec.Norm(h.U) == 0 || h.B[0] == 1 {
		t.Fatalf("u and b have not moved: %v", h)
	}
	out, err := enc.Encode(t.Context(), encoder.Query, encoder.Texts(corpus.texts[:50]...), encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out {
		for j := range x.Tokens.IDs {
			if a := vec.Dot(h.U, x.Hidden[j*64:(j+1)*64]) + h.B[0]; a < -1 || a > 6 {
				t.Fatalf("a token scores %v after a short fit that began at 1", a)
			}
		}
	}
}

// To find the tokens in use takes a forward pass a query where weights are made from states, so it ends with its context.
func TestTouchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := touch(ctx, nil, &queries{target: make([]int32, 1)}, &modulate.Bridge{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
