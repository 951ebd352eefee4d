package main

import (
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

func TestRun(t *testing.T) {
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLeadIsAVariantLikeAnyOther(t *testing.T) {
	s, err := modulate.ParseStack("rlr+lead")
	if err != nil || s.Name() != "lead+rlr" || !s.Fitted() {
		t.Fatalf("stack %q: %v", s.Name(), err)
	}
	tokens := encoder.NewHash(64).Tokenize(encoder.Query, "one two one three")
	w := lead{}.Weigh(modulate.Lexical{}, modulate.Input{Tokens: tokens})
	if len(w.IDs) != 3 || !(w.Weights[0] > w.Weights[1] && w.Weights[1] > w.Weights[2] && w.Weights[2] > 0) {
		t.Fatalf("weights %v of ids %v", w.Weights, w.IDs)
	}
}
