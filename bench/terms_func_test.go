package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestNothingIsSilentlyDense: without tokens, words serve as tokens, and the report says so; what cannot
// be fitted to words is refused.
func TestNothingIsSilentlyDense(t *testing.T) {
	h := encoder.NewHash(64)
	enc := encoder.Func("f", 64, func(ctx context.Context, texts []string) ([][]float32, error) {
		out, err := h.Encode(ctx, encoder.Query, encoder.Texts(texts...), encoder.NeedDense)
		vectors := make([][]float32, len(out))
		for i, o := range out {
			vectors[i] = o.Dense
		}
		return vectors, err
	})
	dir := townCorpus(t, 60)
	rep, err := Run(context.Background(), enc, Options{Data: dir, Systems: []string{"dense", "rlr", "rlr-local", "whiten"}, Tasks: []string{"keyword"}, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results[1:] {
		if r.System != "whiten" && slices.Equal(r.PerQuery["ndcg@10"], rep.Results[0].PerQuery["ndcg@10"]) {
			t.Errorf("%s answers as dense does", r.System)
		}
	}
	if !rep.Words || !strings.Contains(strings.Join(rep.Notes(), " "), "no tokens") {
		t.Errorf("the report says %q", rep.Notes())
	}
	for _, system := range []string{"slr", "llr", "clr", "rlr+slr"} {
		if _, err := Run(context.Background(), enc, Options{Data: dir, Systems: []string{system}, Tasks: []string{"keyword"}}); !errors.Is(err, ErrOption) && !errors.Is(err, encoder.ErrNoHidden) {
			t.Errorf("%s: %v", system, err)
		}
	}
	rep, err = Run(context.Background(), h, Options{Data: dir, Systems: []string{"dense"}, Tasks: []string{"keyword"}})
	if err != nil || rep.Words {
		t.Errorf("an encoder with tokens: %v, %v", rep.Words, err)
	}
}
