//go:build cgo

package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/regular"
)

// textTower gives texts vectors in the space of a CLIP's images.
type textTower struct {
	tokenizer encoder.Tokenizer
	max       int // tokens that it takes
	fixed     int // tokens that every text must be filled up to; 0 for none
	p         int
	inputs    []string
	session   *ort.DynamicAdvancedSession
}

const (
	textTowerFile  = "text_model.onnx"
	outputTexts    = "text_embeds"
	textTowerUsual = 77 // tokens, where config.json does not say
)

// openTextTower loads text_model.onnx and tokenizer.json of a folder; its texts must have vectors of p
// numbers.
func openTextTower(dir string, p int) (*textTower, error) {
	t := &textTower{p: p}
	config := filepath.Join(dir, "config.json")
	b, err := regular.ReadFile(config, 1<<20)
	if err != nil {
		return nil, err
	}
	c := struct {
		Text struct {
			Max int `json:"max_position_embeddings"`
		} `json:"text_config"`
	}{}
	c.Text.Max = textTowerUsual
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("%w: %s: %v", modelspec.ErrSpec, config, err)
	}
	if t.max = c.Text.Max; t.max < 2 || t.max > modelspec.MaxTokens {
		return nil, fmt.Errorf("%w: %s: max_position_embeddings of text_config is %d; want 2 to %d", modelspec.ErrSpec, config, t.max, modelspec.MaxTokens)
	}
	path := filepath.Join(dir, textTowerFile)
	ins, outs, err := readSignature(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; fetch the model again", ErrModel, path, err)
	}
	for _, in := range ins {
		if in.name != inputIDs && in.name != inputMask || in.element != elementInt64 {
			return nil, fmt.Errorf("%w: %s takes %.80q; a text tower takes %s and %s of type int64 alone: export it by itself", ErrModel, path, in.name, inputIDs, inputMask)
		}
		t.inputs = append(t.inputs, in.name)
		if len(in.dims) == 2 && in.dims[1] > 0 {
			t.fixed = int(in.dims[1])
		}
	}
	if !slices.Contains(t.inputs, inputIDs) || !slices.ContainsFunc(outs, func(o value) bool {
		return o.name == outputTexts && o.element == elementFloat && len(o.dims) == 2 && o.dims[1] == int64(p)
	}) {
		return nil, fmt.Errorf("%w: %s does not make %s [batch, %d] of %s; export the text tower with its projection", ErrModel, path, outputTexts, p, inputIDs)
	}
	if t.fixed > 0 {
		t.max = min(t.max, t.fixed)
	}
	if t.tokenizer, err = tokenizer.Load(filepath.Join(dir, "tokenizer.json")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s needs the tokenizer of its texts beside it: %w", path, err)
		}
		return nil, err
	}
	s := &session{path: path, inputs: t.inputs}
	if t.session, err = s.start(outputTexts); err != nil {
		return nil, err
	}
	last := encoder.Tokens{IDs: []int32{int32(t.tokenizer.VocabSize() - 1)}}
	if _, err := t.run([]encoder.Tokens{last}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: tokenizer.json has the id %d, which the model does not take; fetch the model again: %w", dir, last.IDs[0], err), t.session.Destroy())
	}
	return t, nil
}

// batch encodes the texts in the places at.
func (t *textTower) batch(in []encoder.Input, out []encoder.Output, at []int) error {
	tokens := make([]encoder.Tokens, len(at))
	for j, i := range at {
		tokens[j] = t.tokenizer.Tokenize(in[i].Text, t.max)
	}
	vectors, err := t.run(tokens)
	if err != nil {
		return err
	}
	for j, i := range at {
		out[i].Dense = make([]float32, t.p)
		if !pooling.CLS.Pool(out[i].Dense, vectors[j*t.p:(j+1)*t.p]) {
			return fmt.Errorf("%w: its vector of text %d has no direction (infinite, not a number or all zero)", ErrModel, i)
		}
	}
	return nil
}

// run returns the vectors of texts [n × p]. A token of the tower sees only earlier tokens, so padding after
// the last token changes nothing.
func (t *textTower) run(tokens []encoder.Tokens) ([]float32, error) {
	b := new(buffers)
	cols := t.fixed
	for _, k := range tokens {
		cols = max(cols, len(k.IDs))
	}
	b.reset(len(tokens), cols)
	for r, k := range tokens {
		for c, id := range k.IDs {
			b.ids[r*cols+c], b.mask[r*cols+c] = int64(id), 1
		}
	}
	in, err := (&session{inputs: t.inputs}).bind(b)
	if err != nil {
		return nil, err
	}
	defer destroy(in)
	vectors := make([]float32, len(tokens)*t.p)
	out, err := ort.NewTensor(ort.NewShape(int64(len(tokens)), int64(t.p)), vectors)
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", outputTexts, err)
	}
	defer out.Destroy()
	if err := t.session.Run(in, []ort.Value{out}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	return vectors, nil
}
