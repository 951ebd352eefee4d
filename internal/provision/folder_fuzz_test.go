package provision

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/transformer"
)

// FuzzModelFolder reads any bytes as one of the files that describe a model, beside
// sound ones: what is taken is a description that can be.
func FuzzModelFolder(f *testing.F) {
	sound := []struct{ name, text string }{
		{fileConfig, `{"model_type":"bert","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":32,"type_vocab_size":2,"vocab_size":30,"layer_norm_eps":1e-12,"hidden_act":"gelu"}`},
		{"1_Pooling/config.json", `{"pooling_mode_cls_token":true}`},
		{"sentence_bert_config.json", `{"max_seq_length":128}`},
		{"config_sentence_transformers.json", `{"prompts":{"query":"q: "}}`},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer","path":""},{"type":"sentence_transformers.models.Pooling","path":"1_Pooling"},{"type":"sentence_transformers.models.Dense","path":"2_Dense"}]`},
		{"tokenizer_config.json", `{"model_max_length":512}`},
	}
	for i, s := range sound {
		f.Add(uint8(i), s.text)
		for _, text := range []string{`[`, `null`, `{}`, `{"max_seq_length":-5,"max_position_embeddings":-1,"hidden_size":1e30}`,
			`{"max_seq_length":99999999999999999999}`, `{"prompts":{"query":null}}`, `{"pooling_mode_mean_tokens":true,"pooling_mode_cls_token":true}`, `{"pooling_mode":["max","mean"]}`,
			`[{"type":"sentence_transformers.models.Pooling","path":"../.."}]`, `{"model_max_length":1e30}`, `{"default_prompt_name":"none"}`} {
			f.Add(uint8(i), text)
		}
	}
	dir := f.TempDir()
	write := func(t testing.TB, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "1_Pooling"), 0o755); err != nil {
		f.Fatal(err)
	}
	for _, s := range sound {
		write(f, s.name, s.text)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		one := sound[int(which)%len(sound)]
		write(t, one.name, text)
		defer write(t, one.name, one.text)
		if spec, _, err := modelspec.Describe(dir); err == nil {
			if err := spec.Validate(); err != nil {
				t.Fatalf("%+v: %v", spec, err)
			}
		}
		if c, err := transformer.Load(filepath.Join(dir, fileConfig)); err == nil {
			if err := c.Check(); err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
		}
	})
}
