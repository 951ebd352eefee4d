package encoder_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// words is an encoder whose logits say how often each of three words stands in a text, less .5.
type words struct {
	encoder.Encoder
	closed *int
	fail   error
}

func (w words) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if need != encoder.NeedLogits || w.fail != nil {
		return nil, errors.Join(w.fail, encoder.ErrNoHidden)
	}
	out := make([]encoder.Output, len(in))
	for i, t := range in {
		for _, word := range []string{"red", "green", "blue"} {
			out[i].Logits = append(out[i].Logits, float32(strings.Count(t.Text, word))-.5)
		}
	}
	return out, ctx.Err()
}

func (w words) Fingerprint() encoder.Fingerprint {
	return encoder.Fingerprint{Model: "words", Dim: 3, VocabSize: 3}
}

func (w words) Close() error { *w.closed++; return errors.Join(w.Encoder.Close(), w.fail) }

// TestWithSparse: vectors and tokens are those of the first model, impacts log(1+ReLU) of the logits of the second one,
// with and without a cache; the fingerprint has both, and Close closes both.
func TestWithSparse(t *testing.T) {
	dense, closed := encoder.NewHash(32), 0
	both, err := encoder.WithSparse(dense, words{Encoder: encoder.NewHash(8), closed: &closed})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := encoder.NewCache(both, t.TempDir(), encoder.CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 70) // of more than one call of the second model
	for i := range texts {
		texts[i] = strings.Repeat("blue red ", i%5) + "sky"
	}
	plain, err := dense.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	for _, enc := range []encoder.Encoder{both, cache} {
		for _, need := range []encoder.Need{encoder.NeedDense, encoder.NeedImpacts, encoder.NeedDense | encoder.NeedImpacts} {
			out, err := enc.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), need)
			if err != nil || len(out) != len(texts) {
				t.Fatalf("%d outputs, %v", len(out), err)
			}
			for i, o := range out {
				var want []encoder.Impact
				if n := i % 5; n > 0 && need&encoder.NeedImpacts != 0 {
					w := float32(math.Log1p(float64(n) - .5))
					want = []encoder.Impact{{Term: 0, Weight: w}, {Term: 2, Weight: w}}
				}
				if !reflect.DeepEqual(o.Impacts, want) || !reflect.DeepEqual(o.Tokens.IDs, plain[i].Tokens.IDs) ||
					need&encoder.NeedDense != 0 && !reflect.DeepEqual(o.Dense, plain[i].Dense) || need == encoder.NeedImpacts && o.Dense != nil {
					t.Fatalf("need %b, text %d: %+v, want %v", need, i, o, want)
				}
			}
		}
	}
	f := both.Fingerprint()
	if a, b := encoder.SplitSparse(f.Model); a != dense.Fingerprint().Model || b != "words" || f.Sparse == nil || f.Sparse.Dim != 3 || f.Dim != 32 {
		t.Errorf("fingerprint %+v", f)
	}
	other := f
	other.Sparse = &encoder.Fingerprint{Model: "words", Dim: 3, VocabSize: 4}
	if err := encoder.Check("x", f, other); err == nil || !strings.Contains(err.Error(), "model of words: vocabulary size") {
		t.Errorf("another model of words: %v", err)
	}
	if other.Sparse = nil; encoder.Check("x", f, other) == nil || encoder.Check("x", f, f) != nil {
		t.Error("no model of words is as good as one, or the same one is not")
	}
	if _, err := encoder.WithSparse(both, dense); !errors.Is(err, encoder.ErrContract) {
		t.Errorf("a third model: %v", err)
	}
	down := errors.New("down")
	failing, err := encoder.WithSparse(dense, words{Encoder: encoder.NewHash(8), closed: &closed, fail: down})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := failing.Encode(t.Context(), encoder.Query, encoder.Texts("a"), encoder.NeedDense|encoder.NeedImpacts); !errors.Is(err, down) || !strings.Contains(err.Error(), "words") {
		t.Errorf("a model that fails: %v", err)
	}
	if err := failing.Close(); !errors.Is(err, down) || closed != 1 {
		t.Errorf("closed %d, %v", closed, err)
	}
}
