package modulate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func sampleWeights(t *testing.T, stack string, bias bool) *Weights {
	r := rand.New(rand.NewPCG(1, 7))
	p := filled(t, r, 6, 30, 1)
	if !bias {
		if err := p.SetBias(nil); err != nil {
			t.Fatal(err)
		}
	}
	w := &Weights{
		Stack: stack, Projection: p, Seed: 3, Data: "ab12", Seq: 9, Passages: 100, Queries: 900, Loss: 0.25,
		Encoder: encoder.Fingerprint{Model: "m", Precision: "fp32", Tokenizer: "t", Pooling: "mean", Dim: 6, VocabSize: 30},
		Probes:  []ProbeScore{{"keyword", 300, 0.5, 0.75}},
	}
	if strings.Contains(stack, "rlr") {
		w.RLR = RLROptions{Alpha: 0.25, Lambda: 2}
	}
	if strings.Contains(stack, "llr") {
		w.Heads = map[string]*Head{
			"llr":      {U: unit(r, 6), B: []float32{0.5}},
			"llr-full": {Tokens: []int32{3, 9}, U: append(unit(r, 6), unit(r, 6)...), B: []float32{1, 2}, Near: []int32{0, 1, 1, 0}},
		}
	}
	for i := range w.Encoder.Probe {
		w.Encoder.Probe[i] = unit(r, 6)
	}
	return w
}

func TestWeightsRoundTrip(t *testing.T) {
	for _, stack := range []string{"slr", "rlr+slr", "llr+rlr"} {
		for _, bias := range []bool{false, true} {
			w := sampleWeights(t, stack, bias)
			path := filepath.Join(t.TempDir(), "w.bridge")
			if err := w.Save(path); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, w) {
				t.Fatalf("read %+v, wrote %+v", got, w)
			}
			if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
				t.Fatalf("temporary files remain: %v", left)
			}
		}
	}
}

// Rows are written by ascending token id, whatever order they were touched in.
func TestWeightsBytesAreCanonical(t *testing.T) {
	a, b := sampleWeights(t, "slr", true), sampleWeights(t, "slr", true)
	q, err := NewProjection(6, 30)
	if err != nil {
		t.Fatal(err)
	}
	ids := slices.Clone(a.Projection.ids)
	slices.Reverse(ids)
	if err := q.Touch(ids...); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		copy(q.rows[i*6:(i+1)*6], a.Projection.rows[a.Projection.Slot(id)*6:])
	}
	if err := q.SetBias(a.Projection.bias); err != nil {
		t.Fatal(err)
	}
	b.Projection = q
	x, err1 := a.Encode()
	y, err2 := b.Encode()
	if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
		t.Fatalf("other bytes for equal weights: %v %v", err1, err2)
	}
}

// Files of version 1 are those of version 2 without heads.
func TestWeightsOfVersion1(t *testing.T) {
	w := sampleWeights(t, "rlr+slr", true)
	b, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(b[8:], 1)
	binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
	if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, w) {
		t.Fatalf("version 1 read as %+v, %v", got, err)
	}
	binary.LittleEndian.PutUint32(b[8:], 4)
	binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
	if _, err := Decode(b); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "version 4") {
		t.Fatalf("version 4: %v", err)
	}
}

// Rounded rows take a byte a number in the file, and come back as they were.
func TestRoundedRows(t *testing.T) {
	w := sampleWeights(t, "rlr+slr", true)
	whole, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	p := w.Projection
	for at := range p.rows { // rows of all sizes, one of zeros, one next to nothing
		p.rows[at] = float32(r.NormFloat64() * math.Pow(10, float64(at/p.dim%7)*2-6))
	}
	clear(p.rows[:p.dim])
	p.rows[p.dim], p.rows[p.dim+1] = -0x1p-149, float32(math.Copysign(0, -1))
	copy(p.rows[2*p.dim:], []float32{127, -127, 64, 63.5, -0.4, 1})
	before := slices.Clone(p.rows)
	p.Round()
	for at := 0; at < len(before); at += p.dim {
		var top, off float64
		for i := at; i < at+p.dim; i++ {
			top = max(top, math.Abs(float64(before[i])))
			off = max(off, math.Abs(float64(before[i]-p.rows[i])))
		}
		if off > top/127 && top > 0x1p-120 {
			t.Errorf("row %d of %g moved by %g", at/p.dim, top, off)
		}
	}
	if !slices.Equal(p.rows[2*p.dim:3*p.dim], []float32{127, -127, 64, 64, 0, 1}) {
		t.Errorf("rounded to %v", p.rows[2*p.dim:3*p.dim])
	}
	once := slices.Clone(p.rows)
	if p.Round(); !slices.Equal(once, p.rows) {
		t.Error("rounding twice is not rounding once")
	}
	b, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if want := len(whole) - len(p.ids)*(3*p.dim-1); len(b) != want || binary.LittleEndian.Uint32(b[8:]) != 3 {
		t.Errorf("version %d of %d bytes, want 3 of %d", binary.LittleEndian.Uint32(b[8:]), len(b), want)
	}
	if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, w) {
		t.Fatalf("read %+v, %v", got, err)
	}
	for i := range b {
		if _, err := Decode(b[:i]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: error %v", i, err)
		}
	}
	b[len(b)-5] = 0x80
	binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
	if _, err := Decode(b); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "codes") {
		t.Fatalf("a code of -128: %v", err)
	}
}

