package encoder_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
)

// hashed is a source of vectors as a user has one: not of unit length.
func hashed(dim int) func(ctx context.Context, texts []string) ([][]float32, error) {
	h := encoder.NewHash(dim)
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		out, err := h.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
		if err != nil {
			return nil, err
		}
		vectors := make([][]float32, len(out))
		for i := range out {
			for j := range out[i].Dense {
				out[i].Dense[j] *= 3
			}
			vectors[i] = out[i].Dense
		}
		return vectors, nil
	}
}

func TestFunc(t *testing.T) {
	encodertest.Run(t, func(*testing.T) encoder.Encoder { return encoder.Func("mine", 64, hashed(64)) })
}

// A cache of vectors serves a source without tokens, too.
func TestCachedFunc(t *testing.T) {
	encodertest.Run(t, func(t *testing.T) encoder.Encoder {
		c, err := encoder.NewCache(encoder.Func("mine", 64, hashed(64)), t.TempDir(), encoder.CacheOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}

func TestFuncGivesWrongVectors(t *testing.T) {
	good := hashed(8)
	for name, c := range map[string]struct {
		spoil func([][]float32) [][]float32
		text  int // that is named, −1 for none
		says  string
	}{
		"too few":        {func(v [][]float32) [][]float32 { return v[:2] }, -1, "2 vectors for 3 texts"},
		"too many":       {func(v [][]float32) [][]float32 { return append(v, v[0]) }, -1, "4 vectors for 3 texts"},
		"wrong length":   {func(v [][]float32) [][]float32 { v[1] = v[1][:7]; return v }, 1, "text 1: the encoder breaks its contract: a vector of length 7 instead of 8"},
		"missing":        {func(v [][]float32) [][]float32 { v[2] = nil; return v }, 2, "text 2"},
		"NaN":            {func(v [][]float32) [][]float32 { v[2][3] = float32(math.NaN()); return v }, 2, "NaN"},
		"infinite":       {func(v [][]float32) [][]float32 { v[0][0] = float32(math.Inf(-1)); return v }, 0, "infinity"},
		"zero":           {func(v [][]float32) [][]float32 { clear(v[1]); return v }, 1, "zeros"},
		"nothing at all": {func([][]float32) [][]float32 { return nil }, -1, "0 vectors for 3 texts"},
	} {
		e := encoder.Func("mine", 8, func(ctx context.Context, texts []string) ([][]float32, error) {
			v, err := good(ctx, texts)
			return c.spoil(v), err
		})
		_, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts("a", "b", "c"), encoder.NeedDense)
		var one *encoder.TextError
		if !errors.Is(err, encoder.ErrContract) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "encoder mine") {
			t.Errorf("%s: %v", name, err)
		}
		if errors.As(err, &one) != (c.text >= 0) || one != nil && one.Text != c.text {
			t.Errorf("%s: %v names text %+v", name, err, one)
		}
	}
}

// The vectors of a source that leaves lengths as they are must not be taken for those of
// one that does not.
func TestFuncUnscaledIsAnother(t *testing.T) {
	a, b := encoder.Func("mine", 8, hashed(8)).Fingerprint(), encoder.FuncUnscaled("mine", 8, hashed(8)).Fingerprint()
	if a.Digest() == b.Digest() || !errors.Is(encoder.Check("a database", a, b), encoder.ErrMismatch) {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestFuncArguments(t *testing.T) {
	for name, e := range map[string]encoder.Encoder{
		"no name":      encoder.Func("", 8, hashed(8)),
		"no dimension": encoder.Func("mine", 0, hashed(8)),
		"no function":  encoder.Func("mine", 8, nil),
	} {
		if _, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts("a"), encoder.NeedDense); !errors.Is(err, encoder.ErrContract) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The error of the function comes through, and its vectors are not changed.
func TestFuncLeavesVectorsAlone(t *testing.T) {
	down := errors.New("it is down")
	e := encoder.Func("mine", 2, func(context.Context, []string) ([][]float32, error) { return nil, down })
	if _, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts("a"), encoder.NeedDense); !errors.Is(err, down) || !strings.Contains(err.Error(), "mine") {
		t.Error(err)
	}
	own := []float32{3, 4}
	e = encoder.Func("mine", 2, func(context.Context, []string) ([][]float32, error) { return [][]float32{own}, nil })
	out, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts("a"), encoder.NeedDense)
	if unscaled, err := encoder.FuncUnscaled("mine", 2, func(context.Context, []string) ([][]float32, error) { return [][]float32{own}, nil }).
		Encode(t.Context(), encoder.Passage, encoder.Texts("a"), encoder.NeedDense); err != nil || unscaled[0].Dense[0] != 3 || unscaled[0].Dense[1] != 4 || &unscaled[0].Dense[0] == &own[0] {
		t.Errorf("unscaled: %v of %v, %v", unscaled, own, err)
	}
	if err != nil || own[0] != 3 || math.Abs(float64(out[0].Dense[0])-.6) > 1e-6 {
		t.Errorf("%v of %v, %v", out, own, err)
	}
}
