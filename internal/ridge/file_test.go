package ridge

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
)

func saved(t testing.TB, s *Sums) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := snapshot.NewWriter(&buf, snapshot.Header{Kind: "sums"})
	if err := s.Save(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func opened(s *Sums, data []byte) (*Sums, error) {
	f, err := snapshot.Parse(data)
	if err != nil {
		return nil, err
	}
	o, err := OpenSums(s.dim, s.VocabSize(), s.lambda, s.vectors, f)
	if err == nil {
		o.rowOver = s.rowOver
	}
	return o, err
}

// lived is a corpus with removed passages, rows, a factor and steps.
func lived(t testing.TB, d, vocab, n int) *growing {
	r := rand.New(rand.NewPCG(9, 9))
	g := newGrowing(d, vocab)
	g.rowOver = n / 6
	for range n {
		g.add(randomPassage(r, d, vocab))
	}
	g.remove(0, 5, 5)
	g.settle(t)
	g.add(randomPassage(r, d, vocab), randomPassage(r, d, vocab))
	g.remove(2)
	return g
}

func TestSumsSnapshot(t *testing.T) {
	const vocab = 50
	r := rand.New(rand.NewPCG(9, 1))
	for _, c := range []struct{ d, n int }{{12, 60}, {128, 25}, {3, 9}} {
		g := lived(t, c.d, vocab, c.n)
		data := saved(t, g.Sums)
		s, err := opened(g.Sums, data)
		if err != nil {
			t.Fatal(err)
		}
		qs := someQuestions(r, c.d, vocab, 20)
		compact, err := g.Compacted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := answers(t, s, qs)
		if diff, whole := worst(got, answers(t, compact, qs)), worst(got, answers(t, g.Sums, qs)); diff != 0 || whole > 1e-6 {
			t.Fatalf("d %d: differs by %g after reading, by %g from before it was compacted", c.d, diff, whole)
		}
		if err := s.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(saved(t, s), data) {
			t.Fatalf("d %d: another snapshot after reading", c.d)
		}
		if rows := s.Bytes().Rows; rows == 0 || rows != compact.Bytes().Rows {
			t.Fatalf("d %d: %d bytes of rows", c.d, rows)
		}
		if len(s.inverse.q) != len(g.inverse.q) || len(s.factor.q) != len(g.factor.q) || len(s.inverse.q) == len(s.factor.q) {
			t.Fatalf("d %d: %d steps", c.d, len(s.inverse.q))
		}
		// Both go on from there.
		p := randomPassage(r, c.d, vocab)
		h := &growing{Sums: s, all: g.all, next: g.next, x: g.x}
		h.add(p)
		h.remove(1)
		again, err := h.Compacted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err = h.Rebase(h.Sums, again); err != nil {
			t.Fatal(err)
		}
		want := answers(t, fresh(t, c.d, vocab, h.all), qs)
		for _, s := range []*Sums{h.Sums, again} {
			if diff := worst(answers(t, s, qs), want); diff > 1e-5 {
				t.Fatalf("d %d: differs by %g from a fresh one", c.d, diff)
			}
		}
		if h.settle(t); h.Verify(t.Context()) != nil {
			t.Fatal(h.Err())
		}
	}
	if s, err := opened(newGrowing(4, 9).Sums, saved(t, newGrowing(4, 9).Sums)); err != nil || s.Len() != 0 || s.Verify(t.Context()) != nil {
		t.Fatalf("no passage: %v", err)
	}
}

func TestSumsOfAnotherShape(t *testing.T) {
	g := lived(t, 12, 50, 60)
	f, err := snapshot.Parse(saved(t, g.Sums))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ d, vocab int }{{13, 50}, {12, 51}} {
		if _, err := OpenSums(c.d, c.vocab, 1, g.vector, f); !errors.Is(err, ErrCorrupt) || !errors.Is(err, snapshot.ErrDamaged) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	s, err := OpenSums(12, 50, 2, g.vector, f)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := s.Staleness(); n == 0 || s.Ready() {
		t.Error("a factor of another ridge is in use")
	}
	fac, err := s.Factor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.WithFactor(fac); err != nil || s.Verify(t.Context()) != nil {
		t.Errorf("with a factor of its own: %v", err)
	}
	if err := g.Save(snapshot.NewWriter(full{}, snapshot.Header{Kind: "sums"})); err != nil && !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// Whatever bit is wrong, what was read is right or the damage is told.
func TestDamagedSums(t *testing.T) {
	const d, vocab = 12, 50
	g := lived(t, d, vocab, 60)
	data := saved(t, g.Sums)
	qs := someQuestions(rand.New(rand.NewPCG(9, 2)), d, vocab, 10)
	want := answers(t, g.Sums, qs)
	told := 0
	for at := 0; at < len(data); at += 11 {
		bad := bytes.Clone(data)
		bad[at] ^= 0x10
		s, err := opened(g.Sums, bad)
		if err != nil {
			if !errors.Is(err, snapshot.ErrDamaged) {
				t.Fatalf("bit flipped at %d: %v", at, err)
			}
			told++
			continue
		}
		for _, q := range qs {
			if _, _, err := answer(t.Context(), s, q); err != nil && s.Err() == nil {
				t.Fatalf("bit flipped at %d: %v, and no word of it later", at, err)
			}
		}
		if err := s.Err(); err != nil {
			if !errors.Is(err, ErrCorrupt) || !errors.Is(err, snapshot.ErrDamaged) {
				t.Fatalf("bit flipped at %d: %v", at, err)
			}
			told++
		} else if worst(answers(t, s, qs), want) > 1e-6 {
			t.Fatalf("bit flipped at %d: wrong answers in silence", at)
		}
	}
	if told < len(data)/11/2 {
		t.Errorf("%d of %d damages were told", told, len(data)/11)
	}
	for cut := 0; cut < len(data); cut += 97 {
		if _, err := opened(g.Sums, data[:cut]); !errors.Is(err, snapshot.ErrDamaged) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// A file of either form that was made to harm, with checksums that are right, is refused or
// answers something, in bounded memory.
func FuzzOpenSums(f *testing.F) {
	const d, vocab = 6, 20
	g := lived(f, d, vocab, 30)
	whole, err := g.Compacted(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	data := saved(f, whole)
	forms := []struct {
		tags []string
		data []byte
	}{{append(slices.Clip(inAllSums), sumsCounts), data}, {append(slices.Clip(inAllSums), sumsDF, sumsOffsets), olderSums(f, data, whole.frozen.df, whole.frozen.off)}}
	for i := range 2 * len(forms[1].tags) {
		f.Add(uint8(i), uint16(0), uint32(0xffffffff), false)
		f.Add(uint8(i), uint16(8), uint32(1), true)
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, value uint32, cut bool) {
		form := forms[which%2]
		spoiled := snapshottest.Rewritten(t, form.data, form.tags, func(i int, b []byte) []byte {
			if i != int(which/2)%len(form.tags) {
				return b
			}
			return snapshottest.Spoil(b, int(at), value, cut)
		})
		s, err := opened(g.Sums, spoiled)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		for _, q := range someQuestions(rand.New(rand.NewPCG(9, 3)), d, vocab, 4) {
			l, u, err := answer(t.Context(), s, q)
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNoFactor) {
				t.Fatal(err)
			}
			for i := range l {
				if l[i]-l[i] != 0 || u[i]-u[i] != 0 {
					t.Fatal("not finite")
				}
			}
			us, bs, err := s.Regress(t.Context(), q.ids)
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrOptions) && !errors.Is(err, ErrPassage) {
				t.Fatal(err)
			}
			if err == nil && (len(us) != d*len(q.ids) || len(bs) != len(q.ids)) {
				t.Fatalf("%d and %d numbers for %d tokens", len(us), len(bs), len(q.ids))
			}
		}
		if err := s.Verify(t.Context()); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if _, err := s.Compacted(t.Context()); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		e := s.Edit()
		if err := e.Remove(g.all[3].id, g.all[3].x, g.all[3].tokens); err == nil {
			if _, err := e.Done(); err != nil && !errors.Is(err, ErrPassage) && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
		}
	})
}

// inAllSums are the sections of files of both forms.
var inAllSums = []string{sumsMeta, sumsIDs, sumsPostings, sumsRows, sumsInverse, sumsSteps}

// olderSums returns a file in the older form, of df and off for all tokens.
func olderSums(t testing.TB, data []byte, df []uint32, off []uint64) []byte {
	t.Helper()
	return snapshottest.Extended(t, data, inAllSums, func(w *snapshot.Writer) {
		w.Begin(sumsDF)
		w.Uint32s(df)
		w.Begin(sumsOffsets)
		w.Uint64s(off)
	})
}

// TestOlderSums: files that tell the passages of each token are read, and what does not fit is refused.
func TestOlderSums(t *testing.T) {
	const d, vocab = 12, 50
	g := lived(t, d, vocab, 60)
	s, err := g.Compacted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data := saved(t, s)
	qs := someQuestions(rand.New(rand.NewPCG(9, 4)), d, vocab, 20)
	o, err := opened(s, olderSums(t, data, s.frozen.df, s.frozen.off))
	if err != nil {
		t.Fatal(err)
	}
	if diff := worst(answers(t, o, qs), answers(t, s, qs)); diff != 0 || o.Verify(t.Context()) != nil || !bytes.Equal(saved(t, o), data) {
		t.Errorf("differs by %g, or is saved otherwise", diff)
	}
	for name, raw := range map[string][]byte{
		"fewer tokens": olderSums(t, data, s.frozen.df[1:], s.frozen.off), "fewer ends": olderSums(t, data, s.frozen.df, s.frozen.off[1:]),
	} {
		if _, err := opened(s, raw); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSavedRows: of a small corpus the rows of tokens that are summed soon are not saved.
func TestSavedRows(t *testing.T) {
	const d, n = 64, 40
	r := rand.New(rand.NewPCG(9, 5))
	g := newGrowing(d, 3)
	for i := range n {
		g.add(passage{x: unit(r, d), tokens: []int32{0, int32(i%9/8 + 1)}}) // of 40, 36 and 4 passages
	}
	for range n / 4 {
		g.remove(1)
	}
	g.settle(t)
	s, err := opened(g.Sums, saved(t, g.Sums))
	if err != nil {
		t.Fatal(err)
	}
	for id := range int32(3) {
		df := g.DF(id)
		if kept := s.tokens.At(int(id)).row != nil; kept != (df > 3*d/20) || s.DF(id) != df || (g.tokens.At(int(id)).row != nil) != (df > d/32) {
			t.Errorf("token of %d passages, read with %d: row %v", df, s.DF(id), kept)
		}
	}
	qs := someQuestions(r, d, 3, 9)
	if diff := worst(answers(t, s, qs), answers(t, g.Sums, qs)); diff > 1e-6 {
		t.Errorf("differs by %g", diff)
	}
}
