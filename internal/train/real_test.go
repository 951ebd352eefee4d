package train_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/modulate"
)

// On real text and a real model the bridge gains on queries that it has not
// seen: 60 passages of Natural Questions, 300 training queries. The full
// measurements are those of docs/results/fits.md; this is their direction.
func TestFitGainsOnRealText(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with -short: that a fit gains on real text and a real model (some 500 texts to encode); run without -short")
	}
	dir := os.Getenv("LEXSEM_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	texts := readTexts(t, filepath.Join(dir, "sure-nq", "corpus.jsonl"), 60)

	offline := os.Getenv("LEXSEM_OFFLINE") != ""
	found, err := provision.Ensure(t.Context(), provision.Request{Offline: offline})
	if offline && errors.Is(err, encoder.ErrUnavailable) {
		t.Skipf("NOT TESTED: that a fit gains on a real model; unset LEXSEM_OFFLINE: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	enc, err := onnx.Open(t.Context(), found.ModelDir, onnx.Options{Library: found.Library})
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	out, err := enc.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	w, r, err := train.Fit(t.Context(), memory{texts, out}, enc, train.Options{QueriesPerPassage: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d queries encoded in %v, fitted in %v, losses %.3f", r.Queries, r.Encode, r.Descent, r.Losses)
	if last := r.Losses[len(r.Losses)-1]; !(last < r.Losses[0]/2) {
		t.Errorf("losses %v: want the last below half of the first, since RLR alone gains here as well", r.Losses)
	}
	least := map[string]float64{"keyword": 0.10, "part:16": 0.05}
	for _, p := range r.Probes {
		t.Logf("%s: nDCG@1 %.3f → %.3f on %d queries", p.Task, p.Dense, p.Modified, p.Queries)
		if !(p.Modified >= p.Dense+least[p.Task]) {
			t.Errorf("%s: want a gain of %.2f", p.Task, least[p.Task])
		}
	}

	path := filepath.Join(t.TempDir(), "bridge")
	if err := w.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := modulate.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.CheckEncoder("bridge", enc.Fingerprint()); err != nil {
		t.Errorf("the encoder it was fitted with is refused: %v", err)
	}
}

type memory struct {
	texts []string
	out   []encoder.Output
}

func (m memory) Len() int                   { return len(m.texts) }
func (m memory) Text(i int) (string, error) { return m.texts[i], nil }
func (m memory) Vector(i int) []float32     { return m.out[i].Dense }

// readTexts reads the first n distinct texts of a corpus.
func readTexts(t *testing.T, path string, n int) []string {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		t.Skipf("NOT TESTED: that a fit gains on real text; set LEXSEM_DATA to the folder that holds sure-nq: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]bool{}
	var texts []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for len(texts) < n && lines.Scan() {
		var p struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if !seen[p.Text] {
			seen[p.Text] = true
			texts = append(texts, p.Text)
		}
	}
	if err := lines.Err(); err != nil || len(texts) < n {
		t.Fatalf("%d texts in %s: %v", len(texts), path, err)
	}
	return texts
}
