// Command variant adds a variant of modulation: one value, registered under a name. It then fits a bridge of
// that variant to a handful of passages, and searches them without and with it.
//
//	go run ./examples/variant
package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/lexsem/lexsem"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/modulate"
)

// Lead is token presence (SLR, Eq. 5) that fades along the query, as people
// name what they look for first: the n-th distinct token, counted from 0, has
// weight log(1 + 1/(1 + n/4)).
//
// Nothing else is needed for a variant. Stacks know it by its name, alone or as in "rlr+lead", and it is
// fitted, saved, searched with and measured like the built-in ones. Kind says which laws apply to it.
var Lead = modulate.Register(modulate.Variant{
	Name:  "lead",
	Kind:  modulate.Multiplicative,
	Weigh: func(modulate.Parts) (modulate.Weigher, error) { return lead{}, nil },
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

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "variant:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	db, err := lexsem.Memory(ctx, lexsem.Options{Encoder: encoder.NewHash(64)})
	if err != nil {
		return err
	}
	defer db.Close()
	var documents []lexsem.Document
	for i, text := range texts {
		documents = append(documents, lexsem.Document{ID: fmt.Sprint(i), Text: text})
	}
	if err := db.Upsert(ctx, documents...); err != nil {
		return err
	}
	report, err := db.Fit(ctx, engine.FitOptions{Variant: Lead.Name})
	if err != nil {
		return err
	}
	fmt.Printf("fitted %s: %d queries, loss at the end %.3f\n", report.Variant, report.Queries, report.FinalLoss)

	for _, variant := range []string{engine.VariantNone, Lead.Name} {
		res, err := db.Search(ctx, lexsem.Query{
			Text: "bill of a bird that opens nuts in bark", Mode: engine.ModeDense, Variant: variant, K: 3})
		if err != nil {
			return err
		}
		for _, hit := range res.Hits {
			fmt.Printf("%s %+.3f  %s\n", variant, hit.Score, hit.Text)
		}
	}
	return nil
}
