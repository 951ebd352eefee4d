//go:build unix

package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/regular"
)

// TestIrregularModelFolders names folders of which a file is a pipe or has no end,
// or asks for more tokens than there are: an error comes at once.
func TestIrregularModelFolders(t *testing.T) {
	files := map[string]string{
		fileONNX: "x", fileTokenizer: "{}", fileSafetensors: "x",
		fileConfig:                          `{"model_type":"bert","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":32,"type_vocab_size":2,"vocab_size":30,"layer_norm_eps":1e-12,"hidden_act":"gelu"}`,
		modelspec.SpecFile:                  `{"model":"m","precision":"fp32","pooling":"mean","query_prefix":"","passage_prefix":"","max_tokens":256}`,
		"1_Pooling/config.json":             `{"pooling_mode_mean_tokens":true}`,
		"sentence_bert_config.json":         `{"max_seq_length":256}`,
		"config_sentence_transformers.json": `{}`,
	}
	late := time.AfterFunc(30*time.Second, func() { panic("still waiting") })
	defer late.Stop()
	for name := range files {
		for how, make := range map[string]func(path string) error{
			"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"endless": func(path string) error { return os.Symlink("/dev/zero", path) },
			"large":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat(" ", maxJSONBytes+1)), 0o600) },
		} {
			dir := t.TempDir()
			for f, text := range files {
				path := filepath.Join(dir, f)
				if f == modelspec.SpecFile && strings.Contains(name, "config") || f == fileONNX && (name == fileConfig || name == fileSafetensors) {
					continue // so that the others are read
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				var err error
				if f == name {
					err = make(path)
				} else {
					err = os.WriteFile(path, []byte(text), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			s := &session{cache: t.TempDir(), report: &reporter{}}
			_, err := s.adopt(context.Background(), dir, "m")
			if how == "large" {
				if described := strings.Contains(name, "_"); described && !errors.Is(err, regular.ErrTooLarge) {
					t.Errorf("%s is large: %v", name, err)
				}
			} else if !errors.Is(err, regular.ErrIrregular) {
				t.Errorf("%s is %s: %v", name, how, err)
			}
		}
	}
	spec := modelspec.Spec{Model: "m", Precision: "fp32", Pooling: pooling.Mean, MaxTokens: modelspec.MaxTokens + 1}
	if err := spec.Validate(); !errors.Is(err, modelspec.ErrSpec) {
		t.Errorf("%d tokens: %v", spec.MaxTokens, err)
	}
}
