package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

func TestProbes(t *testing.T) {
	for _, c := range []struct{ cells, found, all, want int }{
		{1, 10, 10, 1}, {40, 10_000, 10_000, 40}, {60, 15_000, 15_000, 40}, {1000, 250_000, 250_000, 100},
		{1000, 125_000, 250_000, 200}, {1000, 10, 250_000, 1000}, {1000, 0, 250_000, 1000}, {5, 0, 0, 5},
	} {
		if got := probes(c.cells, c.found, c.all); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// madeLocal is the part over n random documents, with its vectors.
func madeLocal(t *testing.T, n, dim, vocab int) (*local, [][]float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	vectors := make([][]float32, n)
	p := &local{dim: dim, vocab: vocab, vector: func(ord uint64) []float32 { return vectors[ord] }}
	if err := p.reset(); err != nil {
		t.Fatal(err)
	}
	var vs []version
	for i := range vectors {
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(r.NormFloat64())
		}
		vec.Normalize(v)
		vectors[i] = v
		vs = append(vs, version{ord: uint64(i), vector: v, tokens: []int32{int32(r.IntN(vocab)), int32(r.IntN(vocab)), int32(i % vocab)}})
	}
	if err := p.add(vs); err != nil {
		t.Fatal(err)
	}
	e := &Engine{local: p}
	if err := e.settle(); err != nil {
		t.Fatal(err)
	}
	return p, vectors
}

func queryOf(ids ...int32) encoder.Tokens {
	return encoder.Tokens{IDs: ids, Special: make([]bool, len(ids))}
}

// A leg that looks into a part of the cells gives every document the score of
// its own cell's vector, completes what it is asked for, and finds as many
// documents as there are however narrow the filter is.
func TestLocalLeg(t *testing.T) {
	const n, dim, vocab = 12_000, 8, 500
	p, vectors := madeLocal(t, n, dim, vocab)
	if p.cells.Cells() != modulate.CellsFor(n) || p.cells.Cells() <= wholeCells {
		t.Fatalf("%d cells", p.cells.Cells())
	}
	in := modulate.Input{Tokens: queryOf(3, 77, 205), Dense: vectors[5]}
	all := make([]int, p.cells.Cells())
	for i := range all {
		all[i] = i
	}
	rows, err := p.Modulate(nil, in, all)
	if err != nil {
		t.Fatal(err)
	}
	score := func(ord uint64) float64 {
		c, _ := p.Cell(ord)
		return float64(vec.Dot(rows[c*dim:(c+1)*dim], vectors[ord]))
	}
	leg, err := newLocalLeg(p, in, in.Dense, n, n)
	if err != nil || len(leg.cells) != wholeCells {
		t.Fatalf("%d cells probed: %v", len(leg.cells), err)
	}
	cs, err := leg.nearest(10, 0, nil)
	if err != nil || len(cs) != 10 {
		t.Fatalf("%d candidates: %v", len(cs), err)
	}
	for i := range 2000 {
		cs = append(cs, fusion.Candidate{Ord: uint64(i * 6)})
	}
	if err := leg.score(cs); err != nil {
		t.Fatal(err)
	}
	for i, c := range cs {
		if math.Abs(c.Dense-score(c.Ord)) > 1e-5 || i > 0 && i < 10 && c.Dense > cs[i-1].Dense {
			t.Fatalf("candidate %d: %v, want %v", i, c.Dense, score(c.Ord))
		}
	}
	for _, share := range []uint64{2, 100, 6000} {
		allow := func(ord uint64) bool { return ord%share == 1 }
		found := n / int(share)
		if leg, err = newLocalLeg(p, in, in.Dense, found, found); err != nil {
			t.Fatal(err)
		}
		cs, err := leg.nearest(50, 0, allow)
		if err != nil || len(cs) != min(50, found) {
			t.Fatalf("one of %d: %d candidates, %v", share, len(cs), err)
		}
	}
	// A K beyond what the likeliest cells hold goes to all of them.
	if leg, err = newLocalLeg(p, in, in.Dense, n, n); err != nil {
		t.Fatal(err)
	}
	if cs, err = leg.nearest(n, 0, nil); err != nil || len(cs) != n {
		t.Fatalf("%d of all, %v", len(cs), err)
	}
}

// localFresh is a build of the engine's local bridges over their partition, from
// the store alone.
func localFresh(t *testing.T, e *Engine) *modulate.Local {
	t.Helper()
	p := e.local.Partition()
	l, err := modulate.NewLocal(p, e.fp.VocabSize, e.local.vector, modulate.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = e.st.Scan(t.Context(), 0, func(ord uint64, rows []store.Row) error {
		return l.Add(p.Cell(rows[0].Vector), ord, slices.Clone(rows[0].Tokens))
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// After a thousand random inserts, updates and deletes, and after the replay of
// half of them, q_out of every cell is that of a fresh fit of the same
// partition, and searches score by it.
func TestLocalFollowsTheDatabase(t *testing.T) {
	dir := t.TempDir()
	enc := encoder.NewHash(32)
	text := func(r *rand.Rand) string {
		return fmt.Sprintf("w%d of x%d and y%d on z%d", r.IntN(40), r.IntN(300), r.IntN(2000), r.IntN(9))
	}
	e, err := Open(t.Context(), dir, enc, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	var first []Document
	r := rand.New(rand.NewPCG(4, 4))
	for i := range 900 {
		first = append(first, Document{ID: fmt.Sprint(i), Text: text(r)})
	}
	if _, err := e.Add(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		fresh := localFresh(t, e)
		if e.local.Partition().Cells() < 3 || e.local.len() != e.st.Len() || e.local.cells.Len() != e.st.Len() {
			t.Fatalf("%s: %d cells with %d and %d of %d documents", when, e.local.Partition().Cells(), e.local.len(), e.local.cells.Len(), e.st.Len())
		}
		cells := make([]int, fresh.Partition().Cells())
		for i := range cells {
			cells[i] = i
		}
		for range 20 {
			q := text(r)
			out, err := enc.Encode(t.Context(), encoder.Query, []string{q}, encoder.NeedDense)
			if err != nil {
				t.Fatal(err)
			}
			in := modulate.Input{Tokens: out[0].Tokens, Dense: out[0].Dense}
			want, err := fresh.Modulate(nil, in, cells)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.local.Modulate(nil, in, cells)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if math.Abs(float64(got[i]-want[i])) > 1e-5 {
					t.Fatalf("%s: component %d is %v, want %v", when, i, got[i], want[i])
				}
			}
			res, err := e.Search(t.Context(), Query{Text: q, Variant: VariantLocal, K: 5})
			if err != nil || res.Trace.Variant != VariantLocal || res.Trace.Cells != len(cells) || len(res.Hits) != 5 {
				t.Fatalf("%s: %+v, %v", when, res.Trace, err)
			}
			for _, h := range res.Hits {
				ord, ok, err := e.view.Lookup(h.ID)
				if err != nil || !ok {
					t.Fatal(h.ID, err)
				}
				c, _ := e.local.Cell(ord)
				v := e.local.vector(ord)
				if s := vec.Dot(want[c*32:(c+1)*32], v); math.Abs(float64(s-h.Modulated)) > 1e-5 || math.Abs(float64(vec.Dot(in.Dense, v)-h.Cosine)) > 1e-5 {
					t.Fatalf("%s: %s scores %v with cosine %v, want %v", when, h.ID, h.Modulated, h.Cosine, s)
				}
			}
		}
	}
	check("at first")
	change := func(n int) {
		for range n {
			id := fmt.Sprint(r.IntN(1200))
			var err error
			if r.IntN(3) == 0 {
				_, err = e.Delete(t.Context(), []string{id})
			} else {
				_, err = e.Upsert(t.Context(), []Document{{ID: id, Text: text(r)}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	change(500)
	check("after 500")
	// Snapshots of this state, and a log beyond them.
	if err := e.saveDerived(t.Context()); err != nil {
		t.Fatal(err)
	}
	change(500)
	check("after 1,000")
	if err := e.st.Close(); err != nil { // as a killed process leaves it
		t.Fatal(err)
	}
	if e, err = Open(t.Context(), dir, enc, Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	check("after replay")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err = Open(t.Context(), dir, enc, Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.local.Dirty() != 0 {
		t.Errorf("%d cells of a closed database are not fitted", e.local.Dirty())
	}
	check("after reopening")
}

func TestLocalVariantNames(t *testing.T) {
	e, err := Open(t.Context(), t.TempDir(), encoder.NewHash(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if r, err := e.Search(t.Context(), Query{Text: "anything", Variant: VariantLocal}); err != nil || len(r.Hits) != 0 {
		t.Fatalf("an empty database: %+v, %v", r, err)
	}
	if _, err := e.Add(t.Context(), []Document{{ID: "a", Text: "some words"}, {ID: "b", Text: "different words"}}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"rlr-local+rlr", "rlr-local+rlr-local", "rlr-local+", "rlr-locale"} {
		if _, err := e.Search(t.Context(), Query{Text: "words", Variant: bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := e.Search(t.Context(), Query{Text: "words", Variant: "rlr-local+slr"}); !errors.Is(err, ErrNotFitted) {
		t.Error(err)
	}
	if _, _, err := e.Vector(t.Context(), Query{Text: "words", Variant: VariantLocal}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	for _, mode := range []string{ModeDense, ModeHybrid, ModeLexical} {
		if r, err := e.Search(t.Context(), Query{Text: "different words", Mode: mode, Variant: VariantLocal}); err != nil || r.Hits[0].ID != "b" {
			t.Errorf("%s: %+v, %v", mode, r, err)
		}
	}
}
