package modulate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// naive is RLR straight from its definition: it forms X, B and R.
func naive(all []passage, ids []int32, q []float32, alpha, lambda float64) []float32 {
	n, d := len(all), len(q)
	mean := make([]float64, d)
	for _, p := range all {
		for i, x := range p.x {
			mean[i] += float64(x) / float64(n)
		}
	}
	x := mat.NewDense(n, d, nil)
	for r, p := range all {
		for i, f := range p.x {
			x.Set(r, i, float64(f)-mean[i])
		}
	}
	var a, xt, inv mat.Dense
	a.Mul(x.T(), x)
	for i := range d {
		a.Set(i, i, a.At(i, i)+lambda)
	}
	if err := inv.Inverse(&a); err != nil {
		panic(err)
	}
	xt.Mul(&inv, x.T())
	l := make([]float64, d)
	for _, t := range ids {
		b := mat.NewVecDense(n, nil)
		df := 0
		for r, p := range all {
			if slices.Contains(p.tokens, t) {
				b.SetVec(r, 1)
				df++
			}
		}
		var rt mat.VecDense
		rt.MulVec(&xt, b)
		w := math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
		for i := range l {
			l[i] += w * rt.AtVec(i)
		}
	}
	var ll, vv float64
	for _, f := range l {
		ll += f * f
	}
	v := make([]float64, d)
	for i := range v {
		v[i] = float64(q[i]) + alpha*l[i]/math.Sqrt(ll)
		vv += v[i] * v[i]
	}
	out := make([]float32, d)
	for i := range out {
		out[i] = float32(v[i] / math.Sqrt(vv))
	}
	return out
}

func TestRLREqualsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const d, vocab = 16, 80
	sums, all := corpusSums(r, d, vocab, 120)
	m := build(t, "rlr", Parts{Sums: sums, RLR: RLROptions{Alpha: 0.7, Lambda: 0.3}})
	for range 30 {
		in := Input{Tokens: randomTokens(r, vocab, 4), Dense: unit(r, d)}
		want := naive(all, in.Tokens.Lexical(nil), in.Dense, 0.7, 0.3)
		if diff := maxDiff(m.Modulate(nil, in), want); diff > 1e-5 {
			t.Fatalf("differs from the definition by %g", diff)
		}
	}
}

// After a thousand random inserts, deletes and updates, queries in between,
// the sums equal a fresh fit.
func TestSumsExactUnderChange(t *testing.T) {
	for _, between := range []int{1, 7, 300, 2000} { // operations between queries
		r := rand.New(rand.NewPCG(uint64(between), 3))
		const d, vocab = 32, 120
		sums, all := corpusSums(r, d, vocab, 60)
		m := build(t, "rlr+whiten", Parts{Sums: sums})
		query := func() Input { return Input{Tokens: randomTokens(r, vocab, 5), Dense: unit(r, d)} }
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for op := range 1000 {
			if len(all) > 0 && r.IntN(2) == 0 {
				i := r.IntN(len(all))
				must(sums.Remove(all[i].x, all[i].tokens))
				if r.IntN(2) == 0 { // an update
					all[i] = randomPassage(r, d, vocab)
					must(sums.Add(all[i].x, all[i].tokens))
				} else {
					all = slices.Delete(all, i, i+1)
				}
			} else {
				p := randomPassage(r, d, vocab)
				all = append(all, p)
				must(sums.Add(p.x, p.tokens))
			}
			if op%between == 0 {
				m.Modulate(nil, query())
			}
		}
		fresh := NewSums(d, vocab)
		for _, p := range all {
			must(fresh.Add(p.x, p.tokens))
		}
		f := build(t, "rlr+whiten", Parts{Sums: fresh})
		if sums.Len() != len(all) || sums.Len() != fresh.Len() {
			t.Fatalf("%d passages, want %d", sums.Len(), len(all))
		}
		for id := range int32(vocab) {
			if sums.DF(id) != fresh.DF(id) {
				t.Fatalf("df of %d is %d, want %d", id, sums.DF(id), fresh.DF(id))
			}
		}
		var worst float64
		for range 200 {
			in := query()
			worst = max(worst, maxDiff(m.Modulate(nil, in), f.Modulate(nil, in)))
		}
		if worst > 1e-5 {
			t.Fatalf("queries every %d operations: %g off a fresh fit", between, worst)
		}
		t.Logf("queries every %d operations: %.2g off a fresh fit", between, worst)
	}
}

func TestAddAllEqualsAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	const d, vocab = 24, 90
	for _, n := range []int{0, 1, 7, 8, 9, 100} {
		one, all := corpusSums(r, d, vocab, n)
		bulk := NewSums(d, vocab)
		var xs []float32
		var toks [][]int32
		for _, p := range all {
			xs = append(xs, p.x...)
			toks = append(toks, append(slices.Clone(p.tokens), p.tokens...)) // repetition counts once
		}
		if err := bulk.AddAll(xs, toks); err != nil {
			t.Fatal(err)
		}
		a, b := build(t, "rlr", Parts{Sums: one}), build(t, "rlr", Parts{Sums: bulk})
		for range 20 {
			in := Input{Tokens: randomTokens(r, vocab, 5), Dense: unit(r, d)}
			if diff := maxDiff(a.Modulate(nil, in), b.Modulate(nil, in)); diff > 1e-6 {
				t.Fatalf("%d passages: AddAll differs from Add by %g", n, diff)
			}
		}
	}
}

// Tokens of every passage, of none, and a corpus of one vector have no
// direction: the query stays as it is, bit for bit, however the sums were made.
func TestRLRWithoutDirection(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const d, vocab = 16, 20
	sums := NewSums(d, vocab)
	m := build(t, "rlr", Parts{Sums: sums})
	check := func(why string, ids ...int32) {
		t.Helper()
		in := Input{Tokens: tokens(ids...), Dense: unit(r, d)}
		if !same(m.Modulate(nil, in), in.Dense) {
			t.Errorf("%s: the query moved", why)
		}
	}
	check("empty corpus", 5)
	x := unit(r, d)
	for range 50 {
		if err := sums.Add(x, []int32{5, 6}); err != nil {
			t.Fatal(err)
		}
	}
	check("token of every passage", 5, 6)
	for range 30 {
		if err := sums.Add(x, []int32{7}); err != nil {
			t.Fatal(err)
		}
	}
	check("all vectors equal", 5, 7)
	check("token never seen", 9)
	if err := sums.Remove(x, []int32{7}); err != nil {
		t.Fatal(err)
	}
	check("all vectors equal after a delete", 7)
}

func TestSumsRejectBadPassages(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	const d, vocab = 8, 20
	sums, all := corpusSums(r, d, vocab, 3)
	x := unit(r, d)
	bad := slices.Clone(x)
	bad[3] = float32(math.NaN())
	absent := int32(-1)
	for id := range int32(vocab) {
		if sums.DF(id) == 0 {
			absent = id
		}
	}
	for name, err := range map[string]error{
		"short vector":   sums.Add(x[:7], nil),
		"NaN":            sums.Add(bad, nil),
		"token too big":  sums.Add(x, []int32{vocab}),
		"negative token": sums.Add(x, []int32{-1}),
		"token absent":   sums.Remove(x, []int32{absent}),
		"bulk shape":     sums.AddAll(x[:5], [][]int32{nil}),
		"bulk NaN":       sums.AddAll(append(slices.Clone(x), bad...), [][]int32{nil, nil}),
	} {
		if !errors.Is(err, ErrPassage) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, p := range all {
		if err := sums.Remove(p.x, p.tokens); err != nil {
			t.Fatal(err)
		}
	}
	if err := sums.Remove(x, nil); !errors.Is(err, ErrPassage) {
		t.Errorf("removing from nothing: error %v", err)
	}
}

func TestRLRFollowsWhileQueried(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const d, vocab = 16, 40
	sums, all := corpusSums(r, d, vocab, 20)
	m := build(t, "rlr", Parts{Sums: sums})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 3 {
		rng := rand.New(rand.NewPCG(uint64(w), 1))
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				out := m.Modulate(nil, Input{Tokens: randomTokens(rng, vocab, 4), Dense: unit(rng, d)})
				if x := out[0]; x-x != 0 {
					t.Error("not finite")
					return
				}
			}
		})
	}
	for range 300 {
		p := randomPassage(r, d, vocab)
		if err := sums.Add(p.x, p.tokens); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	close(stop)
	wg.Wait()
	in := Input{Tokens: randomTokens(r, vocab, 4), Dense: unit(r, d)}
	if diff := maxDiff(m.Modulate(nil, in), naive(all, in.Tokens.Lexical(nil), in.Dense, 0.5, 1)); diff > 1e-5 {
		t.Fatalf("differs from the definition by %g", diff)
	}
}

