package sage

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// Modulated is the cosine of vectors modulated by the closed-form bridge (RLR). Its sufficient
// statistics use all compared texts, each once. For queries against passages, only the queries are
// modulated, as in a search. For two texts of one kind both are modulated, so the measure is
// symmetric, and 1 for a text and itself.
var _ = register(similarity{
	Name: "rlr", Doc: "cosine of the encoder's vectors, moved by RLR over all the texts",
	Prepare: func(ctx context.Context, env env, texts []string) (scorer, error) {
		encoded, err := encode(ctx, env, texts, encoder.NeedDense)
		if err != nil {
			return nil, err
		}
		var each []int // texts that stand nowhere before
		seen := map[string]bool{}
		for i := env.Queries; i < len(texts); i++ {
			if !seen[texts[i]] {
				seen[texts[i]] = true
				each = append(each, i)
			}
		}
		sums, err := ridge.SumsOf(ctx, env.Encoder.Dim(), env.Encoder.VocabSize(), len(each),
			func(i int) []float32 { return encoded[each[i]].Dense },
			func(i int) ([]int32, error) { return encoded[each[i]].Tokens.Lexical(nil), nil })
		if err != nil {
			return nil, fmt.Errorf("summing the texts: %w", err)
		}
		m, err := modulate.NewStack("rlr", modulate.Parts{Sums: sums})
		if err != nil {
			return nil, err
		}
		s := modulated{queries: env.Queries, texts: encoded, moved: make([][]float32, len(texts))}
		for i, t := range encoded {
			s.moved[i] = m.Modulate(nil, modulate.Input{Tokens: t.Tokens.Words(texts[i]), Dense: t.Dense})
		}
		return s, nil
	},
})

type modulated struct {
	queries int
	texts   []encoder.Output
	moved   [][]float32
}

func (m modulated) Against(candidates []int) func(dst []float64, query int) {
	return func(dst []float64, query int) {
		for i, at := range candidates {
			v := m.moved[at]
			if query < m.queries {
				v = m.texts[at].Dense
			}
			dst[i] = float64(vec.Dot(m.moved[query], v))
		}
	}
}