// Heads that cannot be scored with are neither written nor read.
func TestHeadsOfImpossibleShape(t *testing.T) {
	for name, h := range map[string]*Head{
		"empty":       {},
		"short U":     {U: make([]float32, 5), B: []float32{1}},
		"two shared":  {U: make([]float32, 12), B: []float32{1, 1}},
		"tokens":      {Tokens: []int32{4}, U: make([]float32, 12), B: []float32{1, 1}},
		"order":       {Tokens: []int32{4, 2}, U: make([]float32, 12), B: []float32{1, 1}},
		"vocabulary":  {Tokens: []int32{4, 30}, U: make([]float32, 12), B: []float32{1, 1}},
		"near":        {Tokens: []int32{2, 4}, U: make([]float32, 12), B: []float32{1, 1}, Near: []int32{1}},
		"far":         {Tokens: []int32{2, 4}, U: make([]float32, 12), B: []float32{1, 1}, Near: []int32{1, 2}},
		"not finite":  {Tokens: []int32{2, 4}, U: make([]float32, 12), B: []float32{1, float32(math.Inf(1))}},
		"negative id": {Tokens: []int32{-2, 4}, U: make([]float32, 12), B: []float32{1, 1}},
	} {
		w := sampleWeights(t, "slr", false)
		w.Heads = map[string]*Head{"llr": h}
		if _, err := w.Encode(); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: error %v", name, err)
		}
		if h.Rows() == 0 || len(h.Near)%h.Rows() != 0 {
			continue
		}
		shape := headShape{"llr", h.Rows(), h.Tokens == nil, len(h.Near) / h.Rows()}
		n, err := headNumbers([]headShape{shape}, 6, 30)
		if b := h.append(nil); err == nil && len(b) == 4*n {
			err = (&Weights{Projection: w.Projection}).readHeads(b, []headShape{shape})
		} else if err == nil {
			continue // a file of another length than announced is refused before
		}
		if err == nil {
			t.Errorf("%s: was read", name)
		}
	}
}

func TestWeightsDamaged(t *testing.T) {
	w := sampleWeights(t, "llr+rlr", true)
	b, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		if _, err := Decode(b[:i]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: error %v", i, err)
		}
		c := slices.Clone(b)
		c[i] ^= 1
		if _, err := Decode(c); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("flipped at %d: error %v", i, err)
		}
	}
	path := filepath.Join(t.TempDir(), "w.bridge")
	if err := os.WriteFile(path, b[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
		t.Fatalf("error %v does not name the file", err)
	}
	if _, err := Load(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing file: error %v", err)
	}
	if err := w.Save(filepath.Join(path, "below a file")); err == nil {
		t.Fatal("saved below a file")
	}
	w.Projection.rows[0] /= 0 * w.Projection.rows[0]
	if _, err := w.Encode(); !errors.Is(err, ErrOptions) {
		t.Fatalf("weights that are not finite: error %v", err)
	}
}

func TestWeightsOfAnotherEncoder(t *testing.T) {
	w := sampleWeights(t, "slr", false)
	if err := w.CheckEncoder("bridge x", w.Encoder); err != nil {
		t.Fatal(err)
	}
	other := w.Encoder
	other.Model = "n"
	err := w.CheckEncoder("bridge x", other)
	var m *encoder.MismatchError
	if !errors.As(err, &m) || m.Want.Model != "m" || m.Got.Model != "n" || !strings.Contains(err.Error(), "bridge x") {
		t.Fatalf("error %v", err)
	}
}

