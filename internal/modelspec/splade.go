package modelspec

import (
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/pooling"
)

// Splade describes a model of SPLADE, as SparseEncoder of sentence-transformers writes it: the head for masked words
// scores the vocabulary at every token, and the largest weight log(1+ReLU(score)) of a word is its weight in the text.
// Output.Logits has the largest scores, of which the variant mlm-exact takes the weights. Such a model has no vector of
// a text: here the mean of the last states is the vector, which it was not trained for.
type Splade struct {
	Twice bool `json:"twice,omitempty"` // the weight is log(1+log(1+ReLU(score))), and Output.Logits has log(1+ReLU(score))
}

// splade reads the module SpladePooling in the given folder.
func (d *description) splade(path string) error {
	c := struct {
		Strategy   string `json:"pooling_strategy"`
		Activation string `json:"activation_function"`
	}{"max", "relu"}
	name := path + "/" + fileConfig
	if _, err := d.read(name, &c); err != nil {
		return err
	}
	if c.Strategy != "max" || c.Activation != "relu" && c.Activation != "log1p_relu" {
		return d.wrong("%s: pooling_strategy %q and activation_function %q; known are max, and relu and log1p_relu", name, c.Strategy, c.Activation)
	}
	d.spec.Pooling, d.spec.Splade = pooling.Mean, &Splade{Twice: c.Activation == "log1p_relu"}
	d.note("a SparseEncoder has no vector of a text, and the mean of its states stands for it; name it after a model that has one: all-MiniLM-L6-v2+splade:%s", d.dir)
	return nil
}

// Pool returns Output.Logits of a text of n tokens, of whose scores it asks one after the other and keeps the first.
// The error is that of ctx.
func (s Splade) Pool(ctx context.Context, n int, scores func(token int) []float32) ([]float32, error) {
	out := scores(0)
	for token := 1; token < n; token++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, x := range scores(token) {
			out[i] = max(out[i], x)
		}
	}
	if s.Twice {
		for i, x := range out {
			out[i] = float32(math.Log1p(max(float64(x), 0)))
		}
	}
	return out, nil
}

// validSplade returns an error that wraps ErrSpec unless the rest of the description fits.
func (s Spec) validSplade() error {
	if s.Splade != nil && (s.Static != "" || s.Late != nil || len(s.Dense) > 0) {
		return fmt.Errorf("%w: %s has splade beside static, late or dense; leave one of them out", ErrSpec, s.Model)
	}
	return nil
}
