package modulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/fuse"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
)

// Stack is a set of variants that are applied together.
type Stack struct {
	name  string
	parts []Variant
}

// ParseStack reads names joined by "+" in any order, such as "slr" or "rlr+slr". ErrUnknownVariant
// for an unknown or empty name, ErrOptions for a name given twice.
func ParseStack(name string) (Stack, error) {
	var s Stack
	for _, n := range strings.Split(name, "+") {
		v, err := Lookup(strings.TrimSpace(n))
		if err != nil {
			return Stack{}, err
		}
		s.parts = append(s.parts, v)
	}
	slices.SortFunc(s.parts, func(a, b Variant) int { return strings.Compare(a.Name, b.Name) })
	names := make([]string, len(s.parts))
	for i, v := range s.parts {
		if i > 0 && v.Name == names[i-1] {
			return Stack{}, fmt.Errorf("%w: stack %q names %s twice; give each variant once", ErrOptions, name, v.Name)
		}
		names[i] = v.Name
	}
	s.name = strings.Join(names, "+")
	return s, nil
}

// Name is the canonical name: the parts in alphabetical order, joined by "+".
func (s Stack) Name() string { return s.name }

// Parts returns the variants in canonical order. Read only.
func (s Stack) Parts() []Variant { return s.parts }

// Has reports whether the variant called name is in the stack.
func (s Stack) Has(name string) bool {
	return slices.ContainsFunc(s.parts, func(v Variant) bool { return v.Name == name })
}

// Fitted reports whether the stack needs fitted weights.
func (s Stack) Fitted() bool {
	return slices.ContainsFunc(s.parts, func(v Variant) bool { return v.Kind == Multiplicative })
}

// Need is the union of the tensors that the parts read, encoder.NeedDense included.
func (s Stack) Need() encoder.Need {
	need := encoder.NeedDense
	for _, v := range s.parts {
		need |= v.Need
	}
	return need
}

// ReadsSums reports whether a part needs the statistics of the corpus.
func (s Stack) ReadsSums() bool {
	return slices.ContainsFunc(s.parts, func(v Variant) bool { return v.ReadsSums })
}

// Start returns the initial weights of a fit: W = 0 and the initial values of each part's own
// parameters. Only Stack, Projection and Heads are set. length is the approximate length of the
// encoder's hidden states. ErrNotFitted if a part needs p.Sums and they are nil.
func (s Stack) Start(dim, vocab int, length float64, p Parts) (*Weights, error) {
	w := &Weights{Stack: s.name}
	columns := 0
	for _, v := range s.parts {
		if v.Kind != Multiplicative {
			continue
		}
		columns += vocab
		if v.ReadsSums && p.Sums == nil {
			return nil, noSums(v.Name)
		}
		if v.Start == nil {
			continue
		}
		h, err := v.Start(dim, length, p)
		if err != nil {
			return nil, err
		}
		if w.Heads == nil {
			w.Heads = map[string]*Head{}
		}
		w.Heads[v.Name] = h
	}
	var err error
	w.Projection, err = NewProjection(dim, columns)
	return w, err
}

// Shifters makes the additive parts of the stack from p. It costs nothing, except a new factor if
// the ridge of p.RLR differs from that of the sums (newRLR).
func (s Stack) Shifters(p Parts) ([]Shifter, error) {
	var out []Shifter
	if p.RLR.Alpha == 0 && s.Has(whitenVariant.Name) {
		p.RLR.Alpha = alphaBesideWhiten
	}
	if o, err := p.RLR.withDefaults(); err == nil && p.Sums != nil &&
		(s.Has(RLR.Name) || s.Has(whitenVariant.Name)) { // one factor for all parts
		if p.Sums, err = p.Sums.WithRidge(context.Background(), o.Lambda); err != nil {
			return nil, err
		}
	}
	for _, v := range s.parts {
		if v.Shift == nil {
			continue
		}
		sh, err := v.Shift(p)
		if err != nil {
			return nil, err
		}
		out = append(out, sh)
	}
	return out, nil
}

// Sums are the statistics of a corpus that RLR reads.
type Sums = ridge.Sums

// SumsOf returns the Sums of n passages. vector returns the vector [dim] of passage i and must keep returning
// the same; tokens returns its tokens with lexical weight (encoder.Tokens.Lexical). Cost O(n·d² + d³). Errors:
// ErrPassage, those of tokens, and of ctx.
func SumsOf(ctx context.Context, dim, vocab, n int, vector func(i int) []float32, tokens func(i int) ([]int32, error)) (*Sums, error) {
	return ridge.SumsOf(ctx, dim, vocab, n, vector, tokens)
}

