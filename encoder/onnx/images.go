//go:build cgo

package onnx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/internal/frame"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/regular"
)

// Images is an encoder.Encoder of images that runs a vision transformer. It is safe for concurrent
// use.
type Images struct {
	opts    Options
	pixels  *picture.Processor
	vision  vision
	session *ort.DynamicAdvancedSession
	texts   *textTower // nil where the folder has none
	d       int        // of states
	states  string     // name of the output [batch, states, d]
	p       int        // of pooled
	pooled  string     // name of the output [batch, p] that is the vector; "" where states are pooled
	print   encoder.Fingerprint
	slots   frame.Slots

	mu     sync.RWMutex // read-held by Encode, so that Close waits
	closed bool
}

var _ encoder.Encoder = (*Images)(nil)

// Names of the inputs and outputs of a vision transformer.
const (
	inputPixels  = "pixel_values"
	outputPooled = "pooler_output"
	outputImages = "image_embeds" // of a CLIP, in the space of its texts
)

// OpenImages loads the vision transformer in dir: model.onnx or vision_model.onnx, with the input
// pixel_values [batch, 3, height, width] and an output of rank 3; config.json of a ViT, DeiT, BEiT,
// DINOv2 or the image tower of a CLIP; and preprocessor_config.json. The vector of an image is the
// state of its first token. For BEiT and CLIP it is pooler_output if the graph has it; for BEiT
// without it, the mean of the patches. For CLIP it is image_embeds if the graph has it. If
// text_model.onnx and tokenizer.json are there too, it then also encodes texts as queries.
//
// Errors: encoder.ErrUnavailable if the library cannot be loaded; modelspec.ErrSpec for an invalid
// config.json or an unknown family; picture.ErrConfig; ErrModel for a model that cannot be run or
// gives another number of states; fs.ErrNotExist for a missing file.
func OpenImages(ctx context.Context, dir string, o Options) (*Images, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("onnx options: %w", err)
	}
	pixels, err := picture.LoadProcessor(filepath.Join(dir, picture.ConfigFile))
	if err != nil {
		return nil, err
	}
	v, err := loadVision(dir, pixels)
	if err != nil {
		return nil, err
	}
	if err := load(o.Library); err != nil {
		return nil, err
	}
	e := &Images{opts: o, pixels: pixels, vision: v, slots: frame.NewSlots(o.Workers)}
	path := filepath.Join(dir, "model.onnx")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if other := filepath.Join(dir, "vision_model.onnx"); regular.Exists(other) {
			path = other
		}
	}
	if err := e.start(path); err != nil {
		return nil, err
	}
	if e.pooled == outputImages && regular.Exists(filepath.Join(dir, textTowerFile)) {
		if e.texts, err = openTextTower(dir, e.p); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	if err := e.identify(ctx, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("probe the model in %s: %w", dir, err), e.Close())
	}
	return e, nil
}

// vision describes a vision transformer as config.json does.
type vision struct {
	rows, cols int  // of patches
	front      int  // states before those of the patches
	pooler     bool // whether pooler_output is the vector
	mean       bool // whether the mean of the patches is, without that
}

// visionFamilies are the supported families: the number of states before those of the patches, and
// the pooling.
var visionFamilies = map[string]vision{
	"vit":                   {front: 1},
	"deit":                  {front: 2},
	"beit":                  {front: 1, pooler: true, mean: true},
	"dinov2":                {front: 1},
	"dinov2_with_registers": {front: 1},
	"clip_vision_model":     {front: 1, pooler: true},
	"clip":                  {front: 1, pooler: true},
}

