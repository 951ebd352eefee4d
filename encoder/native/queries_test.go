package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// routerFolder is m behind a Router of sentence-transformers, with the files of the table of queries.
func routerFolder(t *testing.T, m *encoders.Tiny, table map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	m.WriteSplade(t, filepath.Join(dir, "passages"), "relu")
	files := map[string][]byte{
		"modules.json": []byte(`[{"path":"","type":"sentence_transformers.models.Router"}]`),
		"router_config.json": []byte(`{"types":{"table":"sentence_transformers.sparse_encoder.models.SparseStaticEmbedding.SparseStaticEmbedding",
			"passages":"sentence_transformers.base.modules.transformer.Transformer","passages/1_Pooling":"sentence_transformers.sparse_encoder.models.SpladePooling"},
			"structure":{"query":["table"],"document":["passages","passages/1_Pooling"]},"parameters":{"default_route":"document"}}`),
		"passages/sentence_bert_config.json": []byte(`{"transformer_task":"fill-mask","max_seq_length":32}`),
	}
	for name, b := range table {
		files["table/"+name] = b
	}
	for name, b := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func weightsFile(ws []float32) []byte {
	f := safetensorstest.New(nil)
	f.Add("weight", ws, len(ws))
	return f.Bytes()
}

// TestQueriesByTable: a word of a query has the weight of the table, times the factor by which the probe texts have with
// themselves as queries what they have as query and as passage. No weight depends on how often a word occurs.
func TestQueriesByTable(t *testing.T) {
	m := encoders.NewTiny(3, encoders.Tiny{Positions: 150, Vocab: encoders.Letters(), Prefix: "bert."})
	table, idf := make([]float32, len(m.Vocab)), map[string]float32{}
	for i, word := range m.Vocab {
		table[i] = 3 + float32(i%7)
		idf[word] = table[i]
	}
	names, err := json.Marshal(idf)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]map[string][]byte{"tensor": {fileSafetensors: weightsFile(table)}, "idf": {fileIDF: names}} {
		e := open(t, routerFolder(t, m, file), Options{})
		both, self := 0.0, 0.0
		queries := encode(t, e, encoder.Query, encoder.ProbeTexts[:], encoder.NeedLogits)
		for i, p := range encode(t, e, encoder.Passage, encoder.ProbeTexts[:], encoder.NeedLogits|encoder.NeedDense) {
			for word, x := range queries[i].Logits {
				w := math.Log1p(float64(x))
				both, self = both+w*math.Log1p(max(0, float64(p.Logits[word]))), self+w*w
			}
		}
		if !(self > 0) || math.Abs(both/self-1) > 1e-4 {
			t.Errorf("%s: a text has %v with itself as query, and %v as query and passage", name, self, both)
		}
		once, twice := encode(t, e, encoder.Query, []string{"ab zz"}, encoder.NeedLogits)[0], encode(t, e, encoder.Query, []string{"ab ab zz"}, encoder.NeedLogits|encoder.NeedDense)[0]
		words := 0
		for id, x := range once.Logits {
			if x != twice.Logits[id] {
				t.Fatalf("%s: word %d has %v once and %v twice", name, id, x, twice.Logits[id])
			}
			if x > 0 {
				words++
			}
		}
		at := once.Tokens.IDs[1:3]
		ratio := math.Log1p(float64(once.Logits[at[0]])) / math.Log1p(float64(once.Logits[at[1]]))
		if want := float64(table[at[0]] / table[at[1]]); words != 4 || math.Abs(ratio-want) > 1e-4 || len(twice.Dense) == 0 {
			t.Errorf("%s: %d words; the first two have the ratio %v, want %v", name, words, ratio, want)
		}
	}
}

// TestQueriesByTableRefused: a table that does not fit is refused, and so is a Router of other modules.
func TestQueriesByTableRefused(t *testing.T) {
	m := encoders.NewTiny(3, encoders.Tiny{Positions: 64, Prefix: "bert."})
	ws := make([]float32, len(m.Vocab))
	other := t.TempDir()
	encoders.NewTiny(3, encoders.Tiny{Vocab: encoders.Letters()}).Write(t, other)
	tokenizer, err := os.ReadFile(filepath.Join(other, fileTokenizer))
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]float32{float32(math.Inf(1))}, ws[1:]...)
	for _, c := range []struct {
		table map[string][]byte
		want  error
		says  string
	}{
		{nil, ErrModel, "neither model.safetensors nor idf.json"},
		{map[string][]byte{fileSafetensors: weightsFile(ws[1:])}, ErrModel, fmt.Sprintf("%d weights for %d tokens", len(ws)-1, len(ws))},
		{map[string][]byte{fileSafetensors: weightsFile(bad)}, ErrModel, `"[PAD]" has the weight +Inf`},
		{map[string][]byte{fileSafetensors: weightsFile(ws), fileTokenizer: tokenizer}, ErrModel, "another tokenizer"},
		{map[string][]byte{fileIDF: []byte(`[1]`)}, ErrModel, fileIDF},
	} {
		if _, err := Open(t.Context(), routerFolder(t, m, c.table), Options{}); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v; want %v that says %q", err, c.want, c.says)
		}
	}
	dir := routerFolder(t, m, nil)
	path := filepath.Join(dir, "router_config.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(b), "SparseStaticEmbedding", "Transformer", 2)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, modelspec.ErrSpec) || !strings.Contains(err.Error(), "a Router of map[document:[passages passages/1_Pooling] query:[table]]") {
		t.Errorf("a Router of two transformers: %v", err)
	}
}
