package modulate

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
	"github.com/lexsem/lexsem/modulate/ridge"
)

// Over sums from a file that was made to harm, with checksums that are right, queries
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
	vectors := func(id uint64) []float32 {
		if id < uint64(len(all)) {
			return all[id].x
		}
		return nil
	}
	tags := []string{"sums", "sums.ids", "sums.df", "sums.off", "sums.pst", "sums.row", "sums.inv", "sums.stp"}
	for i := range tags {
		f.Add(uint8(i), uint16(0), uint32(0xffffffff), false)
		f.Add(uint8(i), uint16(0), uint32(0x7f7fffff), false) // the largest float32
		f.Add(uint8(i), uint16(8), uint32(1), true)
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, value uint32, cut bool) {
		spoiled := snapshottest.Rewritten(t, buf.Bytes(), tags, func(i int, b []byte) []byte {
			if i != int(which)%len(tags) {
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
		for range 4 {
			for _, x := range m.Modulate(nil, Input{Tokens: randomTokens(r, vocab, 5), Dense: unit(r, d)}) {
				if x-x != 0 {
					t.Fatal("not finite")
				}
			}
		}
	})
}
