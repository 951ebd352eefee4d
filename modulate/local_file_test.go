package modulate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

func written(t testing.TB, l *Local) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := l.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("%d bytes reported of %d: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

func (c localCorpus) read(data []byte, o LocalOptions) (*Local, error) {
	return ReadLocal(data, lawDim, lawVocab, func(id uint64) []float32 { return c.passages[id].x }, o)
}

// What is read back gives the same queries bit for bit, without a fit, follows
// the corpus as the original does, and is written as the same bytes.
func TestLocalFile(t *testing.T) {
	c := newLocalCorpus(t, 11, 300, 6)
	r := rand.New(rand.NewPCG(1, 7))
	for _, l := range []*Local{c.build(t, LocalOptions{}), c.empty(t, LocalOptions{}), c.build(t, LocalOptions{TableFrom: 1})} {
		for i := range 40 { // not only what came in order
			l.Remove(uint64(i * 7))
		}
		data := written(t, l)
		if l.Dirty() != 0 {
			t.Fatal("cells were written that had changed")
		}
		got, err := c.read(data, LocalOptions{TableFrom: l.o.TableFrom})
		if err != nil {
			t.Fatal(err)
		}
		if got.Dirty() != 0 || got.Len() != l.Len() || !bytes.Equal(written(t, got), data) {
			t.Fatal("read back as something else")
		}
		for round := range 2 {
			for range 20 {
				in := Input{Tokens: randomTokens(r, lawVocab, 1+r.IntN(12)), Dense: unit(r, lawDim)}
				if !same(localVectors(t, got, in, every(l)), localVectors(t, l, in, every(l))) {
					t.Fatalf("round %d: other vectors", round)
				}
			}
			for _, x := range []*Local{l, got} {
				x.Remove(1)
				x.Remove(201)
				c.add(t, x, 1, 14)
				x.Remove(14)
			}
		}
	}
}

func TestLocalFileRefuses(t *testing.T) {
	c := newLocalCorpus(t, 12, 60, 3)
	data := written(t, c.build(t, LocalOptions{}))
	if _, err := c.read(data, LocalOptions{Lambda: 7}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("other lambda: %v", err)
	}
	if _, err := ReadLocal(data, lawDim+1, lawVocab, func(uint64) []float32 { return nil }, LocalOptions{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("other dimension: %v", err)
	}
	for at := 0; at < len(data); at += 1 + len(data)/500 {
		bad := bytes.Clone(data)
		bad[at] ^= 0x20
		if _, err := c.read(bad, LocalOptions{}); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit at %d: %v", at, err)
		}
		if _, err := c.read(data[:at], LocalOptions{}); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
}

// FuzzReadLocal: whatever stands behind a right checksum, reading answers with
// bridges that serve queries, or with an error.
func FuzzReadLocal(f *testing.F) {
	c := newLocalCorpus(f, 13, 40, 3)
	data := written(f, c.build(f, LocalOptions{}))
	f.Add(data[:len(data)-4])
	f.Add(data[:60])
	in := Input{Tokens: tokens(1, 2, 3), Dense: unit(rand.New(rand.NewPCG(1, 1)), lawDim)}
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := c.read(sealed(body), LocalOptions{})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if _, err := l.Modulate(nil, in, every(l)); err != nil {
			t.Fatal(err)
		}
	})
}

// A query fits the cells it looks into and no others.
func TestLocalFitsWhatIsAsked(t *testing.T) {
	c := newLocalCorpus(t, 14, 200, 5)
	l := c.build(t, LocalOptions{})
	if l.Dirty() != 5 {
		t.Fatalf("%d cells to fit, want 5", l.Dirty())
	}
	in := Input{Tokens: tokens(1, 2, 3), Dense: unit(rand.New(rand.NewPCG(1, 1)), lawDim)}
	cells, err := l.Probe(nil, in, 2)
	if err != nil || l.Dirty() != 5 {
		t.Fatalf("probing left %d cells to fit: %v", l.Dirty(), err)
	}
	localVectors(t, l, in, cells)
	if l.Dirty() != 3 {
		t.Fatalf("%d cells to fit after two of five were asked for", l.Dirty())
	}
}

// Repartition keeps the passages and gives what a build over its cells gives.
func TestLocalRepartition(t *testing.T) {
	c := newLocalCorpus(t, 15, 700, 2)
	old := c.build(t, LocalOptions{})
	old.Remove(3)
	l, err := old.Repartition(PartitionOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if l.Len() != 699 || old.Len() != 699 || l.Partition().Cells() != CellsFor(699) {
		t.Fatalf("%d passages in %d cells", l.Len(), l.Partition().Cells())
	}
	fresh, err := NewLocal(l.Partition(), lawVocab, func(id uint64) []float32 { return c.passages[id].x }, LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range c.passages {
		if i == 3 {
			continue
		}
		cell, ok := l.Cell(uint64(i))
		if !ok || cell != l.Partition().Cell(p.x) {
			t.Fatalf("passage %d in cell %d, %v", i, cell, ok)
		}
		if err := fresh.Add(cell, uint64(i), p.tokens); err != nil {
			t.Fatal(err)
		}
	}
	in := Input{Tokens: tokens(1, 2, 3, 4, 5), Dense: unit(rand.New(rand.NewPCG(1, 1)), lawDim)}
	if !same(localVectors(t, l, in, every(l)), localVectors(t, fresh, in, every(l))) {
		t.Fatal("other vectors than a fresh build")
	}
	empty, err := c.empty(t, LocalOptions{}).Repartition(PartitionOptions{})
	if err != nil || empty.Len() != 0 || empty.Partition().Cells() != 1 {
		t.Fatalf("an empty corpus: %v", err)
	}
	c.passages[9].x = nil
	if _, err := old.Repartition(PartitionOptions{}); !errors.Is(err, ErrPassage) {
		t.Fatalf("a missing vector: %v", err)
	}
}

// sealed appends the checksum.
func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
}
