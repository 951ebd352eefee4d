package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// wordLogits is an encoder in the manner of SPLADE: its logits are high for the
// words of a text, and for a word that goes with one of them.
type wordLogits struct{ *encoder.Hash }

func (e wordLogits) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	out, err := e.Hash.Encode(ctx, role, in, need&^encoder.NeedLogits|encoder.NeedDense)
	for i := range out {
		if need&encoder.NeedLogits != 0 {
			out[i].Logits = make([]float32, e.VocabSize())
			for _, id := range out[i].Tokens.Lexical(nil) {
				out[i].Logits[id] = 3
			}
		}
	}
	return out, err
}

func TestSparse(t *testing.T) {
	dir := townCorpus(t, 60)
	o := Options{Data: dir, Systems: []string{"bm25", "sparse:slr", "sparse:slr-idf", "sparse:clr", "sparse:llr", "sparse:mlm"}, Tasks: []string{"keyword", "part:8"}, QueriesPerPassage: 4}
	rep, err := Run(context.Background(), wordLogits{encoder.NewHash(64)}, o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range rep.Results {
		got[r.System+" "+r.Task] = r.Metrics["ndcg@10"]
	}
	// Common words (the, of, is) weigh as much as others in slr, less in slr-idf.
	if !(got["sparse:slr keyword"] > 0.8 && got["sparse:slr-idf keyword"] >= got["sparse:slr keyword"]-0.02 && got["sparse:mlm part:8"] > 0.8 && got["sparse:clr keyword"] > 0.1) {
		t.Fatalf("ndcg@10 %v", got)
	}
	if got["sparse:mlm keyword"] < got["sparse:slr keyword"]-1e-9 {
		t.Fatalf("logits of the words alone rank worse than the words: %v", got)
	}
	for name, want := range map[string]error{"sparse": ErrUnknownName, "sparse:": ErrUnknownName, "sparse:nothing": ErrUnknownName, "sparse:rlr": ErrUnknownName} {
		if _, err := ParseSystem(name); !errors.Is(err, want) {
			t.Errorf("%q: error %v", name, err)
		}
	}
	// An encoder without a head says so.
	o.Systems = []string{"sparse:mlm"}
	if _, err := Run(context.Background(), encoder.NewHash(64), o); !errors.Is(err, encoder.ErrNoLogits) {
		t.Errorf("no head: %v", err)
	}
}
