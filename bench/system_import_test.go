package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/modulate"
)

// bridgeFile writes W [d × |V|] of fill and returns its path.
func bridgeFile(t *testing.T, d, vocab int, fill func(i, token int) float32) string {
	t.Helper()
	w := make([]float32, d*vocab)
	for i := range d {
		for tok := range vocab {
			w[i*vocab+tok] = fill(i, tok)
		}
	}
	f := safetensorstest.New(nil)
	f.Add("linear.weight", w, d, vocab)
	file := filepath.Join(t.TempDir(), "bridge.safetensors")
	if err := os.WriteFile(file, f.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// A bridge of nothing answers as dense, one that turns queries answers otherwise,
// and beside rlr it stands where a fitted one would.
func TestImportedBridges(t *testing.T) {
	enc := encoder.NewHash(16)
	none := bridgeFile(t, 16, enc.VocabSize(), func(int, int) float32 { return 0 })
	turns := bridgeFile(t, 16, enc.VocabSize(), func(i, tok int) float32 { return float32((i*7+tok*13)%5) - 2 })
	data := townCorpus(t, 60)
	ndcg := func(file, stack string) map[string]float64 {
		rep, err := Run(context.Background(), enc, Options{Data: data, Systems: []string{"dense", "rlr", "import:" + stack + ":" + file}, Tasks: []string{"keyword"}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, r := range rep.Results {
			got[r.System] = r.Metrics["ndcg@10"]
		}
		if _, ok := got["import:"+stack]; !ok || file == turns && rep.Fit["import:"+stack].Bytes == 0 || rep.Fit["import:"+stack].Queries != 0 {
			t.Fatalf("results %v, fit %+v", got, rep.Fit["import:"+stack])
		}
		return got
	}
	if got := ndcg(none, "slr"); got["import:slr"] != got["dense"] {
		t.Errorf("W = 0: %v", got)
	}
	if got := ndcg(turns, "slr"); got["import:slr"] == got["dense"] {
		t.Errorf("W changes nothing: %v", got)
	}
	if got := ndcg(none, "rlr+slr"); got["import:rlr+slr"] == got["dense"] {
		t.Errorf("beside rlr: %v", got)
	}
}

func TestImportedBridgesThatCannotBe(t *testing.T) {
	enc := encoder.NewHash(16)
	data := townCorpus(t, 20)
	for _, c := range []struct {
		system string
		err    error
	}{
		{"import:slr:" + filepath.Join(t.TempDir(), "none"), ErrOption},
		{"import:rlr:" + bridgeFile(t, 16, enc.VocabSize(), func(int, int) float32 { return 0 }), ErrOption},
		{"import:slr:" + bridgeFile(t, 8, 10, func(int, int) float32 { return 0 }), modulate.ErrCorrupt},
		{"import:slr", ErrUnknownName},
		{"import:slr:", ErrUnknownName},
		{"import:slrr:x", ErrUnknownName},
	} {
		if _, err := Run(context.Background(), enc, Options{Data: data, Systems: []string{c.system}, Tasks: []string{"keyword"}}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.system, err, c.err)
		}
	}
}
