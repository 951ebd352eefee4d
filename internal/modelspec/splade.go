package modelspec

import (
	"context"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/internal/pooling"
)

// Splade describes a model of SPLADE, as SparseEncoder of sentence-transformers writes it: the head for masked words
// scores the vocabulary at every token, and the largest weight log(1+ReLU(score)) of a word is its weight in the text.
// Output.Logits has the largest scores; the variant mlm-exact turns them into weights. Such a model was not trained to
// give a text a vector: the vector here is the mean of the last states.
//
// Where a Router sends queries to a SparseStaticEmbedding, each token of a query has the weight of a table, and no model
// runs. Output.Logits of a query then has the scores of these weights, times a factor for all queries.
type Splade struct {
	Twice   bool   `json:"twice,omitempty"`   // the weight is log(1+log(1+ReLU(score))), and Output.Logits has log(1+ReLU(score))
	Folder  string `json:"folder,omitempty"`  // of the transformer, relative to the model's; "" for the model's
	Queries string `json:"queries,omitempty"` // folder of the table of queries; "" for none
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
	if d.spec.Splade == nil {
		d.spec.Splade = &Splade{}
	}
	d.spec.Pooling, d.spec.Splade.Twice = pooling.Mean, c.Activation == "log1p_relu"
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
	if p := s.Splade; p != nil {
		for _, path := range []string{p.Folder, p.Queries} {
			if path != "" && !filepath.IsLocal(filepath.FromSlash(path)) {
				return fmt.Errorf("%w: folder %q of %s is not in the model's folder", ErrSpec, path, s.Model)
			}
		}
	}
	if s.Splade != nil && (s.Static != "" || s.Late != nil || len(s.Dense) > 0) {
		return fmt.Errorf("%w: %s has splade beside static, late or dense; leave one of them out", ErrSpec, s.Model)
	}
	return nil
}

// router reads the Router in the given folder, and returns the modules of passages. Queries must have a table.
func (d *description) router(folder string) (passages []module, err error) {
	var c struct {
		Types     map[string]string   `json:"types"`
		Structure map[string][]string `json:"structure"`
	}
	name := path.Join(folder, "router_config.json")
	if found, err := d.read(name, &c); err != nil || !found {
		return nil, missing(filepath.Join(d.dir, filepath.FromSlash(name)), err)
	}
	var kinds []string
	for _, id := range slices.Concat(c.Structure["query"], c.Structure["document"]) {
		kinds = append(kinds, lastPart(c.Types[id]))
	}
	if len(c.Structure) != 2 || len(kinds) != 3 || kinds[0] != "SparseStaticEmbedding" || kinds[1] != "MLMTransformer" && kinds[1] != "Transformer" || kinds[2] != "SpladePooling" {
		return nil, d.wrong("%s: a Router of %v; known is one with SparseStaticEmbedding for queries and MLMTransformer, SpladePooling for documents. Save the model of the route document alone", name, c.Structure)
	}
	of := func(role string, at int) string { return path.Join(folder, c.Structure[role][at]) }
	d.spec.Splade = &Splade{Folder: of("document", 0), Queries: of("query", 0)}
	return []module{{d.spec.Splade.Folder, c.Types[c.Structure["document"][0]]}, {of("document", 1), c.Types[c.Structure["document"][1]]}}, nil
}
