package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/modulate"
)

// Names of variants that are no stacks.
const (
	None  = "none"      // the plain dense vector
	Local = "rlr-local" // the local bridges
)

// Way is how a query's variant changes its vector: by a stack, by the local bridges, by
// both, or not at all.
type Way struct {
	Name  string // canonical; None where nothing moves it
	Stack modulate.Stack
	Any   bool // Stack has parts
	Local bool
	// Wanted is set if the query requests local bridges that do not exist yet: they will be
	// built, and this query does without.
	Wanted bool
	// With is a modulator in place of that of the state, for a bridge that is
	// measured before it is in use.
	With modulate.Modulator
}

// need describes the query for which a variant is chosen.
type need struct {
	single bool // one vector for all passages
	beside bool // a vector beside the words
}

// best is the variant of a query that names none. The choice of the last fit comes first. A
// dense search uses local bridges if they exist. A hybrid search uses RLR: the lexical
// retriever already knows the passages' words exactly, and local bridges would cost
// accuracy on questions (docs/method.md). If vectors are not directions, nothing is
// modulated.
func best(by *state.Modulation, n need) string {
	if !by.Metric.Directions() {
		return None
	}
	name := by.Auto
	if n.single || name == "" {
		name = by.Standard
	}
	switch {
	case name != "" && name != Local && name != modulate.RLR.Name:
		return name
	case by.Local != nil && !n.single && !n.beside:
		return Local
	}
	return modulate.RLR.Name
}

// resolve reads the name of a variant; "" means the best available one.
func resolve(by *state.Modulation, variant string, n need) (Way, error) {
	if variant == "" {
		variant = best(by, n)
	}
	w := Way{Name: None}
	if variant == None || variant == Dense {
		return w, nil
	}
	if err := by.Metric.Needs("variant " + fault.Clip(variant)); err != nil {
		return w, fmt.Errorf("%w, or leave the variant out", err)
	}
	var parts []string
	for _, name := range strings.Split(variant, "+") {
		if strings.TrimSpace(name) != Local {
			parts = append(parts, name)
		} else if w.Local {
			return w, fmt.Errorf("%w: variant %q names %s twice", fault.ErrInvalid, variant, Local)
		} else {
			w.Local = true
		}
	}
	if w.Local && n.single {
		return w, fmt.Errorf("%w: variant %s has a vector for each cell of the corpus, not one; use %s or a fitted bridge", fault.ErrInvalid, Local, modulate.RLR.Name)
	}
	if len(parts) > 0 {
		var err error
		if w.Stack, err = modulate.ParseStack(strings.Join(parts, "+")); err != nil {
			return w, fmt.Errorf("%w: %w; or %s, or %s", fault.ErrInvalid, err, Local, None)
		}
		if w.Local && w.Stack.Has(modulate.RLR.Name) {
			return w, fmt.Errorf("%w: variant %q: %s takes the place of %s; name one of them", fault.ErrInvalid, variant, Local, modulate.RLR.Name)
		}
		w.Any = true
	}
	if w.Local && by.Local == nil {
		w.Local, w.Wanted = false, true
		if !w.Any {
			w.Stack, w.Any = rlr, true
		}
	}
	names := w.Stack.Name()
	if w.Local {
		all := []string{Local}
		if w.Any {
			all = append(all, strings.Split(names, "+")...)
		}
		slices.Sort(all)
		names = strings.Join(all, "+")
	}
	w.Name = names
	return w, nil
}

// rlr is the stack that replaces local bridges.
var rlr = func() modulate.Stack {
	s, err := modulate.ParseStack(modulate.RLR.Name)
	if err != nil {
		panic(err) // the name of a registered variant
	}
	return s
}()

// Need returns the tensors that the encoder must compute for such a query.
func (w Way) Need() encoder.Need {
	if !w.Any {
		return encoder.NeedDense
	}
	return w.Stack.Need()
}

// Modulator returns the modulator of a stack, and how many documents
// its bridge has not seen.
func Modulator(by *state.Modulation, stack modulate.Stack, o modulate.RLROptions) (modulate.Modulator, int, error) {
	unfitted := 0
	b := by.Bridges[stack.Name()]
	p := modulate.Parts{Sums: by.Sums, RLR: o}
	if stack.Fitted() {
		switch {
		case b == nil:
			return nil, 0, fmt.Errorf("variant %s: %w; fit it first", stack.Name(), modulate.ErrNotFitted)
		case b.Err != nil:
			return nil, 0, b.Err
		}
		unfitted = b.Fresh
		p.Weights, p.RLR = b.Weights, b.Weights.RLR
	}
	if m, ok := by.Modulators.Load(stack.Name()); ok {
		return m.(modulate.Modulator), unfitted, nil
	}
	m, err := modulate.NewStack(stack.Name(), p)
	if err != nil {
		return nil, 0, err
	}
	by.Modulators.Store(stack.Name(), m)
	return m, unfitted, nil
}
