package provision

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
)

// A folder that is complete is used where it is; one that lacks the
// description gets one in the cache, and the user's folder stays as it was.
func TestAdoptModel(t *testing.T) {
	dir := t.TempDir()
	write := func(name, body string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(body), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := testSession(t, "http://127.0.0.1:1")
	write("model.onnx", "a model")
	if _, err := s.adoptModel(t.Context(), dir); !errors.Is(err, encoder.ErrUnavailable) || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("without tokenizer: %v", err)
	}
	write("tokenizer.json", "a tokenizer")
	write("1_Pooling/config.json", `{"pooling_mode_cls_token":true}`)
	write("sentence_bert_config.json", `{"max_seq_length":1000}`)
	write("config.json", `{"max_position_embeddings":512}`)
	write("config_sentence_transformers.json", `{"prompts":{"query":"query: ","document":"passage: "}}`)
	p, err := s.adoptModel(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := modelspec.LoadSpec(p.Path)
	want := modelspec.Spec{Model: filepath.Base(dir), Precision: "fp32", Pooling: pooling.CLS, QueryPrefix: "query: ", PassagePrefix: "passage: ", MaxTokens: 512}
	if err != nil || !reflect.DeepEqual(spec, want) {
		t.Errorf("described as %+v, %v; want %+v", spec, err, want)
	}
	if p.Path == dir || p.Cached {
		t.Errorf("%+v", p)
	}
	if _, err := os.Stat(filepath.Join(dir, modelspec.SpecFile)); err == nil {
		t.Error("the user's folder was written to")
	}
	if q, err := s.adoptModel(t.Context(), dir); err != nil || !q.Cached || q.Path != p.Path {
		t.Errorf("again: %+v, %v", q, err)
	}
	write("model.onnx", "another model")
	q, err := s.adoptModel(t.Context(), dir)
	if err != nil || q.Cached || q.Path == p.Path {
		t.Errorf("after a change: %+v, %v", q, err)
	}

	if err := spec.Write(dir); err != nil {
		t.Fatal(err)
	}
	if p, err := s.adoptModel(t.Context(), dir); err != nil || p.Path != dir {
		t.Errorf("complete: %+v, %v", p, err)
	}
	write(modelspec.SpecFile, "{}")
	if _, err := s.adoptModel(t.Context(), dir); !errors.Is(err, modelspec.ErrSpec) {
		t.Errorf("wrong description: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, modelspec.SpecFile)); err != nil {
		t.Fatal(err)
	}
	write("1_Pooling/config.json", `{"pooling_mode_max_tokens":true,"pooling_mode_mean_tokens":true}`)
	if _, err := s.adoptModel(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "pooling") {
		t.Errorf("unknown pooling: %v", err)
	}
}

// Folders that no graph is made of are opened where they lie, and nothing is put
// into the cache.
func TestAdoptAsItIs(t *testing.T) {
	config := func(kind string) string {
		return fmt.Sprintf(`{"model_type":%q,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":32,"type_vocab_size":2,"vocab_size":30,"layer_norm_eps":1e-12,"hidden_act":"gelu"}`, kind)
	}
	dense := `[{"type":"sentence_transformers.models.Transformer","path":""},{"type":"sentence_transformers.models.Pooling","path":"1_Pooling"},{"type":"sentence_transformers.models.Dense","path":"2_Dense"}]`
	pooling := `{"pooling_mode_mean_tokens":true}`
	for name, c := range map[string]struct {
		files map[string]string
		bare  bool
		asIs  bool
	}{
		"another architecture":   {map[string]string{"config.json": config("gpt9"), "model.safetensors": "x"}, false, true},
		"shards":                 {map[string]string{"config.json": config("bert"), "model.safetensors.index.json": "x"}, false, true},
		"dense modules":          {map[string]string{"config.json": config("bert"), "model.safetensors": "x", "modules.json": dense, "1_Pooling/config.json": pooling}, false, true},
		"dense behind a graph":   {map[string]string{"model.onnx": "x", "modules.json": dense, "1_Pooling/config.json": pooling}, false, true},
		"no library is wanted":   {map[string]string{"config.json": config("bert"), "model.safetensors": "x"}, true, true},
		"a library may be there": {map[string]string{"config.json": config("bert"), "model.safetensors": "x"}, false, false}, // x is no weights
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.files["tokenizer.json"] = "{}"
			for f, text := range c.files {
				path := filepath.Join(dir, f)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			s, _ := testSession(t, "http://127.0.0.1:1")
			s.bare = c.bare
			p, err := s.adoptModel(t.Context(), dir)
			if c.asIs && (err != nil || p.Path != dir || !p.Cached) {
				t.Errorf("%+v, %v; want the folder itself", p, err)
			}
			if !c.asIs && !errors.Is(err, encoder.ErrUnavailable) {
				t.Errorf("%+v, %v; want that x is no weights", p, err)
			}
			if left, _ := os.ReadDir(filepath.Join(s.cache, "models")); len(left) > 0 {
				t.Errorf("%d folders are in the cache", len(left))
			}
		})
	}
}

// Weights in a pickle are refused with the remedy.
func TestAdoptPickle(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tokenizer.json", "config.json", "pytorch_model.bin"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := testSession(t, "http://127.0.0.1:1")
	if _, err := s.adoptModel(t.Context(), dir); !errors.Is(err, encoder.ErrUnavailable) || !strings.Contains(err.Error(), "save_pretrained") {
		t.Errorf("%v; want that the weights be written anew", err)
	}
}

// What receipts hold of the models that are in caches stays as it was.
func TestRecipeStays(t *testing.T) {
	spec := modelspec.Spec{Model: "m", Precision: "fp32", Pooling: pooling.CLS, QueryPrefix: "q: ", PassagePrefix: "p: ", MaxTokens: 512}
	if got, want := recipe(spec), "export 1, {Model:m Precision:fp32 Pooling:cls QueryPrefix:q:  PassagePrefix:p:  MaxTokens:512}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	plain := recipe(spec)
	if spec.LeavePrompt = true; recipe(spec) == plain {
		t.Error("a spec that pools without the prompt has the recipe of one that pools with it")
	}
}
