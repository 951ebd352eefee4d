package local

import (
	"errors"
	"reflect"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
)

// Bridges over a vocabulary that grows answer bit for bit like those over one that
// was known from the start, after edits with new tokens and after reading.
func TestGrowingVocabulary(t *testing.T) {
	c := newSet(31, 300)
	o := Options{Cells: 6}
	build := func(vocab int) *Bridges {
		var few []uint64 // whose tokens are low: the others' come by edits
		low := 20
		for i, list := range c.tokens {
			kept := true
			for _, token := range list {
				kept = kept && (i%3 > 0 || int(token) < low)
			}
			if kept && i%4 > 0 {
				few = append(few, uint64(i))
			}
		}
		b, err := Build(ctx, testDim, vocab, c.source(few...), o)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 3 {
			e := b.Edit()
			for i := range uint64(300) {
				if int(i)%3 == step && !b.Has(i) {
					if err := e.Add(i, c.vectors[i], c.tokens[i]); err != nil {
						t.Fatal(err)
					}
				} else if int(i)%50 == step {
					e.Remove(i)
				}
			}
			b = done(t, e)
		}
		return b
	}
	grown, fixed := build(0), build(testVocab)
	want := ask(t, fixed, 4)
	if !reflect.DeepEqual(ask(t, grown, 4), want) {
		t.Error("other answers than over a known vocabulary")
	}
	f, err := snapshot.Parse(saved(t, grown))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(testDim, 0, c.vector, o, f)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(ask(t, b, 4), want) {
		t.Error("other answers after reading")
	}
	e := b.Edit()
	e.Remove(7)
	if err := e.Add(7, c.vectors[7], []int32{5, 70_000}); err != nil {
		t.Fatal(err)
	}
	if next := done(t, e); next.words.count(70_000) != 1 || b.words.count(70_000) != 0 || next.words.count(-1) != 0 {
		t.Errorf("a token beyond what was read is in %d passages, before it %d", next.words.count(70_000), b.words.count(70_000))
	}
	if err := b.Verify(ctx); err != nil {
		t.Error(err)
	}
	if _, err := c.open(saved(t, grown), o); !errors.Is(err, modulate.ErrCorrupt) {
		t.Errorf("opened as one of a fixed vocabulary: %v", err)
	}
	if err := b.Edit().Add(400, c.vectors[1], []int32{-1}); !errors.Is(err, modulate.ErrPassage) {
		t.Errorf("a negative token: %v", err)
	}
}

// Empty bridges grow, too.
func TestGrowingFromNothing(t *testing.T) {
	c := newSet(32, 5)
	b, err := New(testDim, 0, c.vector, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := b.Edit()
	for i := range uint64(5) {
		if err := e.Add(i, c.vectors[i], c.tokens[i]); err != nil {
			t.Fatal(err)
		}
	}
	b = done(t, e)
	for _, token := range c.tokens[2] {
		if b.words.count(token) < 1 {
			t.Errorf("token %d is in no passage", token)
		}
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Errorf("grown: %v", err)
	}
	at, err := b.cell(0)
	if err != nil {
		t.Fatal(err)
	}
	last := len(at.tokens) - 1
	at.tokens[last] = uint32(b.words.vocab())
	if err := b.Verify(t.Context()); !errors.Is(err, modulate.ErrCorrupt) {
		t.Errorf("a token beyond the directory: %v", err)
	}
}
