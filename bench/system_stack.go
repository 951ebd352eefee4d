package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/modulate"
)

// stackSystem answers with the query vector modulated by a stack of variants.
// A stack with a fitted part is fitted to the corpus first.
func stackSystem(stack modulate.Stack) System {
	return System{
		Name: stack.Name(),
		Need: stack.Need(), Constants: stackConstants(stack),
		Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
			m, fit, err := s.modulator(ctx, stack)
			if err != nil {
				return nil, nil, err
			}
			return stackRetriever(s, m, fit), fit, nil
		},
	}
}

// stackConstants returns the constants of a stack. α and λ of a fitted stack belong to
// the fit.
func stackConstants(stack modulate.Stack) (names []string) {
	if stack.Fitted() {
		return []string{"spread", "tau"}
	}
	if slices.Contains(strings.Split(stack.Name(), "+"), modulate.RLR.Name) {
		names = append(names, "alpha")
	}
	if stack.ReadsSums() {
		names = append(names, "lambda")
	}
	return names
}

// stackRetriever answers with the query vector that m modulates.
func stackRetriever(s *Setting, m modulate.Modulator, fit *Fit) Retriever {
	return vectorRetriever{s, func(dst []float32, q Question) []float32 { return m.Modulate(dst, inputOf(q)) }, fit.Bytes}
}

// stackNamed reads the stack in the name of a system, KIND:STACK.
func stackNamed(kind, name string) (modulate.Stack, error) {
	stack, err := modulate.ParseStack(name)
	if err != nil {
		return stack, fmt.Errorf("%w: %s:%s: %w", ErrUnknownName, kind, name, err)
	}
	return stack, nil
}

func inputOf(q Question) modulate.Input {
	return modulate.Input{Tokens: q.Output.Tokens.Words(q.Text), Dense: q.Output.Dense, Hidden: q.Output.Hidden, Logits: q.Output.Logits}
}

// modulator prepares a stack for the corpus; a stack with a fitted part is fitted.
func (s *Setting) modulator(ctx context.Context, stack modulate.Stack) (modulate.Modulator, *Fit, error) {
	parts := modulate.Parts{Alone: s.alone}
	fit := &Fit{Passages: s.Targets.Len()}
	began, cpu := time.Now(), process.CPUTime()
	var err error
	if parts.Sums, err = s.corpusSums(ctx); err != nil { // which tell what of a query is known, too
		return nil, nil, err
	}
	if stack.Fitted() {
		if parts.Weights, err = s.fitStack(ctx, stack, fit); err != nil {
			return nil, nil, err
		}
	} else {
		parts.RLR = rlrBy(s.Constants)
		parts.RLR.Centred = s.Spell != nil
	}
	m, err := modulate.NewStack(stack.Name(), parts)
	if err != nil {
		return nil, nil, err
	}
	// The first query brings the inverse of the corpus sums up to date.
	m.Modulate(nil, inputOf(Question{Output: s.Passages[0]}))
	fit.Seconds, fit.CPUSeconds = time.Since(began).Seconds(), (process.CPUTime() - cpu).Seconds()
	if !stack.ReadsSums() {
		parts.Sums = nil
	}
	fit.Bytes = partsBytes(parts)
	return m, fit, nil
}

// partsBytes is the memory of the sufficient statistics and the fitted weights.
func partsBytes(p modulate.Parts) int64 {
	var n int64
	if p.Sums != nil {
		n += p.Sums.Bytes().Total()
	}
	if p.Weights != nil {
		n += 4 * int64(len(p.Weights.Projection.Rows())+len(p.Weights.Projection.Bias())+len(p.Weights.Projection.Tokens()))
		for _, h := range p.Weights.Heads {
			n += 4 * int64(len(h.Tokens)+len(h.U)+len(h.B)+len(h.Near))
		}
	}
	return n
}

// corpusSums makes the sums over the corpus at the first call.
func (s *Setting) corpusSums(ctx context.Context) (*ridge.Sums, error) {
	if s.sums != nil {
		return s.sums, nil
	}
	known := s.known()
	sums, err := ridge.SumsOf(ctx, s.Encoder.Dim(), s.Encoder.VocabSize(), len(known),
		func(i int) []float32 { return s.Passages[known[i]].Dense },
		func(i int) ([]int32, error) { return s.Passages[known[i]].Tokens.Lexical(nil), nil })
	if err != nil {
		return nil, fmt.Errorf("summing the passages: %w", err)
	}
	s.sums = sums
	return sums, nil
}

// settingCorpus shows a Setting to the trainer.
type settingCorpus struct{ s *Setting }

func (c settingCorpus) Len() int                   { return c.s.Targets.Len() }
func (c settingCorpus) Text(i int) (string, error) { return c.s.Targets.Texts[i], nil }
func (c settingCorpus) Vector(i int) []float32     { return c.s.Passages[i].Dense }

// Mates implements train.Labelled.
func (c settingCorpus) Mates(i int) []string {
	if c.s.Mates == nil {
		return nil
	}
	return c.s.Mates(i)
}

// drawnCorpus is a random part of a corpus.
type drawnCorpus struct {
	all settingCorpus
	at  []int
}

func (c drawnCorpus) Len() int                   { return len(c.at) }
func (c drawnCorpus) Text(i int) (string, error) { return c.all.Text(c.at[i]) }
func (c drawnCorpus) Vector(i int) []float32     { return c.all.Vector(c.at[i]) }
func (c drawnCorpus) Mates(i int) []string       { return c.all.Mates(c.at[i]) }
