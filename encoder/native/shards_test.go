package native

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// sharded puts the weights of m into two files with an index.
func sharded(t *testing.T, m *encoders.Tiny, dir string) {
	t.Helper()
	files := map[string]*safetensorstest.File{"a.safetensors": safetensorstest.New(nil), "b.safetensors": safetensorstest.New(nil)}
	of := map[string]string{}
	m.Each(func(name string, w []float32, shape []int) {
		of[name] = "a.safetensors"
		if len(name)%2 == 1 {
			of[name] = "b.safetensors"
		}
		files[of[name]].Add(name, w, shape...)
	})
	index, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": 1}, "weight_map": of})
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, fileShards), index, 0o644), os.Remove(filepath.Join(dir, fileSafetensors)))
	for name, f := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), f.Bytes(), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestShards(t *testing.T) {
	m := large(6)
	whole, parts := folder(t, m, pooling.Mean), folder(t, m, pooling.Mean)
	sharded(t, m, parts)
	want := open(t, whole, Options{}).Fingerprint()
	got := open(t, parts, Options{}).Fingerprint()
	for i := range want.Probe {
		if encoders.Distance(got.Probe[i], want.Probe[i]) != 0 {
			t.Errorf("probe %d differs between one file and two", i)
		}
	}
	edit := func(old, new string) func(string) error {
		return func(dir string) error {
			b, err := os.ReadFile(filepath.Join(dir, fileShards))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, fileShards), []byte(strings.Replace(string(b), old, new, 1)), 0o644))
		}
	}
	for name, c := range map[string]struct {
		change func(dir string) error
		want   error
		text   string
	}{
		"a missing file":       {func(dir string) error { return os.Remove(filepath.Join(dir, "b.safetensors")) }, fs.ErrNotExist, "b.safetensors"},
		"a damaged file":       {func(dir string) error { return os.WriteFile(filepath.Join(dir, "b.safetensors"), nil, 0o644) }, ErrModel, "b.safetensors"},
		"a file elsewhere":     {edit(`"b.safetensors"`, `"../b.safetensors"`), ErrModel, "../b.safetensors"},
		"no name":              {edit(`"b.safetensors"`, `""`), ErrModel, `""`},
		"a damaged index":      {edit(`{`, `[`), ErrModel, fileShards},
		"a tensor less":        {edit(`embeddings.word_embeddings.weight`, `x`), ErrModel, "word_embeddings"},
		"a tensor in no index": {edit(`encoder.layer.1.output.dense.bias`, `y`), ErrModel, "encoder.layer.1.output.dense.bias"},
	} {
		dir := folder(t, m, pooling.Mean)
		sharded(t, m, dir)
		if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v; want %v that says %q", name, err, c.want, c.text)
		}
	}
}
