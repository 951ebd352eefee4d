package modulate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate/ridge"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrUnknownVariant answers a name that is not registered.
	ErrUnknownVariant = errors.New("unknown variant")
	// ErrNotFitted answers a stack whose fitted weights, or whose corpus sums,
	// are missing.
	ErrNotFitted = errors.New("not fitted")
	// ErrOptions answers an option outside its range.
	ErrOptions = ridge.ErrOptions
	// ErrNoEncoder answers an import of a file that does not say which encoder
	// it belongs to.
	ErrNoEncoder = errors.New("bridge without an encoder")
	// ErrPassage answers a passage that sums or local bridges cannot take in or out.
	ErrPassage = ridge.ErrPassage
	// ErrCorrupt answers a weights or sums file that is damaged, or is none.
	ErrCorrupt = ridge.ErrCorrupt
)

// Kind says how a variant acts on the query vector; the laws it must obey
// follow from it.
type Kind uint8

const (
	// Multiplicative variants scale the components of q by a softmax: factors
	// are ≥ 0 and sum to 1, no component changes sign.
	Multiplicative Kind = iota
	// Additive variants add a vector of fixed length to q.
	Additive
)

// String returns "multiplicative" or "additive".
func (k Kind) String() string {
	if k == Additive {
		return "additive"
	}
	return "multiplicative"
}

// Variant describes one registered way to modulate.
type Variant struct {
	// Name is what users write, in lower case.
	Name string
	// Summary is one line for help texts.
	Summary string
	// Kind says which laws bind the variant.
	Kind Kind
	// SetBased variants see the set of tokens only: order and repetition of
	// tokens change nothing.
	SetBased bool
	// Need names the tensors read beside the dense vector.
	Need encoder.Need
	// ReadsDense tells that w depends on the dense vector, not on tokens alone.
	ReadsDense bool
	// ReadsSums variants need Parts.Sums, at a fit or at a query.
	ReadsSums bool
	// Whole variants weigh every token of the vocabulary or of the corpus, whatever the query, or, by an
	// encoder's logits, as many as these name. They are there to measure others by: Lookup finds them, Variants leaves them out.
	Whole bool
	// Weigh makes the lexical vector w of Sec. 3.4 from p. It is set for
	// multiplicative variants, which also need fitted Weights.
	Weigh func(p Parts) (Weigher, error)
	// Start makes the parameters that a fit of the variant begins with, beside
	// W = 0, for vectors of length dim and hidden states of about the given
	// length. It is nil for variants that have none.
	Start func(dim int, length float64, p Parts) (*Head, error)
	// Shift makes the additive part from p. It is set for additive variants.
	Shift func(p Parts) (Shifter, error)
}

// Weigher makes lexical vectors.
type Weigher interface {
	// Weigh appends w of in to dst: distinct ids without special tokens, which only a
	// Whole variant may weigh, and weights ≥ 0. Where in lacks a tensor that the variant needs it appends
	// nothing. Safe for concurrent use.
	Weigh(dst Lexical, in Input) Lexical
}

// Shifter is the additive part of a stack.
type Shifter interface {
	// AddShift adds the shift of in to dst [d] and reports whether there was
	// one. Safe for concurrent use.
	AddShift(dst []float32, in Input) bool
}

var variants []Variant

// Register adds v to the registry and returns it, for use in the declaration of
// a package variable: var X = modulate.Register(modulate.Variant{…}). Stacks,
// fits, databases and benchmarks then know it by its name. It must not run
// beside anything else of this package, so call it while packages are
// initialised and nowhere else. A name that is taken, or that a stack cannot
// hold, and a variant without exactly one of Weigh and Shift are mistakes in
// the program and panic.
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

// Variants returns every registered variant that is not Whole, sorted by name.
func Variants() []Variant {
	return slices.DeleteFunc(slices.Clone(variants), func(v Variant) bool { return v.Whole })
}

// Lookup returns the variant called name, or an ErrUnknownVariant that lists
// the known ones.
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
