package modulate

import (
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// Projection is the linear layer of Eq. 8, W [d × |V|] and b [d]. Reading is safe for concurrent
// use while nobody calls Touch.
type Projection struct {
	dim   int
	vocab int
	slot  map[int32]int32 // token id → row number, of the touched
	ids   []int32         // row number → token id
	rows  []float32       // [len(ids) × dim]
	bias  []float32       // [dim], nil for zero
}

// NewProjection returns W = 0, b = 0 for vectors of length dim and a vocabulary of vocab tokens.
// If they are not positive, it returns ErrOptions.
func NewProjection(dim, vocab int) (*Projection, error) {
	if dim <= 0 || vocab <= 0 || vocab > math.MaxInt32 {
		return nil, fmt.Errorf("%w: projection of dimension %d and vocabulary %d; both must be positive", ErrOptions, dim, vocab)
	}
	return &Projection{dim: dim, vocab: vocab, slot: map[int32]int32{}}, nil
}

// Dim is d.
func (p *Projection) Dim() int { return p.dim }

// VocabSize is |V|.
func (p *Projection) VocabSize() int { return p.vocab }

// Tokens returns the token ids that have a row, in the order of the rows. Read only.
func (p *Projection) Tokens() []int32 { return p.ids }

// Rows returns the stored rows [len(Tokens()) × Dim]. Writing to them changes the projection.
func (p *Projection) Rows() []float32 { return p.rows }

// Bias is b [Dim], or nil for b = 0.
func (p *Projection) Bias() []float32 { return p.bias }

// SetBias copies b [Dim]; nil means 0. It returns ErrOptions for another length or a number that
// is not finite.
func (p *Projection) SetBias(b []float32) error {
	if b != nil && (len(b) != p.dim || !vec.Finite(b)) {
		return fmt.Errorf("%w: bias of length %d for dimension %d; it must be finite and of that length", ErrOptions, len(b), p.dim)
	}
	p.bias = slices.Clone(b)
	return nil
}

// Slot returns the row number of token id, or −1.
func (p *Projection) Slot(id int32) int {
	if s, ok := p.slot[id]; ok {
		return int(s)
	}
	return -1
}

// Touch gives the tokens ids a row of zeros if they have none. ErrOptions for ids outside the
// vocabulary.
func (p *Projection) Touch(ids ...int32) error {
	for _, id := range ids {
		if id < 0 || int(id) >= p.vocab {
			return fmt.Errorf("%w: token %d outside the vocabulary of %d", ErrOptions, id, p.vocab)
		}
		if p.Slot(id) < 0 {
			p.slot[id] = int32(len(p.ids))
			p.ids = append(p.ids, id)
		}
	}
	if n := len(p.ids) * p.dim; n > len(p.rows) {
		p.rows = append(p.rows, make([]float32, n-len(p.rows))...)
	}
	return nil
}

// AddLogits adds W·w + b (Eq. 8) to z [Dim]. It sums in float64, so the result is finite for any
// finite W. Cost O(len(w.IDs)·d).
func (p *Projection) AddLogits(z []float64, w Lexical) {
	for i, x := range p.bias {
		z[i] += float64(x)
	}
	for i, id := range w.IDs {
		s := p.Slot(id)
		if s < 0 || w.Weights[i] == 0 {
			continue
		}
		f := float64(w.Weights[i])
		row := p.rows[s*p.dim : (s+1)*p.dim]
		z := z[:len(row)]
		for j, x := range row {
			z[j] += f * float64(x)
		}
	}
}
