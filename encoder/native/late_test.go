package native

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// lateFolder is m as PyLate writes it, with the Dense module of sentenceFolder before the comparison and the keys
// config in its configuration. Words of the vocabulary stand for the marks.
func lateFolder(t *testing.T, m *encoders.Tiny, config string) (dir string, weight, bias []float32) {
	t.Helper()
	dir, weight, bias = sentenceFolder(t, m, "mean_tokens", "activation.Tanh")
	trial.Files(t, dir, map[string]string{
		"modules.json":                      `[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"2_Dense","type":"pylate.models.Dense.Dense"}]`,
		"config_sentence_transformers.json": `{"query_prefix":"##q","document_prefix":"##d",` + config + `"prompts":{"query":"","document":""}}`,
	})
	return dir, weight, bias
}

// A folder of PyLate: token states are those of its Dense module with length 1, the vector is their mean, and the marks,
// limits, fillers and skipped words of a text are those of its configuration.
func TestLateFolder(t *testing.T) {
	m := large(8)
	dir, weight, bias := lateFolder(t, m, `"query_length":9,"document_length":30,"skiplist_words":[",","!","no word"],"attend_to_expansion_tokens":true,`)
	if err := os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{"mask_token":{"content":"[MASK]"},"eos_token":"[SEP]"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	e := open(t, dir, Options{})
	if f := e.Fingerprint(); f.Dim != denseDim || f.Pooling != "mean" || f.MaxTokens != 30 || f.QueryPrefix != "##q" || f.PassagePrefix != "##d" {
		t.Errorf("%+v", f)
	}
	read := func(r encoder.Role, text string) string {
		k, words := e.Tokenize(r, text), []string{}
		for i, id := range k.IDs {
			word := e.Token(id)
			if !k.Special[i] {
				word += "'"
			}
			words = append(words, word)
		}
		return strings.Join(words, " ")
	}
	for _, c := range []struct {
		role       encoder.Role
		text, want string
	}{
		{encoder.Query, "a, b", "[CLS] ##q a' , b' [SEP] [MASK] [MASK] [MASK]"},
		{encoder.Query, "a b c d e f g h", "[CLS] ##q a' b' c' d' e' f' [SEP]"},
		{encoder.Query, "", "[CLS] ##q [SEP] [MASK] [MASK] [MASK] [MASK] [MASK] [MASK]"},
		{encoder.Passage, "a! .", "[CLS] ##d a' ! .' [SEP]"},
		{encoder.Passage, strings.Repeat("a ", 40), "[CLS] ##d" + strings.Repeat(" a'", 27) + " [SEP]"},
	} {
		if got := read(c.role, c.text); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.role, c.text, got, c.want)
		}
	}
	for _, o := range encode(t, e, encoder.Query, []string{"red, sea", ""}, encoder.NeedDense|encoder.NeedHidden) {
		states, mean := m.Forward(o.Tokens.IDs), make([]float32, denseDim)
		for at := range o.Tokens.IDs {
			row, length := make([]float64, denseDim), 0.0
			for k := range row {
				s := float64(bias[k])
				for j := range m.Hidden {
					s += states[at*m.Hidden+j] * float64(weight[k*m.Hidden+j])
				}
				row[k] = math.Tanh(s)
				length += row[k] * row[k]
			}
			for k := range row {
				row[k] /= math.Sqrt(length)
				mean[k] += float32(row[k])
				if d := math.Abs(row[k] - float64(o.Hidden[at*denseDim+k])); d > 1e-4 {
					t.Fatalf("state %d differs from its definition by %v", at, d)
				}
			}
		}
		if c := encoders.Cosine(o.Dense, mean); !(c > 0.999999) {
			t.Errorf("the vector has cosine %v to the mean of the states", c)
		}
	}
	plain, _, _ := lateFolder(t, m, "")
	if k := open(t, plain, Options{}); len(k.Tokenize(encoder.Query, strings.Repeat("a ", 99)).IDs) != 32 || k.Fingerprint().MaxTokens != 150 || !k.Tokenize(encoder.Passage, "~").Special[2] {
		t.Errorf("without lengths and skipped words: %+v", k.Fingerprint())
	}
}

// A folder of PyLate passes the suite.
func TestConformanceOfALateFolder(t *testing.T) {
	dir, _, _ := lateFolder(t, large(9), "")
	encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, dir, Options{}) })
}

// A folder of PyLate that cannot be followed is refused with the reason.
func TestLateFolderRefused(t *testing.T) {
	for config, text := range map[string]string{
		`"query_length":2,`:                       `query_tokens 2`,
		`"query_length":90,"document_length":40,`: `max_tokens 40`,
		`"attend_to_expansion_tokens":true,`:      "neither mask_token nor eos_token",
		`"skiplist_words":7,`:                     "config_sentence_transformers.json",
		`"query_prefix":"no[Q]",`:                 `"no[Q]", which its vocabulary lacks`,
	} {
		dir, _, _ := lateFolder(t, large(8), config)
		if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, modelspec.ErrSpec) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v; want ErrSpec that says %q", config, err, text)
		}
	}
	dir, _, _ := lateFolder(t, large(8), `"attend_to_expansion_tokens":true,"do_query_expansion":false,`)
	if k := open(t, dir, Options{}).Tokenize(encoder.Query, "a"); !slices.Equal(k.Special, []bool{true, true, false, true}) {
		t.Errorf("a query that is not filled: %+v", k)
	}
}
