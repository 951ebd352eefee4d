//go:build cgo

package onnx

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// ErrModel is wrapped if a model file cannot be run as a text encoder.
var ErrModel = errors.New("unusable model")

// Names of the inputs of encoders like BERT.
const (
	inputIDs  = "input_ids"
	inputMask = "attention_mask"
	inputType = "token_type_ids"

	outputLogits = "logits" // of a masked-language-model head at the first token
)

// session is a loaded model. Run is safe for concurrent use.
type session struct {
	s      *ort.DynamicAdvancedSession // nil until first
	began  sync.Once
	failed error    // why s is nil
	inputs []string // names, in the order in which they are passed
	output string   // name of the token states
	dim    int      // d

	// A masked-language-model head runs together with the states, in a separate session
	// that is opened at the first request: most models have no head, and most queries do
	// not need it.
	path   string
	logits string // name of the output [batch, |V|]; "" without a head
	vocab  int    // |V| of the head
	once   sync.Once
	head   *ort.DynamicAdvancedSession
	err    error // why head is nil
}

// findStates reads what the model at path computes. The names of its outputs differ from
// one exporter to the next, so the states are found by shape: the first
// output of rank 3, [batch, tokens, d].
func findStates(path string) (*session, error) {
	s, outs, err := readInputs(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(outs, func(o value) bool { return o.element == elementFloat && len(o.dims) == 3 && o.dims[2] > 0 })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s has no output [batch, tokens, dimension] of type float32 and fixed dimension; export it without pooling", ErrModel, path)
	}
	s.output, s.dim = outs[i].name, int(outs[i].dims[2])
	if i := slices.IndexFunc(outs, func(o value) bool {
		return o.name == outputLogits && o.element == elementFloat && len(o.dims) == 2 && o.dims[1] > 0
	}); i >= 0 {
		s.logits, s.vocab = outs[i].name, int(outs[i].dims[1])
	}
	return s, nil
}

// first loads the model, unless that was done.
func (s *session) first() error {
	s.began.Do(func() { s.s, s.failed = s.start(s.output) })
	return s.failed
}

// readInputs finds the inputs of the model at path, and returns its possible outputs.
func readInputs(path string) (*session, []value, error) {
	ins, outs, err := readSignature(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w; fetch the model again", ErrModel, path, err)
	}
	s := &session{path: path}
	for _, in := range ins {
		if slices.Contains([]string{inputIDs, inputMask, inputType}, in.name) && in.element == elementInt64 {
			s.inputs = append(s.inputs, in.name)
		}
	}
	if !slices.Contains(s.inputs, inputIDs) || !slices.Contains(s.inputs, inputMask) {
		return nil, nil, fmt.Errorf("%w: %s lacks the input %s or %s of type int64; use a model of the BERT family", ErrModel, path, inputIDs, inputMask)
	}
	return s, outs, nil
}

// start opens the model for some of its outputs.
func (s *session) start(outputs ...string) (*ort.DynamicAdvancedSession, error) {
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	defer o.Destroy()
	if err := errors.Join(o.SetIntraOpNumThreads(1), o.SetInterOpNumThreads(1),
		o.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll)); err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	d, err := ort.NewDynamicAdvancedSession(s.path, s.inputs, outputs, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; fetch the model again", ErrModel, s.path, err)
	}
	return d, nil
}

// withHead returns the session that also computes logits.
func (s *session) withHead() (*ort.DynamicAdvancedSession, error) {
	s.once.Do(func() { s.head, s.err = s.start(s.output, s.logits) })
	return s.head, s.err
}

func (s *session) close() error {
	var err error
	if s.s != nil {
		err = s.s.Destroy()
	}
	if s.head != nil {
		err = errors.Join(err, s.head.Destroy())
	}
	return err
}

// buffers are the memory of one batch, kept for the next one.
type buffers struct {
	rows, cols       int
	ids, mask, types []int64   // [rows × cols]
	states           []float32 // [rows × cols × d]
	logits           []float32 // [rows × |V|], if they were asked for
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

// run runs the batch in b and leaves the states in b.states, and with head the
// logits in b.logits.
func (s *session) run(b *buffers, head bool) error {
	if !head {
		if err := s.first(); err != nil {
			return err
		}
	}
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
	if !head {
		return s.s.Run(in, []ort.Value{out})
	}
	d, err := s.withHead()
	if err != nil {
		return err
	}
	n = b.rows * s.vocab
	b.logits = slices.Grow(b.logits[:0], n)[:n]
	logits, err := ort.NewTensor(ort.NewShape(int64(b.rows), int64(s.vocab)), b.logits)
	if err != nil {
		return fmt.Errorf("output %s: %w", s.logits, err)
	}
	defer logits.Destroy()
	return d.Run(in, []ort.Value{out, logits})
}

func destroy(values []ort.Value) {
	for _, v := range values {
		v.Destroy()
	}
}
