package modulate

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
)

// inAllSums are the sections of files of sums in both forms.
var inAllSums = []string{"sums", "sums.ids", "sums.pst", "sums.row", "sums.inv", "sums.stp"}

// olderSums returns a file of sums in the older form, which has two tables of all tokens instead of the list
// "sums.cnt".
func olderSums(t testing.TB, data []byte, vocab int) []byte {
	t.Helper()
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := f.Section("sums.cnt")
	if err != nil {
		t.Fatal(err)
	}
	df, off, r := make([]uint32, vocab), make([]uint64, vocab+1), counts.Reader()
	for at := -1; r.Len() > 0; {
		at += int(r.Uvarint())
		df[at], off[at+1] = uint32(r.Uvarint()), r.Uvarint()
	}
	for i := range df {
		off[i+1] += off[i]
	}
	if err := r.Done(); err != nil {
		t.Fatal(err)
	}
	return snapshottest.Extended(t, data, inAllSums, func(w *snapshot.Writer) {
		w.Begin("sums.df")
		w.Uint32s(df)
		w.Begin("sums.off")
		w.Uint64s(off)
	})
}

// Over sums from a file of either form that was made to harm, with checksums that are right, queries
// stay finite.
func FuzzShiftsOverSums(f *testing.F) {
	const d, vocab = 6, 20
	r := rand.New(rand.NewPCG(9, 9))
	s, all := corpusSums(r, d, vocab, 30)
	var buf bytes.Buffer
	w := snapshot.NewWriter(&buf, snapshot.Header{Kind: "sums"})
	if err := errors.Join(s.Save(w), w.Close()); err != nil {
		f.Fatal(err)
	}
	vectors := func(id uint64, _ *[]float32) []float32 {
		if id < uint64(len(all)) {
			return all[id].x
		}
		return nil
	}
	forms := []struct {
		tags []string
		data []byte
	}{{append(slices.Clip(inAllSums), "sums.cnt"), buf.Bytes()}, {append(slices.Clip(inAllSums), "sums.df", "sums.off"), olderSums(f, buf.Bytes(), vocab)}}
	for _, form := range forms {
		whole, err := snapshot.Parse(form.data)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := ridge.OpenSums(d, vocab, 0, vectors, whole); err != nil {
			f.Fatal(err)
		}
	}
	for i := range 2 * len(forms[1].tags) {
		f.Add(uint8(i), uint16(0), uint32(0xffffffff), false)
		f.Add(uint8(i), uint16(0), uint32(0x7f7fffff), false) // the largest float32
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
		changed, err := snapshot.Parse(spoiled)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ridge.OpenSums(d, vocab, 0, vectors, changed)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		p, err := NewProjection(d, vocab)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewStack("rlr+whiten+slr-idf", Parts{Sums: s, Weights: &Weights{Stack: "rlr+slr-idf+whiten", Projection: p}})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(9, 3))
		for token := range int32(vocab) { // each, or what is spoiled is seldom asked for
			for _, x := range m.Modulate(nil, Input{Tokens: tokens(token), Dense: unit(r, d)}) {
				if x-x != 0 {
					t.Fatal("not finite")
				}
			}
		}
	})
}
