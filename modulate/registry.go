package modulate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrUnknownVariant: no variant of that name is registered.
	ErrUnknownVariant = errors.New("unknown variant")
	// ErrNotFitted: the weights of a stack, or the statistics of the corpus, are missing or belong to
	// another stack.
	ErrNotFitted = errors.New("not fitted")
	// ErrOptions: an option is out of its range.
	ErrOptions = ridge.ErrOptions
	// ErrNoEncoder: an imported file does not name its encoder.
	ErrNoEncoder = errors.New("bridge without an encoder")
	// ErrPassage: a passage cannot be added to, or removed from, sums or local bridges.
	ErrPassage = ridge.ErrPassage
	// ErrCorrupt: a weights file or saved sums are damaged, or are something else.
	ErrCorrupt = ridge.ErrCorrupt
)

// Kind says how a variant changes the query vector. The laws in laws_test.go follow from it.
type Kind uint8

const (
	// Multiplicative variants multiply the components of q by a softmax: the factors are ≥ 0 and sum
	// to 1, so no component changes its sign.
	Multiplicative Kind = iota
	// Additive variants add a vector to q, of fixed length if the corpus knows all of the query.
	Additive
)

// String returns "multiplicative" or "additive".
func (k Kind) String() string {
	if k == Additive {
		return "additive"
	}
	return "multiplicative"
}

// Variant is one registered way to modulate a query vector.
type Variant struct {
	// Name is the name that users write, in lower case.
	Name string
	// Kind says whether the variant multiplies or adds.
	Kind Kind
	// Need names the tensors read in addition to the dense vector.
	Need encoder.Need
	// ReadsSums says that Parts.Sums are needed, in a fit or in a query.
	ReadsSums bool
	// Whole variants weigh the whole vocabulary, for measurements. Lookup finds them; Variants leaves
	// them out.
	Whole bool
	// Weigh makes the lexical vector w (Sec. 3.4) from p. Set for multiplicative variants, which also
	// need fitted Weights.
	Weigh func(p Parts) (Weigher, error)
	// Start makes the parameters other than W = 0 that a fit begins with, for vectors of length dim
	// and hidden states of about the given length. nil for variants without parameters.
	Start func(dim int, length float64, p Parts) (*Head, error)
	// Shift makes the additive part from p. Set for additive variants.
	Shift func(p Parts) (Shifter, error)
}

// Weigher makes lexical vectors.
type Weigher interface {
	// Weigh appends w to dst: distinct ids and weights ≥ 0. Only a Whole variant may weigh special
	// tokens. It appends nothing if in lacks a tensor that the variant needs. Safe for concurrent use.
	Weigh(dst Lexical, in Input) Lexical
}

// Shifter is an additive part of a stack.
type Shifter interface {
	// AddShift adds the shift of the query to dst [d] and reports whether there was one. Safe for
	// concurrent use.
	AddShift(dst []float32, in Input) bool
}

var variants []Variant

// Register adds v to the registry and returns it, for a declaration of a package variable: var X =
// modulate.Register(modulate.Variant{…}). Stacks, fits, databases and benchmarks then know it by
// its name. Call it only while packages are initialised; it is not safe for concurrent use. It
// panics if the name is taken or contains "+", a comma or white space, and if v does not have
// exactly the one of Weigh and Shift that its Kind needs.
func Register(v Variant) Variant {
	if v.Name == "" || strings.ContainsAny(v.Name, "+, \t\n") {
		panic("modulate: a variant cannot be called " + strconv.Quote(v.Name))
	}
	if (v.Weigh == nil) == (v.Shift == nil) || (v.Kind == Multiplicative) != (v.Weigh != nil) {
		panic("modulate: variant " + v.Name + " must have Weigh if it is multiplicative and Shift if it is additive")
	}
	for _, o := range variants {
		if o.Name == v.Name {
			panic("modulate: variant " + v.Name + " registered twice")
		}
	}
	variants = append(variants, v)
	slices.SortFunc(variants, func(a, b Variant) int { return strings.Compare(a.Name, b.Name) })
	return v
}

// Variants returns the registered variants that are not Whole, sorted by name.
func Variants() []Variant {
	return slices.DeleteFunc(slices.Clone(variants), func(v Variant) bool { return v.Whole })
}

// Lookup returns the variant called name. ErrUnknownVariant lists the known names.
func Lookup(name string) (Variant, error) {
	var known []string
	for _, v := range variants {
		if v.Name == name {
			return v, nil
		}
		if !v.Whole {
			known = append(known, v.Name)
		}
	}
	return Variant{}, fmt.Errorf("%w %q: use one of %s, or several joined by +", ErrUnknownVariant, name, strings.Join(known, ", "))
}
