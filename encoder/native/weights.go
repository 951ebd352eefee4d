package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/lexsem/lexsem/internal/onnxfile"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/safetensors"
)

// Names of the files in a model's folder.
const (
	fileSafetensors = "model.safetensors"
	fileShards      = "model.safetensors.index.json"
	fileONNX        = "model.onnx"
	fileConfig      = "config.json"
	fileTokenizer   = "tokenizer.json"
	filePacked      = "model.q4" // see packed
)

// source is an open file of weights.
type source interface {
	// shape returns the shape of a tensor, or nil if it does not exist.
	shape(name string) []int64
	// floats reads a tensor into dst, which must have its size.
	floats(name string, dst []float32) error
	// reader reads a tensor as float32, little endian.
	reader(name string) (*io.SectionReader, error)
	Close() error
}

// checkpoint is a source that finds tensors by the names that their family has in
// PyTorch, whatever their names in the file. Its methods do nothing after the first
// error.
type checkpoint struct {
	source
	pre        string            // put before the names of the encoder, for example "" or "bert."
	transposed bool              // whether matrices lie as [in, out]
	alias      map[string]string // what the file calls some tensors
	int8       bool              // whether large matrices are kept as Int8
	brief      bool              // whether the matrices of layers are left in the file: see unread
	later      bool              // whether those that are looked up now are
	scratch    []float32         // of the matrix that is read
	err        error
}

// openCheckpoint opens the weights in dir: safetensors in one file or several, else
// an ONNX file.
func openCheckpoint(dir string) (*checkpoint, error) {
	c := &checkpoint{}
	s, err := safetensors.Open(filepath.Join(dir, fileSafetensors))
	switch {
	case err == nil:
		c.source = tensorsFile{s}
		return c, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, unusable(err)
	case regular.Exists(filepath.Join(dir, fileShards)):
		c.source, err = openShards(dir)
		return c, unusable(err)
	case regular.Exists(filepath.Join(dir, filePacked)):
		c.source, err = openPacked(filepath.Join(dir, filePacked))
		return c, err
	}
	x, err := onnxfile.Open(filepath.Join(dir, fileONNX))
	if err != nil {
		return nil, unusable(err)
	}
	c.source, c.transposed, c.alias = graphFile{x}, true, aliases(x)
	return c, nil
}

// find determines the prefix of a family's names.
func (c *checkpoint) find(n names) {
	for _, pre := range n.before {
		if c.shape(pre+n.words+".weight") != nil {
			c.pre = pre
			return
		}
	}
}

// unusable makes an ErrModel of an error in a file's content, and returns errors of the
// file system unchanged.
func unusable(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return fmt.Errorf("%w: %w", ErrModel, err)
}

// file returns the name of the tensor in the file.
func (c *checkpoint) file(name string) string {
	full := c.pre + name
	for _, head := range []string{"cls.", "classifier.", "pre_classifier.", "lm_head.", "vocab_", "head.", "decoder."} { // which stand beside the encoder
		if strings.HasPrefix(name, head) {
			full = name
		}
	}
	if a, ok := c.alias[full]; ok && c.shape(full) == nil {
		return a
	}
	return full
}

func (c *checkpoint) has(name string) bool { return c.shape(c.file(name)) != nil }

// want reports whether the tensor name exists with the given shape, before memory is
// allocated for it.
func (c *checkpoint) want(name string, shape ...int64) bool {
	if c.err != nil {
		return false
	}
	got := c.shape(c.file(name))
	switch {
	case got == nil:
		c.err = fmt.Errorf("%w: it has no tensor %q", ErrModel, name)
	case !slices.Equal(got, shape):
		c.err = fmt.Errorf("%w: tensor %q has the shape %v, want %v", ErrModel, name, got, shape)
	}
	return c.err == nil
}

// read reads the tensor name, which want has checked, into dst.
func (c *checkpoint) read(dst []float32, name string) {
	if c.err == nil {
		c.err = unusable(c.floats(c.file(name), dst))
	}
}

func (c *checkpoint) vector(name string, n int) []float32 {
	if !c.want(name, int64(n)) {
		return nil
	}
	v := make([]float32, n)
	c.read(v, name)
	return v
}

func (c *checkpoint) table(name string, rows, cols int) []float32 {
	if !c.want(name, int64(rows), int64(cols)) {
		return nil
	}
	v := make([]float32, rows*cols)
	c.read(v, name)
	return v
}

// tensorsFile is a safetensors file.
type tensorsFile struct{ *safetensors.File }

func (t tensorsFile) shape(name string) []int64 {
	x, ok := t.Tensors[name]
	if ok && x.Shape == nil {
		return []int64{}
	}
	return x.Shape
}

func (t tensorsFile) floats(name string, dst []float32) error {
	r, err := t.reader(name)
	if err != nil {
		return err
	}
	return readFloats(r, dst)
}

func (t tensorsFile) reader(name string) (*io.SectionReader, error) {
	return t.Section(name, t.Tensors[name].Shape...)
}

// graphFile is an ONNX file.
type graphFile struct{ *onnxfile.File }

func (g graphFile) shape(name string) []int64 {
	t, ok := g.Tensors[name]
	if ok && t.Shape == nil {
		return []int64{}
	}
	return t.Shape
}

func (g graphFile) floats(name string, dst []float32) error {
	r, err := g.reader(name)
	if err != nil {
		return err
	}
	return readFloats(r, dst)
}

func (g graphFile) reader(name string) (*io.SectionReader, error) { return g.Floats(name) }

// readFloats fills dst with the little-endian numbers of r.
func readFloats(r io.Reader, dst []float32) error {
	_, err := io.ReadFull(r, memory(dst))
	littleEndian(dst)
	return err
}

// memory is the memory of numbers.
func memory(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// littleEndian corrects numbers whose bytes were read from a file.
func littleEndian(x []float32) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return
	}
	for i, b := 0, memory(x); i < len(x); i++ {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// aliases finds the matrices of an exported graph. Exporters keep the names of biases,
// but not those of matrices, which they transpose. The matrix of NAME is the one
// multiplied before "NAME.bias" is added.
func aliases(x *onnxfile.File) map[string]string {
	product := map[string]string{} // output of a product by a matrix: that matrix
	for _, n := range x.Nodes {
		if n.Op == "MatMul" && len(n.Inputs) == 2 && len(n.Outputs) == 1 && len(x.Tensors[n.Inputs[1]].Shape) == 2 {
			product[n.Outputs[0]] = n.Inputs[1]
		}
	}
	out := map[string]string{}
	for _, n := range x.Nodes {
		if n.Op != "Add" || len(n.Inputs) != 2 {
			continue
		}
		for i, in := range n.Inputs {
			name, ok := strings.CutSuffix(in, ".bias")
			if matrix := product[n.Inputs[1-i]]; ok && matrix != "" {
				out[name+".weight"] = matrix
			}
		}
	}
	return out
}
