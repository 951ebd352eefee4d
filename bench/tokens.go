package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/late"
)

// tokenCodes are the codes of the token states of all targets, of the kind that the engine keeps by default.
type tokenCodes struct {
	basis *late.Basis
	codes [][]byte // of each target
}

// bytes is the memory of the codes and their basis.
func (c *tokenCodes) bytes() int64 {
	n := int64(4 * (c.basis.Rank() + 1) * c.basis.Dim())
	for _, data := range c.codes {
		n += int64(len(data))
	}
	return n
}

const (
	basisSample   = 30_000 // tokens that a basis is fitted on, about
	basisPassages = 1_000  // passages that they are drawn from, at most
	codesBatch    = 64     // passages whose states are held at a time
)

// tokenCodes makes the codes at the first call.
func (s *Setting) tokenCodes(ctx context.Context) (*tokenCodes, error) {
	if s.codes == nil {
		c, err := s.encodeTokens(ctx)
		if err != nil {
			return nil, err
		}
		s.codes = c
	}
	return s.codes, nil
}

// encodeTokens encodes the token states of all targets.
func (s *Setting) encodeTokens(ctx context.Context) (*tokenCodes, error) {
	sample, err := s.sampleStates(ctx)
	if err != nil {
		return nil, err
	}
	basis, err := late.FitBasis(sample, s.Encoder.Dim(), 0)
	if err != nil {
		return nil, fmt.Errorf("fitting a basis of token states: %w", err)
	}
	c, coder := &tokenCodes{basis, make([][]byte, s.Targets.Len())}, late.Coder{Basis: basis}
	for at := 0; at < s.Targets.Len(); at += codesBatch {
		texts := s.Targets.Texts[at:min(at+codesBatch, s.Targets.Len())]
		out, err := s.Encoder.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedHidden)
		if err != nil {
			return nil, fmt.Errorf("encoding the tokens of passages: %w", err)
		}
		err = parallel.Each(ctx, len(out), func(i int) (err error) {
			if c.codes[at+i], err = coder.Encode(nil, out[i].Hidden, late.Skip(texts[i], out[i].Tokens)); err != nil {
				return fmt.Errorf("tokens of passage %s: %w", s.Targets.ID(at+i), err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		s.Report(Progress{Stage: "encode tokens", Done: at + len(texts), Total: s.Targets.Len()})
	}
	return c, nil
}

// sampleStates are token states of some passages, without skipped tokens.
func (s *Setting) sampleStates(ctx context.Context) ([]float32, error) {
	d := s.Encoder.Dim()
	var sample []float32
	order := rand.New(rand.NewPCG(s.Seed, 71)).Perm(s.Targets.Len())
	order = order[:min(len(order), basisPassages)]
	for len(order) > 0 && len(sample) < basisSample*d {
		n := min(codesBatch, len(order))
		texts := make([]string, n)
		for i, t := range order[:n] {
			texts[i] = s.Targets.Texts[t]
		}
		order = order[n:]
		out, err := s.Encoder.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedHidden)
		if err != nil {
			return nil, fmt.Errorf("encoding the tokens of passages: %w", err)
		}
		for j, o := range out {
			for i, skip := range late.Skip(texts[j], o.Tokens) {
				if !skip {
					sample = append(sample, o.Hidden[i*d:(i+1)*d]...)
				}
			}
		}
	}
	return sample, nil
}
