//go:build cgo

package onnx

import (
	"errors"
	"fmt"
	"slices"

	ort "github.com/yalue/onnxruntime_go"
)

// ErrModel is wrapped where a model file cannot be run as a text encoder.
var ErrModel = errors.New("unusable model")

// Names of the inputs that BERT-like encoders have.
const (
	inputIDs  = "input_ids"
	inputMask = "attention_mask"
	inputType = "token_type_ids"
)

// session is a loaded model. Run is safe for concurrent use.
type session struct {
	s      *ort.DynamicAdvancedSession
	inputs []string // names, in the order in which they are passed
	output string   // name of the token states
	dim    int      // d
}

// openSession loads the model at path. The names of its outputs differ from
// one exporter to the next, so the states are found by shape: the first
// output of rank 3, [batch, tokens, d].
func openSession(path string) (*session, error) {
	info, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	defer info.Destroy()
	// This session is only asked for names; optimising it would be lost work.
	if err := info.SetGraphOptimizationLevel(ort.GraphOptimizationLevelDisableAll); err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	ins, outs, err := ort.GetInputOutputInfoWithOptions(path, info)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; fetch the model again", ErrModel, path, err)
	}
	s := &session{}
	for _, in := range ins {
		if !slices.Contains([]string{inputIDs, inputMask, inputType}, in.Name) || in.DataType != ort.TensorElementDataTypeInt64 {
			return nil, fmt.Errorf("%w: %s has the input %s; only %s, %s and %s of type int64 are known",
				ErrModel, path, in.Name, inputIDs, inputMask, inputType)
		}
		s.inputs = append(s.inputs, in.Name)
	}
	if !slices.Contains(s.inputs, inputIDs) || !slices.Contains(s.inputs, inputMask) {
		return nil, fmt.Errorf("%w: %s lacks the input %s or %s", ErrModel, path, inputIDs, inputMask)
	}
	i := slices.IndexFunc(outs, func(o ort.InputOutputInfo) bool {
		return o.OrtValueType == ort.ONNXTypeTensor && o.DataType == ort.TensorElementDataTypeFloat && len(o.Dimensions) == 3
	})
	if i < 0 {
		return nil, fmt.Errorf("%w: %s has no output [batch, tokens, dimension] of type float32; export it without pooling", ErrModel, path)
	}
	s.output, s.dim = outs[i].Name, int(outs[i].Dimensions[2])

	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	defer o.Destroy()
	if err := errors.Join(o.SetIntraOpNumThreads(1), o.SetInterOpNumThreads(1),
		o.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll)); err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	if s.s, err = ort.NewDynamicAdvancedSession(path, s.inputs, []string{s.output}, o); err != nil {
		return nil, fmt.Errorf("%w: %s: %w; fetch the model again", ErrModel, path, err)
	}
	if s.dim <= 0 {
		if err := s.learnDim(); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrModel, path, err), s.close())
		}
	}
	return s, nil
}

func (s *session) close() error { return s.s.Destroy() }

// learnDim runs one token to see how long its state is.
func (s *session) learnDim() error {
	var b buffers
	b.reset(1, 1)
	b.mask[0] = 1
	in, err := s.bind(&b)
	if err != nil {
		return err
	}
	defer destroy(in)
	out := []ort.Value{nil}
	if err := s.s.Run(in, out); err != nil {
		return err
	}
	defer destroy(out)
	shape := out[0].GetShape()
	if len(shape) != 3 || shape[2] < 1 {
		return fmt.Errorf("output %s has the shape %v", s.output, shape)
	}
	s.dim = int(shape[2])
	return nil
}

// buffers are the memory of one batch, kept for the next one.
type buffers struct {
	rows, cols       int
	ids, mask, types []int64   // [rows × cols]
	states           []float32 // [rows × cols × d]
}

// reset makes room for a batch and clears ids and mask.
func (b *buffers) reset(rows, cols int) {
	n := rows * cols
	b.rows, b.cols = rows, cols
	for _, p := range []*[]int64{&b.ids, &b.mask, &b.types} {
		*p = slices.Grow((*p)[:0], n)[:n]
		clear(*p)
	}
}

// bind wraps b's inputs; the values must be destroyed after the run.
func (s *session) bind(b *buffers) ([]ort.Value, error) {
	shape := ort.NewShape(int64(b.rows), int64(b.cols))
	var in []ort.Value
	for _, name := range s.inputs {
		data := b.ids
		switch name {
		case inputMask:
			data = b.mask
		case inputType:
			data = b.types
		}
		t, err := ort.NewTensor(shape, data)
		if err != nil {
			destroy(in)
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		in = append(in, t)
	}
	return in, nil
}

// run runs the batch in b and leaves the states in b.states.
func (s *session) run(b *buffers) error {
	in, err := s.bind(b)
	if err != nil {
		return err
	}
	defer destroy(in)
	n := b.rows * b.cols * s.dim
	b.states = slices.Grow(b.states[:0], n)[:n]
	out, err := ort.NewTensor(ort.NewShape(int64(b.rows), int64(b.cols), int64(s.dim)), b.states)
	if err != nil {
		return fmt.Errorf("output %s: %w", s.output, err)
	}
	// The runtime writes into b.states through a pointer that Go does not
	// see; out keeps the slice alive until here.
	defer out.Destroy()
	return s.s.Run(in, []ort.Value{out})
}

func destroy(values []ort.Value) {
	for _, v := range values {
		v.Destroy()
	}
}