func TestSumsSnapshot(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	const d, vocab = 12, 50
	sums, all := corpusSums(r, d, vocab, 30)
	if err := sums.Remove(all[0].x, all[0].tokens); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	n, err := sums.WriteTo(&buf)
	if err != nil || n != int64(buf.Len()) {
		t.Fatalf("wrote %d of %d: %v", n, buf.Len(), err)
	}
	file := slices.Clone(buf.Bytes())
	buf.WriteString("what follows")
	got := NewSums(d, vocab)
	if k, err := got.ReadFrom(&buf); err != nil || k != n {
		t.Fatalf("read %d of %d: %v", k, n, err)
	}
	if buf.String() != "what follows" {
		t.Fatalf("read too far: %q is left", buf.String())
	}
	var again bytes.Buffer
	if _, err := got.WriteTo(&again); err != nil || !bytes.Equal(again.Bytes(), file) {
		t.Fatalf("another snapshot after reading: %v", err)
	}
	a, b := build(t, "rlr", Parts{Sums: sums}), build(t, "rlr", Parts{Sums: got})
	p := randomPassage(r, d, vocab)
	for _, s := range []*Sums{sums, got} { // both go on from there
		if err := s.Add(p.x, p.tokens); err != nil {
			t.Fatal(err)
		}
	}
	in := Input{Tokens: randomTokens(r, vocab, 5), Dense: unit(r, d)}
	if diff := maxDiff(a.Modulate(nil, in), b.Modulate(nil, in)); diff > 1e-6 {
		t.Fatalf("differs by %g after reading", diff)
	}

	kept := NewSums(d, vocab)
	if err := kept.Add(p.x, p.tokens); err != nil {
		t.Fatal(err)
	}
	for cut := range file {
		if _, err := kept.ReadFrom(bytes.NewReader(file[:cut])); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: error %v", cut, err)
		}
		flipped := slices.Clone(file)
		flipped[cut] ^= 0x10
		if _, err := kept.ReadFrom(bytes.NewReader(flipped)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit flipped at %d: error %v", cut, err)
		}
	}
	if kept.Len() != 1 {
		t.Fatalf("a damaged snapshot left %d passages, want the 1 before", kept.Len())
	}
	if _, err := NewSums(d+1, vocab).ReadFrom(bytes.NewReader(file)); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("another dimension: error %v", err)
	}
	if _, err := sums.WriteTo(failing{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("a full disk: error %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func BenchmarkAddAll(b *testing.B) {
	const d, vocab, most = 384, 30522, 100_000
	r := rand.New(rand.NewPCG(1, 1))
	var xs []float32
	var toks [][]int32
	for range most {
		xs = append(xs, unit(r, d)...)
		toks = append(toks, zipf(r, vocab, 75))
	}
	for _, n := range []int{5000, most} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s := NewSums(d, vocab)
				if err := s.AddAll(xs[:n*d], toks[:n]); err != nil {
					b.Fatal(err)
				}
				m, err := NewStack("rlr", Parts{Sums: s})
				if err != nil {
					b.Fatal(err)
				}
				m.Modulate(nil, Input{Tokens: tokens(toks[0]...), Dense: xs[:d]})
			}
			b.ReportMetric(float64(b.Elapsed().Seconds())/float64(b.N)/float64(n)*1e6, "µs/passage")
		})
	}
}

// zipf draws n distinct-ish token ids with the frequencies of text.
func zipf(r *rand.Rand, vocab, n int) []int32 {
	z := rand.NewZipf(r, 1.1, 3, uint64(vocab-1))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(z.Uint64())
	}
	return ids
}

func BenchmarkModulate(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const d, vocab = 384, 30522
	s := NewSums(d, vocab)
	p, _ := NewProjection(d, vocab)
	for range 2000 {
		ids := zipf(r, vocab, 75)
		if err := s.Add(unit(r, d), ids); err != nil {
			b.Fatal(err)
		}
		if err := p.Touch(ids...); err != nil {
			b.Fatal(err)
		}
	}
	for i := range p.rows {
		p.rows[i] = float32(r.NormFloat64())
	}
	in := fullInput(r, d, vocab, tokens(zipf(r, vocab, 20)...))
	for _, name := range []string{"slr", "slr-idf", "llr", "llr-full", "clr", "mlm", "rlr", "whiten", "rlr+whiten", "rlr+slr"} {
		stack, err := ParseStack(name)
		if err != nil {
			b.Fatal(err)
		}
		parts := Parts{Sums: s}
		if stack.Fitted() {
			if parts.Weights, err = stack.Start(d, vocab, 1, parts); err != nil {
				b.Fatal(err)
			}
			parts.Weights.Projection = p
		}
		m, err := NewStack(name, parts)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out []float32
			for b.Loop() {
				out = m.Modulate(out[:0], in)
			}
		})
	}
	b.Run("add", func(b *testing.B) {
		x := unit(r, d)
		for b.Loop() {
			if err := s.Add(x, in.Tokens.IDs); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("add+rlr", func(b *testing.B) { // a rank-one step each
		m, err := NewStack("rlr", Parts{Sums: s})
		if err != nil {
			b.Fatal(err)
		}
		x := unit(r, d)
		var out []float32
		for b.Loop() {
			if err := s.Add(x, in.Tokens.IDs); err != nil {
				b.Fatal(err)
			}
			out = m.Modulate(out[:0], in)
		}
	})
}