// FuzzDecode repairs the checksum, so that the parser behind it is reached.
func FuzzDecode(f *testing.F) {
	for _, stack := range []string{"slr", "rlr+slr"} {
		p, err := NewProjection(2, 9)
		if err != nil {
			f.Fatal(err)
		}
		if err := p.Touch(3, 5); err != nil {
			f.Fatal(err)
		}
		heads := map[string]*Head{"llr": {U: []float32{1, 2}, B: []float32{1}}}
		if stack == "rlr+slr" {
			heads = nil
		}
		b, err := (&Weights{Stack: stack, Projection: p, Heads: heads}).Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		p.rows[0] = 0.3 // not rounded
		if b, err = (&Weights{Stack: stack, Projection: p, Heads: heads}).Encode(); err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(b) - 4; n >= 0 {
			binary.LittleEndian.PutUint32(b[n:], crc32.Checksum(b[:n], castagnoli))
		}
		w, err := Decode(b)
		if err != nil {
			return
		}
		again, err := w.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if v, err := Decode(again); err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("decoded weights do not survive encoding: %v", err)
		}
	})
}

func TestStackNames(t *testing.T) {
	for in, want := range map[string]string{"slr": "slr", "rlr": "rlr", "slr+rlr": "rlr+slr", "rlr + slr": "rlr+slr"} {
		s, err := ParseStack(in)
		if err != nil || s.Name() != want {
			t.Errorf("ParseStack(%q) = %q, %v; want %q", in, s.Name(), err, want)
		}
	}
	for _, in := range []string{"", "+", "slr+", "nope", "slr+nope"} {
		_, err := ParseStack(in)
		if !errors.Is(err, ErrUnknownVariant) || !strings.Contains(err.Error(), "rlr, slr") {
			t.Errorf("ParseStack(%q): error %v does not list the known variants", in, err)
		}
	}
	if _, err := ParseStack("slr+slr"); !errors.Is(err, ErrOptions) {
		t.Errorf("a variant given twice: error %v", err)
	}
}

func TestStackNeedsItsParts(t *testing.T) {
	sums := emptySums(6, 30)
	for name, p := range map[string]Parts{
		"rlr":     {},
		"slr":     {Sums: sums},
		"rlr+slr": {Sums: sums, Weights: sampleWeights(t, "slr", false)},
	} {
		if _, err := NewStack(name, p); !errors.Is(err, ErrNotFitted) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	p := Parts{Sums: emptySums(7, 30), Weights: sampleWeights(t, "rlr+slr", false)}
	if _, err := NewStack("rlr+slr", p); !errors.Is(err, ErrNotFitted) {
		t.Errorf("sums of another dimension: error %v", err)
	}
	for _, o := range []RLROptions{{Alpha: -1}, {Lambda: -1}, {Lambda: 1e-300}} {
		if _, err := NewStack("rlr", Parts{Sums: sums, RLR: o}); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	// The bridge brings the options it was fitted with.
	p.Sums = sums
	m, err := NewStack("rlr+slr", p)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.(*modulator).shift[0].(*Regression).Options(); got != p.Weights.RLR {
		t.Errorf("RLR options %+v, want those of the weights, %+v", got, p.Weights.RLR)
	}
}

// A stack of five fitted parts over a vocabulary of 250,002 tokens has more
// columns than 2²⁰. What such a file costs to read follows its size.
func TestWideVocabulary(t *testing.T) {
	const vocab = 5 * 250_002
	w := sampleWeights(t, "slr", false)
	p, err := NewProjection(w.Projection.Dim(), vocab)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Touch(7, vocab-1); err != nil {
		t.Fatal(err)
	}
	w.Projection = p
	b, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if q := got.Projection; q.VocabSize() != vocab || q.Slot(vocab-1) != 1 || q.Slot(8) != -1 || q.Slot(-1) != -1 {
		t.Errorf("%d columns, rows %v", q.VocabSize(), q.Tokens())
	}
	bytes := testing.Benchmark(func(b2 *testing.B) {
		for range b2.N {
			if _, err := Decode(b); err != nil {
				b2.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if bytes > int64(20*len(b)+1<<14) {
		t.Errorf("%d bytes of a file make %d in memory", len(b), bytes)
	}
}
