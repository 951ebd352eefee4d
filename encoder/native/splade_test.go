package native

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// spladeFolder is m as SparseEncoder of sentence-transformers writes it.
func spladeFolder(t *testing.T, m *encoders.Tiny, activation string) string {
	t.Helper()
	dir := t.TempDir()
	m.WriteSplade(t, dir, activation)
	return dir
}

// The logits of a SparseEncoder are the largest scores over all tokens of a text, so that log(1+ReLU) of them are its
// weights; with the second logarithm, log(1+ReLU) of these scores.
func TestSparseEncoderFolder(t *testing.T) {
	m := encoders.NewTiny(3, encoders.Tiny{Hidden: 40, Heads: 5, Layers: 2, Positions: 150, Vocab: encoders.Letters(), Prefix: "bert."})
	for _, activation := range []string{"relu", "log1p_relu"} {
		e := open(t, spladeFolder(t, m, activation), Options{})
		texts := []string{"", "red", "zebras, ships & 7 more"}
		for i, o := range encode(t, e, encoder.Passage, texts, encoder.NeedLogits|encoder.NeedDense) {
			states, want := m.Forward(o.Tokens.IDs), []float64(nil)
			for at := 0; at < len(states); at += m.Hidden {
				for k, x := range m.Logits(states[at : at+m.Hidden]) {
					if at == 0 {
						want = append(want, x)
					}
					want[k] = max(want[k], x)
				}
			}
			for k, x := range want {
				if activation != "relu" {
					x = math.Log1p(max(x, 0))
				}
				if d := math.Abs(x - float64(o.Logits[k])); !(d < 1e-3) {
					t.Fatalf("%s %q: word %d has %v, want %v", activation, texts[i], k, o.Logits[k], x)
				}
			}
		}
	}
	if _, err := Open(t.Context(), spladeFolder(t, large(1), "relu"), Options{}); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), "cls.predictions") {
		t.Errorf("without a head: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	if _, err := (modelspec.Splade{}).Pool(ctx, 9, func(int) []float32 { calls++; cancel(); return []float32{1} }); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%v after %d tokens of a call that ends at the first", err, calls)
	}
}
