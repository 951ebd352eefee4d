package sage

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/vec"
)

// similarity measures how alike two texts are, in [0, 1]. Cosines may be below 0. To add one, write a
// file with "var _ = register(similarity{…})".
type similarity struct {
	Name string
	Doc  string // one-line description
	// Collection says that a score depends on all candidates, not only on the two texts. Candidates
	// are then given together, and the order of the two texts matters.
	Collection bool
	// Prepare gets every text that will be compared.
	Prepare func(ctx context.Context, env env, texts []string) (scorer, error)
}

// env holds what a similarity may use.
type env struct {
	Encoder encoder.Encoder
	// Queries is the number of queries, which are the first texts. The others are passages.
	Queries int
	Report  func(bench.Progress)
}

// scorer compares texts by their positions. It is safe for concurrent use.
type scorer interface {
	// Against fixes the candidates. The returned function writes the similarity of text query to each
	// of them into dst. Collection statistics are those of the candidates.
	Against(candidates []int) func(dst []float64, query int)
}

var similarities []similarity

// register adds a similarity under its name, which must be unused. Call it only during package
// initialisation, since the registry has no lock.
func register(s similarity) similarity {
	for _, other := range similarities {
		if other.Name == s.Name {
			panic("similarity registered twice: " + s.Name)
		}
	}
	similarities = append(similarities, s)
	return s
}

// Similarities lists the registered similarities.
func Similarities() []string {
	var out []string
	for _, s := range similarities {
		out = append(out, s.Name)
	}
	return out
}

// Cosine is the cosine of the encoder's vectors.
var _ = register(similarity{
	Name: "dense", Doc: "cosine of the encoder's vectors",
	Prepare: func(ctx context.Context, env env, texts []string) (scorer, error) {
		encoded, err := encode(ctx, env, texts, encoder.NeedDense)
		return cosine{encoded}, err
	},
})

type cosine struct{ texts []encoder.Output }

func (c cosine) Against(candidates []int) func(dst []float64, query int) {
	return func(dst []float64, query int) {
		q := c.texts[query].Dense
		for i, at := range candidates {
			dst[i] = float64(vec.Dot(q, c.texts[at].Dense))
		}
	}
}

// encode encodes texts in their roles. A repeated text, which a change without effect produces, is
// encoded once.
func encode(ctx context.Context, env env, texts []string, need encoder.Need) ([]encoder.Output, error) {
	const batch = 256
	all := make([]encoder.Output, len(texts))
	for _, side := range []struct {
		role     encoder.Role
		from, to int
	}{{encoder.Query, 0, env.Queries}, {encoder.Passage, env.Queries, len(texts)}} {
		first := map[string]int{}
		var at []int
		for i := side.from; i < side.to; i++ {
			if _, known := first[texts[i]]; !known {
				first[texts[i]] = i
				at = append(at, i)
			}
		}
		for from := 0; from < len(at); from += batch {
			part := at[from:min(from+batch, len(at))]
			in := make([]string, len(part))
			for j, i := range part {
				in[j] = texts[i]
			}
			out, err := env.Encoder.Encode(ctx, side.role, encoder.Texts(in...), need)
			if err != nil {
				return nil, fmt.Errorf("encoding: %w", err)
			}
			for j, i := range part {
				all[i] = out[j]
			}
			env.Report(bench.Progress{Stage: "encode", Done: from + len(part), Total: len(at)})
		}
		for i := side.from; i < side.to; i++ {
			all[i] = all[first[texts[i]]]
		}
	}
	return all, nil
}
