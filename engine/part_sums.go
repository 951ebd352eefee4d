package engine

import (
	"bytes"
	"fmt"
	"io"

	"github.com/lexsem/lexsem/modulate"
)

// sums is the part that RLR reads. The sums stay the same object from reset to
// reset, since modulators hold it.
type sums struct {
	*modulate.Sums
	dim, vocab int
	rows       []float32
	tokens     [][]int32
}

func (p *sums) kind() string { return "sums" }
func (p *sums) texts() bool  { return false }
func (p *sums) len() int     { return p.Len() }

func (p *sums) reset() error {
	p.Sums = modulate.NewSums(p.dim, p.vocab)
	return nil
}

func (p *sums) load(data []byte) error {
	p.Sums = modulate.NewSums(p.dim, p.vocab)
	_, err := p.ReadFrom(bytes.NewReader(data))
	return err
}

func (p *sums) save(w io.Writer) (int64, error) { return p.WriteTo(w) }

func (p *sums) add(vs []version) error {
	p.rows, p.tokens = p.rows[:0], p.tokens[:0]
	for _, v := range vs {
		p.rows = append(p.rows, v.vector...)
		p.tokens = append(p.tokens, v.tokens)
	}
	return p.AddAll(p.rows, p.tokens)
}

func (p *sums) remove(vs []version) error {
	for _, v := range vs {
		if err := p.Remove(v.vector, v.tokens); err != nil {
			return fmt.Errorf("taking version %d out of the sums: %w", v.ord, err)
		}
	}
	return nil
}
