package provision

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/regular"
)

// The path source copies the files of a folder that the user named.
var _ = registerSource("path", func(ctx context.Context, s *session, t transfer) error {
	for _, f := range t.pkg.Files {
		if err := copyInto(ctx, filepath.Join(t.pkg.Name, f.Member), f, t.dir); err != nil {
			return err
		}
	}
	return nil
})

func copyInto(ctx context.Context, path string, f File, dir string) error {
	r, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	return store(ctx, r, f, dir)
}

// adoptModel takes the model in the folder dir that the user named. A folder
// with model.onnx, tokenizer.json and lexsem-model.json is used where it is.
// What is lacking is made, in the cache: the description out of the files that
// sentence-transformers puts beside a model, model.onnx out of safetensors.
func (s *session) adoptModel(ctx context.Context, dir string) (Provenance, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Provenance{}, err
	}
	p, err := s.adopt(ctx, abs, filepath.Base(abs))
	if err == nil || ctx.Err() != nil {
		return p, err
	}
	return Provenance{}, &MissingError{Missing: []Missing{{Artifact: abs, Attempts: []Attempt{{"path", err}},
		Remedy: fmt.Sprintf("name a folder with %s and %s, or with %s, %s and %s",
			fileONNX, fileTokenizer, fileSafetensors, fileConfig, fileTokenizer)}}}
}

func (s *session) adopt(ctx context.Context, dir, name string) (Provenance, error) {
	names := []string{fileONNX, fileTokenizer}
	if _, err := os.Stat(filepath.Join(dir, fileONNX)); errors.Is(err, fs.ErrNotExist) {
		names = []string{fileSafetensors, fileConfig, fileTokenizer}
	}
	spec, err := encoder.LoadSpec(dir)
	described := err == nil
	if errors.Is(err, fs.ErrNotExist) {
		spec, err = s.deriveSpec(dir, name)
	}
	if err != nil {
		return Provenance{}, err
	}
	pkg := Package{Via: "path", Name: dir}
	key := sha256.New() // of all that the folder in the cache is made of
	for _, n := range names {
		sum, err := hashFile(ctx, filepath.Join(dir, n))
		if err != nil {
			return Provenance{}, err
		}
		pkg.Files = append(pkg.Files, File{Member: n, Name: n, SHA256: sum})
		fmt.Fprintln(key, n, sum)
	}
	if described && names[0] == fileONNX {
		return Provenance{Artifact: name, Route: "path", Package: dir, SHA256: pkg.Files[0].SHA256, Path: dir, Cached: true}, nil
	}
	if err := json.NewEncoder(key).Encode(spec); err != nil {
		return Provenance{}, err
	}
	id := fmt.Sprintf("local-%s-%.12x", name, key.Sum(nil))
	pkg.Version = id
	// The export of version 1 left heads out. Models of the registry have none,
	// so their version stays; a folder of the user's may have one.
	a := artifact{
		name: id, dir: filepath.Join(s.cache, "models", id), main: fileONNX, recipe: recipe(spec) + ", head", packages: []Package{pkg},
		finish: func(ctx context.Context, dir string) error { return completeModel(ctx, dir, spec) },
	}
	unlock, err := s.lock(ctx, id)
	if err != nil {
		return Provenance{}, err
	}
	defer unlock()
	r, err := s.cached(ctx, a)
	found := err == nil
	if !found {
		if err := s.sweep(id); err != nil {
			return Provenance{}, err
		}
		if r, err = s.install(ctx, a, pkg, pkg.routes()[0]); err != nil {
			return Provenance{}, err
		}
	}
	p := r.provenance(a, found)
	p.Artifact = name
	return p, nil
}

// deriveSpec describes the model in dir by what sentence-transformers writes
// beside a model. Where that is silent it assumes mean pooling and 256 tokens,
// and says so.
func (s *session) deriveSpec(dir, name string) (encoder.Spec, error) {
	spec := encoder.Spec{Model: name, Precision: "fp32", Pooling: encoder.PoolMean, MaxTokens: 256}
	var pooling struct {
		CLS  bool `json:"pooling_mode_cls_token"`
		Mean bool `json:"pooling_mode_mean_tokens"`
	}
	var length struct {
		Max int `json:"max_seq_length"`
	}
	var config struct {
		Positions int `json:"max_position_embeddings"`
	}
	var prompts struct {
		Prompts map[string]string `json:"prompts"`
	}
	hasPooling, err1 := readJSON(filepath.Join(dir, "1_Pooling", "config.json"), &pooling)
	_, err2 := readJSON(filepath.Join(dir, "sentence_bert_config.json"), &length)
	_, err3 := readJSON(filepath.Join(dir, fileConfig), &config)
	_, err4 := readJSON(filepath.Join(dir, "config_sentence_transformers.json"), &prompts)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return spec, err
	}
	switch {
	case !hasPooling:
		s.report.logf("%s: no 1_Pooling/config.json in it, assuming mean pooling; describe the model in %s if that is wrong", name, encoder.SpecFile)
	case pooling.CLS == pooling.Mean:
		return spec, fmt.Errorf("1_Pooling/config.json asks for a pooling other than mean or cls; use another model")
	case pooling.CLS:
		spec.Pooling = encoder.PoolCLS
	}
	if length.Max > 0 {
		spec.MaxTokens = length.Max
	}
	if config.Positions > 0 {
		spec.MaxTokens = min(spec.MaxTokens, config.Positions)
	}
	if length.Max <= 0 {
		s.report.logf("%s: no max_seq_length in sentence_bert_config.json, cutting texts at %d tokens; describe the model in %s if that is wrong",
			name, spec.MaxTokens, encoder.SpecFile)
	}
	spec.QueryPrefix = prompts.Prompts["query"]
	spec.PassagePrefix = prompts.Prompts["document"]
	return spec, spec.Validate()
}

// maxJSONBytes bounds a file that describes a model.
const maxJSONBytes = 1 << 20

// readJSON decodes the file at path into v and reports whether it exists.
func readJSON(path string, v any) (bool, error) {
	b, err := regular.ReadFile(path, maxJSONBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return true, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}