// Parts are the data for stacks. A stack reads only what it needs.
type Parts struct {
	// Sums are the statistics of the corpus that RLR reads.
	Sums *Sums
	// RLR are the options of RLR. The zero value means those of Weights, else the defaults.
	RLR RLROptions
	// Weights are the fitted bridge of exactly this stack.
	Weights *Weights
	// Alone leaves the dense vector out of the product: q_out = norm(softmax(W·w + b)), the ablation
	// of the paper's Table 6. All parts must be multiplicative.
	Alone bool
}

// NewStack returns the modulator called name over p. ErrUnknownVariant for an unknown name;
// ErrNotFitted if weights or sums are missing or belong to another stack; ErrOptions if p.Alone is
// set and a part is additive.
func NewStack(name string, p Parts) (Modulator, error) {
	s, err := ParseStack(name)
	if err != nil {
		return nil, err
	}
	m := &modulator{name: s.name, need: s.Need(), sums: p.Sums}
	if s.Fitted() {
		w := p.Weights
		if w == nil || w.Projection == nil {
			return nil, fmt.Errorf("%w: variant %s has no bridge yet; fit this variant", ErrNotFitted, s.name)
		}
		if w.Stack != s.name {
			return nil, fmt.Errorf("%w: variant %s asked for, but the bridge was fitted for %s; fit this variant", ErrNotFitted, s.name, w.Stack)
		}
		if p.RLR == (RLROptions{}) {
			p.RLR = w.RLR
		}
		m.projection, m.dim, m.spread = w.Projection, w.Projection.Dim(), w.Spread
		if m.bridge, err = s.Bridge(p); err != nil {
			return nil, err
		}
	}
	if m.shift, err = s.Shifters(p); err != nil {
		return nil, err
	}
	if p.Alone {
		if m.bridge == nil || len(m.shift) > 0 {
			return nil, fmt.Errorf("%w: %s has a part that moves the dense vector, which a lexical side alone has not; name fitted parts alone", ErrOptions, s.name)
		}
		m.even = fuse.Even(m.dim)
	}
	if len(m.shift) > 0 {
		if m.dim != 0 && m.dim != p.Sums.Dim() {
			return nil, fmt.Errorf("%w: the bridge has dimension %d, the corpus %d; fit it on this corpus", ErrNotFitted, m.dim, p.Sums.Dim())
		}
		m.dim = p.Sums.Dim()
	}
	return m, nil
}

// modulator is a stack and its parts.
type modulator struct {
	name       string
	need       encoder.Need
	dim        int
	bridge     *Bridge // nil where nothing is fitted
	projection *Projection
	spread     float64 // see fuse.Bound
	shift      []Shifter
	sums       *ridge.Sums // that reach is told by; nil for the rows of W
	even       []float32   // what is multiplied in place of the dense vector; nil for that itself, see Parts.Alone
}

func (m *modulator) Name() string       { return m.name }
func (m *modulator) Need() encoder.Need { return m.need }

func (m *modulator) Modulate(dst []float32, in Input) []float32 {
	base := len(dst)
	q := in.Dense
	if m.even != nil && len(q) == m.dim {
		q = m.even
	}
	dst = append(dst, q...)
	if len(q) != m.dim {
		return dst
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)

	s.ids = in.Tokens.Lexical(s.ids[:0])
	bridge, corpus := m.reach(s.ids)
	var z []float64
	if m.bridge != nil && bridge > 0 {
		if s.lex = m.bridge.Weigh(s.lex.Emptied(), in); len(s.lex.IDs) > 0 {
			s.z = zeroed(s.z, m.dim)
			z = s.z
			m.projection.AddLogits(z, s.lex)
			fuse.Bound(z, m.spread)
			shorten(z, bridge)
		}
	}
	var shift []float32
	if len(m.shift) > 0 && corpus > 0 {
		s.shift = zeroed(s.shift, m.dim)
		for _, sh := range m.shift {
			if sh.AddShift(s.shift, in) {
				shift = s.shift
			}
		}
		vec.Scale(shift, float32(corpus))
	}
	out := dst[base:]
	fuse.Fuse(out, out, q, z, shift)
	return dst
}

// scratch is the working memory of one Modulate call.
type scratch struct {
	lex   Lexical
	z     []float64
	shift []float32
	ids   []int32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// zeroed returns n zeros, in the memory of s if it is large enough.
func zeroed[T float32 | float64](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
