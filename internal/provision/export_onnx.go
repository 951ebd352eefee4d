package provision

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/safetensors"
	"github.com/lexsem/lexsem/internal/transformer"
)

// exportVersion changes with the graph that ExportONNX writes.
const exportVersion = 1

// ExportONNX writes a BERT checkpoint, given as the safetensors file weights and its config.json, as
// the ONNX file out, by a temporary file in the same folder. Inputs are input_ids, attention_mask and
// token_type_ids, int64 [batch, seq]. The output last_hidden_state is float32 [batch, seq, d]. If the
// checkpoint has a masked-language-model head, a second output, logits, float32 [batch, |V|], is that
// head at the first token. A pooler is left out.
//
// The graph uses the fused operators of ONNX Runtime (Attention, SkipLayerNormalization, BiasGelu).
// From basic operators ONNX Runtime would have to find them itself, and it does not find Attention.
// On MiniLM the fused graph takes 13 % less CPU time than the published ONNX file. States differ from
// it only by rounding.
//
// Errors wrap ErrCheckpoint if the files are damaged or of another architecture. Cost: one pass over
// the weights; memory is that of the largest matrix of a layer.
func ExportONNX(ctx context.Context, weights, config, out string) error {
	c, err := transformer.Load(config)
	if err != nil {
		return fmt.Errorf("export: %w", checkpoint(err))
	}
	if !exportable(c) {
		return fmt.Errorf("export: %w: a graph is made of model_type bert alone, not of %s", ErrCheckpoint, c.ModelType)
	}
	s, err := safetensors.Open(weights)
	if err != nil {
		return fmt.Errorf("export: %w", checkpoint(err))
	}
	defer s.Close()
	g, err := bertGraph(s, c)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	err = atomicfile.Write(out, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<20)
		return errors.Join(g.writeTo(ctx, w, "lexsem"), w.Flush())
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// exportable reports whether ExportONNX knows the architecture.
func exportable(c transformer.Config) bool {
	return c.ModelType == "bert" && c.Activation != transformer.SiLU
}

// checkpoint makes an ErrCheckpoint of an error in a safetensors file or its configuration.
func checkpoint(err error) error {
	if errors.Is(err, safetensors.ErrFormat) || errors.Is(err, transformer.ErrConfig) {
		return fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return err
}

// bertBuilder adds the parts of a BERT encoder to a graph.
type bertBuilder struct {
	graph
	s   *safetensors.File
	c   transformer.Config
	pre string // prefix of the tensor names, "" or "bert."
	ids string // the table of word embeddings
	err error  // the first error; later calls do nothing harmful
}

func bertGraph(s *safetensors.File, c transformer.Config) (*graph, error) {
	b := &bertBuilder{s: s, c: c}
	if _, ok := s.Tensors["bert.embeddings.word_embeddings.weight"]; ok {
		b.pre = "bert."
	}
	x, mask := b.embed()
	for i := range c.Layers {
		x = b.layer(x, mask, "encoder.layer."+strconv.FormatInt(i, 10)+".", i == c.Layers-1)
	}
	b.output(x, "batch", "seq", strconv.FormatInt(c.HiddenSize, 10))
	if _, ok := s.Tensors[headTransform+".dense.weight"]; ok {
		b.head(x)
	}
	return &b.graph, b.err
}

// embed adds word, type and position embeddings and their normalisation. It returns the states and
// the mask in the form for Attention.
func (b *bertBuilder) embed() (states, mask string) {
	c := b.c
	ids := b.input("input_ids", "batch", "seq")
	attention := b.input("attention_mask", "batch", "seq")
	types := b.input("token_type_ids", "batch", "seq")
	word := b.table("embeddings.word_embeddings.weight", c.Vocab, c.HiddenSize)
	b.ids = word
	position := b.table("embeddings.position_embeddings.weight", c.Positions, c.HiddenSize)
	kind := b.table("embeddings.token_type_embeddings.weight", c.Types, c.HiddenSize)

	zero, one, two := b.addInts("zero", 0), b.addInts("one", 1), b.addInts("two", 2)
	shape := b.add("", "Shape", []string{ids})
	length := b.add("", "Slice", []string{shape, one, two, zero})
	position = b.add("", "Slice", []string{position, zero, length, zero})
	word = b.add("", "Gather", []string{word, ids})
	kind = b.add("", "Gather", []string{kind, types})
	x := b.add("", "Add", []string{b.add("", "Add", []string{word, kind}), position})
	scale, shift := b.norm("embeddings.LayerNorm")
	x = b.add("", "LayerNormalization", []string{x, scale, shift}, attribute{"epsilon", float32(c.Eps)})
	return x, b.add("", "Cast", []string{attention}, attribute{"to", int64(onnxInt32)})
}

// layer adds one transformer layer: self-attention and feed-forward, each
// with a residual and a normalisation after it.
func (b *bertBuilder) layer(x, mask, name string, last bool) string {
	d, eps := b.c.HiddenSize, attribute{"epsilon", float32(b.c.Eps)}
	self := name + "attention.self."
	qkv := b.matrix(name+"attention.qkv.weight", d, d, self+"query.weight", self+"key.weight", self+"value.weight")
	bias := b.vector(name+"attention.qkv.bias", d, self+"query.bias", self+"key.bias", self+"value.bias")
	a := b.add(contribDomain, "Attention", []string{x, qkv, bias, mask}, attribute{"num_heads", b.c.Heads})

	dense := name + "attention.output.dense"
	a = b.add("", "MatMul", []string{a, b.matrix(dense+".weight", d, d, dense+".weight")})
	scale, shift := b.norm(name + "attention.output.LayerNorm")
	x = b.add(contribDomain, "SkipLayerNormalization",
		[]string{a, x, scale, shift, b.vector(dense+".bias", d, dense+".bias")}, eps)

	dense = name + "intermediate.dense"
	f := b.add("", "MatMul", []string{x, b.matrix(dense+".weight", d, b.c.Intermediate, dense+".weight")})
	f = b.add(contribDomain, b.activation(), []string{f, b.vector(dense+".bias", b.c.Intermediate, dense+".bias")})

	dense = name + "output.dense"
	f = b.add("", "MatMul", []string{f, b.matrix(dense+".weight", b.c.Intermediate, d, dense+".weight")})
	scale, shift = b.norm(name + "output.LayerNorm")
	inputs := []string{f, x, scale, shift, b.vector(dense+".bias", d, dense+".bias")}
	if last {
		b.addNamed(contribDomain, "SkipLayerNormalization", inputs, "last_hidden_state", eps)
		return "last_hidden_state"
	}
	return b.add(contribDomain, "SkipLayerNormalization", inputs, eps)
}

// activation is the operator of ONNX Runtime that adds a bias and applies the
// model's activation: the exact GELU, or its approximation by tanh.
func (b *bertBuilder) activation() string {
	if b.c.Activation == transformer.GELU {
		return "BiasGelu"
	}
	return "FastGelu"
}

// headTransform is the first part of the masked-language-model head.
const headTransform = "cls.predictions.transform"

// head adds the masked-language-model head at the first token of states x: a dense layer, the
// activation, a normalisation, and the product with the word embeddings or, if the checkpoint has
// one, with a separate matrix.
func (b *bertBuilder) head(x string) {
	d, v := b.c.HiddenSize, b.c.Vocab
	pre := b.pre
	b.pre = "" // the head stands beside the encoder
	defer func() { b.pre = pre }()
	first := b.add("", "Gather", []string{x, b.addInts("first", 0)}, attribute{"axis", int64(1)})
	first = b.add("", "Reshape", []string{first, b.addInts("rows", -1, d)})
	dense := headTransform + ".dense"
	h := b.add("", "MatMul", []string{first, b.matrix(dense+".weight", d, d, dense+".weight")})
	h = b.add(contribDomain, b.activation(), []string{h, b.vector(dense+".bias", d, dense+".bias")})
	scale, shift := b.norm(headTransform + ".LayerNorm")
	h = b.add("", "LayerNormalization", []string{h, scale, shift}, attribute{"epsilon", float32(b.c.Eps)})
	words := b.ids
	if name := "cls.predictions.decoder.weight"; b.has(name) {
		words = b.table(name, v, d)
	}
	bias := "cls.predictions.bias"
	if !b.has(bias) {
		bias = "cls.predictions.decoder.bias"
	}
	b.addNamed("", "Gemm", []string{h, words, b.vector(bias, v, bias)}, "logits", attribute{"transB", int64(1)})
	b.output("logits", "batch", strconv.FormatInt(v, 10))
}

// has reports whether the checkpoint has an encoder tensor of that name, or any tensor of that name
// if no prefix is set.
func (b *bertBuilder) has(name string) bool {
	_, ok := b.s.Tensors[b.pre+name]
	return ok
}

// norm adds scale and shift of a normalisation; checkpoints that were converted
// from the first implementation call them gamma and beta.
func (b *bertBuilder) norm(name string) (scale, shift string) {
	weight, bias := name+".weight", name+".bias"
	if !b.has(weight) && b.has(name+".gamma") {
		weight, bias = name+".gamma", name+".beta"
	}
	return b.vector(name+".weight", b.c.HiddenSize, weight), b.vector(name+".bias", b.c.HiddenSize, bias)
}

// sections finds the tensors of the given names, all of one shape.
func (b *bertBuilder) sections(names []string, shape ...int64) []*io.SectionReader {
	out := make([]*io.SectionReader, len(names))
	for i, n := range names {
		r, err := b.s.Section(b.pre+n, shape...)
		if err != nil {
			b.err = errors.Join(b.err, checkpoint(err))
			return nil
		}
		out[i] = r
	}
	return out
}

// table adds a tensor [rows, cols] unchanged.
func (b *bertBuilder) table(name string, rows, cols int64) string {
	return b.joined(name, []int64{rows, cols}, b.sections([]string{name}, rows, cols))
}

// vector adds tensors of length n, one after the other.
func (b *bertBuilder) vector(name string, n int64, from ...string) string {
	return b.joined(name, []int64{n * int64(len(from))}, b.sections(from, n))
}

func (b *bertBuilder) joined(name string, dims []int64, parts []*io.SectionReader) string {
	var size int64
	for _, p := range parts {
		size += p.Size()
	}
	return b.addWeight(name, onnxFloat, dims, size, func(w io.Writer) error {
		for _, p := range parts {
			if _, err := io.Copy(w, io.NewSectionReader(p, 0, p.Size())); err != nil {
				return err
			}
		}
		return nil
	})
}

// matrix adds linear layers [out, in], transposed to [in, out] and concatenated, the layout of MatMul
// and Attention.
func (b *bertBuilder) matrix(name string, in, out int64, from ...string) string {
	parts := b.sections(from, out, in)
	n := int64(len(from))
	return b.addWeight(name, onnxFloat, []int64{in, n * out}, 4*in*n*out, func(w io.Writer) error {
		dst := make([]byte, 4*in*n*out)
		src := make([]byte, 4*out*in)
		for k, p := range parts {
			if _, err := p.ReadAt(src, 0); err != nil && err != io.EOF {
				return err
			}
			for o := range out {
				for i := range in {
					copy(dst[4*(i*n*out+int64(k)*out+o):][:4], src[4*(o*in+i):])
				}
			}
		}
		_, err := w.Write(dst)
		return err
	})
}
