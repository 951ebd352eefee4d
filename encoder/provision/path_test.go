package provision

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
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
	spec, err := encoder.LoadSpec(p.Path)
	want := encoder.Spec{Model: filepath.Base(dir), Precision: "fp32", Pooling: encoder.PoolCLS, QueryPrefix: "query: ", PassagePrefix: "passage: ", MaxTokens: 512}
	if err != nil || spec != want {
		t.Errorf("described as %+v, %v; want %+v", spec, err, want)
	}
	if p.Path == dir || p.Cached {
		t.Errorf("%+v", p)
	}
	if _, err := os.Stat(filepath.Join(dir, encoder.SpecFile)); err == nil {
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
	write(encoder.SpecFile, "{}")
	if _, err := s.adoptModel(t.Context(), dir); !errors.Is(err, encoder.ErrSpec) {
		t.Errorf("wrong description: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, encoder.SpecFile)); err != nil {
		t.Fatal(err)
	}
	write("1_Pooling/config.json", `{"pooling_mode_max_tokens":true}`)
	if _, err := s.adoptModel(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "pooling") {
		t.Errorf("unknown pooling: %v", err)
	}
}
