package native

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder/internal/frame"
	"github.com/lexsem/lexsem/internal/vec"
)

// CrossEncoder reads a query and a text together, and scores how well the text answers
// it: an engine.Reranker. It is safe for concurrent use. Cancelling takes effect between the layers of a batch.
type CrossEncoder struct{ *frame.CrossEncoder }

// OpenCross loads the cross-encoder in dir, as sentence-transformers and transformers write it:
// tokenizer.json, config.json, and model.safetensors, or several files listed in
// model.safetensors.index.json. Its head must give one score, like BertForSequenceClassification and
// its equivalents for bert, roberta, xlm-roberta, camembert, mpnet and distilbert. The length of a
// pair is that of modelspec.DescribeCross.
//
// Errors: modelspec.ErrSpec for a wrong description; encoder.ErrTokenizer for a tokenizer that cannot be
// followed or does not say how two texts are joined; ErrModel for a model that cannot be run;
// fs.ErrNotExist for a missing file.
func OpenCross(ctx context.Context, dir string, o Options) (*CrossEncoder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("native options: %w", err)
	}
	p, err := frame.LoadPair(dir, o.MaxTokens)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, head, err := loadCross(ctx, dir, o.Precision)
	if err != nil {
		return nil, err
	}
	run := newRunner(m, head)
	switch {
	case p.Most > m.positions || p.Tokenizer.VocabSize() > m.vocab:
		return nil, errors.Join(fmt.Errorf("%w: %s: %d tokens a pair and a vocabulary of %d, the model has %d positions and %d words",
			ErrModel, dir, p.Most, p.Tokenizer.VocabSize(), m.positions, m.vocab), run.Close())
	case m.types() > 1 && p.Types() > m.types():
		return nil, errors.Join(fmt.Errorf("%w: %s: tokens of %d types, the model has %d", ErrModel, dir, p.Types(), m.types()), run.Close())
	}
	return &CrossEncoder{frame.NewCross(p, run, o.packing(), o.Workers, ErrModel)}, nil
}

// loadCross reads the model in dir and the layers that score its states.
func loadCross(ctx context.Context, dir, precision string) (*model, *scoring, error) {
	c, err := openCheckpoint(dir)
	if err != nil {
		return nil, nil, err
	}
	c.int8 = precision == Int8
	m, head, err := c.cross(ctx, dir)
	return m, head, c.finish(m, dir, err)
}

func (c *checkpoint) cross(ctx context.Context, dir string) (*model, *scoring, error) {
	if c.transposed {
		return nil, nil, fmt.Errorf("%w: a cross-encoder is read of %s, and there is %s alone, which ONNX Runtime runs", ErrModel, fileSafetensors, fileONNX)
	}
	conf, err := c.config(filepath.Join(dir, fileConfig))
	if err != nil {
		return nil, nil, err
	}
	n, ok := scorings[conf.ModelType]
	if !ok {
		return nil, nil, fmt.Errorf("%w: of model_type %s no cross-encoder is run in Go; export it as %s for ONNX Runtime", ErrModel, conf.ModelType, fileONNX)
	}
	m, err := c.model(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	head, err := c.scoring(n, m.d)
	return m, head, err
}

// scoringNames are a family's names of the layers between the first token's state and the score.
type scoringNames struct {
	dense, out string
	relu       bool // instead of tanh
}

// scorings are the names for each family, by model_type.
var scorings = map[string]scoringNames{
	"bert":        {dense: "pooler.dense", out: "classifier"},
	"roberta":     {dense: "classifier.dense", out: "classifier.out_proj"},
	"xlm-roberta": {dense: "classifier.dense", out: "classifier.out_proj"},
	"camembert":   {dense: "classifier.dense", out: "classifier.out_proj"},
	"mpnet":       {dense: "classifier.dense", out: "classifier.out_proj"},
	"distilbert":  {dense: "pre_classifier", out: "classifier", relu: true},
}

// scoring computes a score from the first token's state: a layer, its activation, and a sum.
type scoring struct {
	dense, bias []float32 // [d × d], [d]
	out         []float32 // [d]
	add         float32
	relu        bool
}

func (c *checkpoint) scoring(n scoringNames, d int) (*scoring, error) {
	if shape := c.shape(c.file(n.out + ".weight")); len(shape) == 2 && shape[0] != 1 {
		return nil, fmt.Errorf("%w: it classifies texts into %d labels; a cross-encoder that ranks has one", ErrModel, shape[0])
	}
	if !c.has(n.out + ".weight") {
		return nil, fmt.Errorf("%w: it has no tensor %q: it is no cross-encoder", ErrModel, n.out+".weight")
	}
	h := &scoring{relu: n.relu, dense: c.table(n.dense+".weight", d, d), bias: c.vector(n.dense+".bias", d), out: c.table(n.out+".weight", 1, d)}
	if one := c.vector(n.out+".bias", 1); one != nil {
		h.add = one[0]
	}
	return h, c.err
}

// score returns the score of a text whose first token has the given state.
func (h *scoring) score(first []float32) float64 {
	x := make([]float32, len(first))
	vec.DotRows(x, first, h.dense)
	for i := range x {
		if x[i] += h.bias[i]; h.relu {
			x[i] = max(0, x[i])
		} else {
			x[i] = float32(math.Tanh(float64(x[i])))
		}
	}
	return float64(vec.Dot(x, h.out) + h.add)
}
