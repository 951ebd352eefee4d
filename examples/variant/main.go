// Command variant adds a variant of modulation: one value, registered under a name. It then fits a bridge of
// that variant to a handful of passages and shows where a query ends up. It then fits a bridge of that
// variant to a handful of passages and shows how a query vector changes.
//
//	go run ./examples/variant
package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/modulate/train"
)

// Lead is token presence (SLR, Eq. 5) that fades along the query, as people
// name what they look for first: the n-th distinct token, counted from 0, has
// weight log(1 + 1/(1 + n/4)).
//
// Nothing else is needed for a variant. Stacks know it by its name, alone or as in "rlr+lead", and it is
// fitted, saved, searched with and measured like the built-in ones. Kind says which laws apply to it;
// SetBased is not set, because the order of tokens matters.
var Lead = modulate.Register(modulate.Variant{
	Name:    "lead",
	Summary: "token presence that fades along the query",
	Kind:    modulate.Multiplicative,
	Weigh:   func(modulate.Parts) (modulate.Weigher, error) { return lead{}, nil },
})

type lead struct{}

func (lead) Weigh(dst modulate.Lexical, in modulate.Input) modulate.Lexical {
	from := len(dst.IDs)
	dst.IDs = in.Tokens.Lexical(dst.IDs)
	for n := range dst.IDs[from:] {
		dst.Weights = append(dst.Weights, float32(math.Log1p(1/(1+float64(n)/4))))
	}
	return dst
}

var texts = []string{
	"The heron stands still in shallow water and strikes at small fish with its long bill.",
	"Kingfishers dive from a branch over the river to catch minnows and carry them to a burrow.",
	"Swifts sleep on the wing and touch the ground only to breed under roofs and in towers.",
	"Barn owls hunt voles over rough grassland by ear, in complete darkness if they must.",
	"The wren builds several nests of moss and leaves, of which the female chooses one.",
	"Starlings gather in winter at dusk above reed beds in flocks of many thousands.",
	"Puffins dig burrows in the turf of sea cliffs and bring home a bill full of sand eels.",
	"The nuthatch wedges hazelnuts into bark and hammers them open with its bill.",
}

// corpus gives texts and their vectors to the trainer.
type corpus struct{ vectors [][]float32 }

func (c corpus) Len() int                   { return len(texts) }
func (c corpus) Text(i int) (string, error) { return texts[i], nil }
func (c corpus) Vector(i int) []float32     { return c.vectors[i] }

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "variant:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	enc := encoder.NewHash(64)
	encoded, err := enc.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		return err
	}
	c := corpus{}
	for _, e := range encoded {
		c.vectors = append(c.vectors, e.Dense)
	}
	weights, report, err := train.Fit(ctx, c, enc, train.Options{Stack: Lead.Name, Batch: 16})
	if err != nil {
		return err
	}
	fmt.Printf("fitted %s: %d queries, loss %.3f to %.3f\n",
		report.Stack, report.Queries, report.Losses[0], report.Losses[len(report.Losses)-1])

	m, err := modulate.NewStack(Lead.Name, modulate.Parts{Weights: weights})
	if err != nil {
		return err
	}
	query, err := enc.Encode(ctx, encoder.Query, encoder.Texts("bill of a bird that opens nuts in bark"), m.Need())
	if err != nil {
		return err
	}
	in := modulate.Input{Tokens: query[0].Tokens, Dense: query[0].Dense, Hidden: query[0].Hidden}
	after := m.Modulate(nil, in)
	for i, v := range c.vectors {
		fmt.Printf("%+.3f to %+.3f  %s\n", cosine(in.Dense, v), cosine(after, v), texts[i])
	}
	return nil
}

// cosine of unit vectors.
func cosine(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}