// loadVision reads config.json.
func loadVision(dir string, pixels *picture.Processor) (v vision, err error) {
	path := filepath.Join(dir, "config.json")
	wrong := func(format string, args ...any) (vision, error) {
		return v, fmt.Errorf("%w: %s: %s", modelspec.ErrSpec, path, fmt.Sprintf(format, args...))
	}
	b, err := regular.ReadFile(path, 1<<20)
	if err != nil {
		return v, err
	}
	type numbers struct {
		Patch     int `json:"patch_size"`
		Registers int `json:"num_register_tokens"`
	}
	var c struct {
		Type string `json:"model_type"`
		numbers
		Vision *numbers `json:"vision_config"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return wrong("%v", err)
	}
	v, ok := visionFamilies[c.Type]
	if !ok {
		return wrong("model_type %.80q is no vision transformer that is known; known are vit, deit, beit, dinov2, dinov2_with_registers, clip and clip_vision_model", c.Type)
	}
	n := c.numbers
	if c.Vision != nil {
		n = *c.Vision
	}
	if n.Patch < 1 || n.Registers < 0 || n.Registers > 1<<10 {
		return wrong("patch_size is %d and num_register_tokens %d; want a size from 1 on", n.Patch, n.Registers)
	}
	h, w := pixels.Size()
	if h%n.Patch != 0 || w%n.Patch != 0 || (h/n.Patch)*(w/n.Patch) > modelspec.MaxTokens {
		return wrong("patches of %d pixels do not cover images of %d×%d, which %s makes", n.Patch, h, w, picture.ConfigFile)
	}
	v.rows, v.cols, v.front = h/n.Patch, w/n.Patch, v.front+n.Registers
	return v, nil
}

// start opens the model and finds its outputs.
func (e *Images) start(path string) error {
	ins, outs, err := readSignature(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return fmt.Errorf("%w: %s: %w; fetch the model again", ErrModel, path, err)
	}
	if len(ins) != 1 || ins[0].name != inputPixels || ins[0].element != elementFloat {
		return fmt.Errorf("%w: %s takes %d inputs; a vision transformer takes %s of type float32 alone: export the image tower by itself", ErrModel, path, len(ins), inputPixels)
	}
	i := slices.IndexFunc(outs, func(o value) bool { return o.element == elementFloat && len(o.dims) == 3 && o.dims[2] > 0 })
	if i < 0 {
		return fmt.Errorf("%w: %s has no output [batch, states, dimension] of type float32 and fixed dimension; export it with last_hidden_state", ErrModel, path)
	}
	e.states, e.d = outs[i].name, int(outs[i].dims[2])
	names := []string{e.states}
	for _, o := range outs {
		if !e.vision.pooler || o.element != elementFloat || len(o.dims) != 2 || o.dims[1] < 1 {
			continue
		}
		if o.name == outputImages || o.name == outputPooled && e.pooled == "" && o.dims[1] == int64(e.d) {
			e.pooled, e.p = o.name, int(o.dims[1])
		}
	}
	if e.pooled != "" {
		names = append(names, e.pooled)
	}
	s := &session{path: path, inputs: []string{inputPixels}}
	e.session, err = s.start(names...)
	return err
}

// identify fills in the fingerprint.
func (e *Images) identify(ctx context.Context, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	pooling := "cls"
	switch {
	case e.pooled == outputImages:
		pooling = "projected"
	case e.pooled != "":
		pooling = "pooler"
	case e.vision.mean:
		pooling = "mean of patches"
	}
	e.print = encoder.Fingerprint{
		Model: filepath.Base(abs), Precision: "fp32", Tokenizer: "pixels " + e.pixels.Digest(), Pooling: pooling,
		MaxTokens: e.vision.rows * e.vision.cols, Dim: e.Dim(), Media: encoder.MediaImages, Grid: [2]int{e.vision.rows, e.vision.cols},
	}
	if e.Dim() != e.d {
		e.print.StateDim = e.d
	}
	in := make([]encoder.Input, len(e.print.Probe))
	for i := range in {
		b, err := picture.Probe(i).Encode()
		if err != nil {
			return err
		}
		in[i] = encoder.Input{Media: picture.MediaBMP, Data: b}
	}
	out, err := e.Encode(ctx, encoder.Passage, in, encoder.NeedDense)
	for i := range out {
		e.print.Probe[i] = out[i].Dense
	}
	return err
}

// Dim returns the dimension of vectors. It is also that of states, except for a CLIP.
func (e *Images) Dim() int {
	if e.pooled != "" {
		return e.p
	}
	return e.d
}

// View returns an image as the model sees it: upright, scaled and cropped, before its colours are
// normalised.
func (e *Images) View(file []byte) (*picture.Image, error) {
	m, err := picture.Decode(file)
	if err != nil {
		return nil, err
	}
	return e.pixels.View(m)
}

// VocabSize returns 0: patches have states but no ids.
func (e *Images) VocabSize() int { return 0 }

// Tokenize implements encoder.Encoder: there are no tokens.
func (e *Images) Tokenize(encoder.Role, string) encoder.Tokens { return encoder.Tokens{} }

// Fingerprint identifies the vector space. The probe vectors are shared; do not write to them.
func (e *Images) Fingerprint() encoder.Fingerprint { return e.print }

// Close is like Encoder.Close.
func (e *Images) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return encoder.ErrClosed
	}
	e.closed = true
	err := e.session.Destroy()
	if e.texts != nil {
		err = errors.Join(err, e.texts.session.Destroy())
	}
	return err
}

// Encode encodes images; see encoder.Encoder. Roles make no difference for images. With a text tower
// it also encodes texts in the role Query, each cut at the tower's limit; these have a vector, but no
// states and no tokens. Cancelling takes effect between batches of Options.BatchTokens patches or
// tokens. Memory: that of decoding one image for each of Options.Workers, and the requested outputs.
//
// Errors: encoder.ErrMedia and picture.ErrImage in a *encoder.TextError, encoder.ErrNoLogits,
// encoder.ErrClosed, ErrModel if the runtime refuses a batch, that of ctx.
func (e *Images) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return nil, encoder.ErrClosed
	}
	if need&encoder.NeedLogits != 0 {
		return nil, encoder.ErrNoLogits
	}
	images, texts, err := e.sorted(role, in)
	if err != nil {
		return nil, err
	}
	out := make([]encoder.Output, len(in))
	if need == 0 {
		return out, ctx.Err()
	}
	patches := e.vision.rows * e.vision.cols
	err = e.slots.Run(ctx, slices.Chunk(images, max(1, e.opts.BatchTokens/patches)), func(_ context.Context, at []int) error {
		return e.batch(in, out, at, need)
	})
	if err == nil && len(texts) > 0 && need&encoder.NeedDense != 0 {
		err = e.slots.Run(ctx, slices.Chunk(texts, max(1, e.opts.BatchTokens/e.texts.max)), func(_ context.Context, at []int) error {
			return e.texts.batch(in, out, at)
		})
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// sorted separates the positions of images from those of texts. Only queries may be texts, and only
// with a text tower.
func (e *Images) sorted(role encoder.Role, in []encoder.Input) (images, texts []int, err error) {
	for i := range in {
		if e.texts != nil && role == encoder.Query && in[i].IsText() {
			texts = append(texts, i)
			continue
		}
		images = append(images, i)
		if _, err := encoder.ImagesOf(in[i : i+1]); err != nil {
			return nil, nil, &encoder.TextError{Text: i, Err: errors.Unwrap(err)}
		}
	}
	return images, texts, nil
}

// batch encodes the images in the places at.
func (e *Images) batch(in []encoder.Input, out []encoder.Output, at []int, need encoder.Need) error {
	h, w := e.pixels.Size()
	n, values := int64(len(at)), make([]float32, 0, len(at)*3*h*w)
	for _, i := range at {
		m, err := picture.Decode(in[i].Data)
		if err == nil {
			values, err = e.pixels.Process(values, m)
		}
		if err != nil {
			return &encoder.TextError{Text: i, Err: err}
		}
	}
	x, err := ort.NewTensor(ort.NewShape(n, 3, int64(h), int64(w)), values)
	if err != nil {
		return fmt.Errorf("input %s: %w", inputPixels, err)
	}
	defer x.Destroy()
	patches := e.vision.rows * e.vision.cols
	all := e.vision.front + patches
	states := make([]float32, len(at)*all*e.d)
	y, err := ort.NewTensor(ort.NewShape(n, int64(all), int64(e.d)), states)
	if err != nil {
		return fmt.Errorf("output %s: %w", e.states, err)
	}
	defer y.Destroy()
	results, pooled := []ort.Value{y}, []float32(nil)
	if e.pooled != "" {
		pooled = make([]float32, len(at)*e.p)
		z, err := ort.NewTensor(ort.NewShape(n, int64(e.p)), pooled)
		if err != nil {
			return fmt.Errorf("output %s: %w", e.pooled, err)
		}
		defer z.Destroy()
		results = append(results, z)
	}
	if err := e.session.Run([]ort.Value{x}, results); err != nil {
		return fmt.Errorf("%w: %d states of %d patches were expected: %w", ErrModel, all, patches, err)
	}
	for j, i := range at {
		first := states[j*all*e.d:][:all*e.d]
		if need&encoder.NeedHidden != 0 {
			out[i].Hidden = slices.Clone(first[e.vision.front*e.d:])
		}
		if need&encoder.NeedDense == 0 {
			continue
		}
		of, how := first, pooling.CLS
		switch {
		case pooled != nil:
			of = pooled[j*e.p : (j+1)*e.p]
		case e.vision.mean:
			of, how = first[e.vision.front*e.d:], pooling.Mean
		}
		out[i].Dense = make([]float32, e.Dim())
		if !how.Pool(out[i].Dense, of) {
			return fmt.Errorf("%w: its states of image %d cannot be pooled (infinite, not a number or all zero)", ErrModel, i)
		}
	}
	return nil
}
