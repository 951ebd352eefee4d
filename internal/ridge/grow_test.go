package ridge

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// reopened is opened, for sums over a vocabulary that grows.
func reopened(s *Sums, data []byte) (*Sums, error) {
	f, err := snapshot.Parse(data)
	if err != nil {
		return nil, err
	}
	return OpenSums(s.dim, 0, s.lambda, s.vectors, f)
}

// Sums over a vocabulary that grows answer like those over one that was known
// from the start, whatever came and went, after reading, compacting and rebasing.
func TestGrowingVocabulary(t *testing.T) {
	const d, n = 12, 90
	r := rand.New(rand.NewPCG(21, 4))
	g := newGrowing(d, 0)
	g.rowOver = n / 6
	if g.VocabSize() != 0 {
		t.Errorf("%d tokens in empty sums", g.VocabSize())
	}
	var base, compacted *Sums
	for i := range n {
		g.add(randomPassage(r, d, 5+i)) // later passages have higher tokens
		switch {
		case i == n/2:
			base = g.Sums
		case i == n/2+5:
			var err error
			if compacted, err = base.Compacted(t.Context()); err != nil {
				t.Fatal(err)
			}
			if g.Sums, err = g.Rebase(base, compacted); err != nil {
				t.Fatal(err)
			}
		case i%9 == 8:
			g.remove(i / 3)
		}
	}
	g.settle(t)
	qs := someQuestions(r, d, n+20, 30)
	want := answers(t, fresh(t, d, n+40, g.all), qs)
	if diff := worst(answers(t, g.Sums, qs), want); diff > 1e-5 {
		t.Errorf("differs by %g from sums over a known vocabulary", diff)
	}
	data := saved(t, g.Sums)
	s, err := reopened(g.Sums, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := worst(answers(t, s, qs), want); diff > 1e-5 {
		t.Errorf("differs by %g after reading", diff)
	}
	if again := saved(t, s); !bytes.Equal(again, data) {
		t.Error("another snapshot after reading")
	}
	if err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	p := randomPassage(r, d, 10)
	p.tokens = []int32{3, 5000}
	g.Sums = s
	g.add(p)
	if g.DF(5000) != 1 || g.VocabSize() != 5001 || s.DF(5000) != 0 {
		t.Errorf("a token beyond what was read: df %d, %d tokens; before it df %d", g.DF(5000), g.VocabSize(), s.DF(5000))
	}
	if err := g.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	e := g.Edit()
	p.tokens = []int32{9999}
	if err := e.Remove(p.id, p.x, p.tokens); !errors.Is(err, ErrPassage) {
		t.Errorf("removal of a token that never came: %v", err)
	}
	e = g.Edit()
	if err := e.Add(1<<40, p.x, []int32{-1}); !errors.Is(err, ErrPassage) {
		t.Errorf("a negative token: %v", err)
	}
}

// A file of a vocabulary that grows is none of a fixed one.
func TestGrownSumsAreNotFixedOnes(t *testing.T) {
	g := newGrowing(6, 0)
	g.add(randomPassage(rand.New(rand.NewPCG(2, 4)), 6, 10))
	data := saved(t, g.Sums)
	fixed, err := NewSums(6, 500, 0, g.vector)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened(fixed, data); !errors.Is(err, ErrCorrupt) {
		t.Errorf("opened with %v", err)
	}
}
