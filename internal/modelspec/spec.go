// Package modelspec reads the folder of a model: a [Spec] holds what its weights do not show, such as pooling and
// prefixes, and [Describe] makes one from the files of sentence-transformers, PyLate and SparseEncoder. A [Pooler]
// makes one vector of the states of a text, as the folder says. [Pairs] are the inputs of a cross-encoder. A folder
// that cannot be used is ErrSpec, and the message names the file and the remedy.
package modelspec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/regular"
)

// SpecFile is the name of the file in a model's folder with its Spec.
const SpecFile = "lexsem-model.json"

// ErrSpec is wrapped by errors about an incomplete or contradictory Spec.
var ErrSpec = errors.New("invalid model description")

// MaxTokens is the maximum number of tokens that a model may ask for, since the cost grows with its
// square.
const MaxTokens = 1 << 15

// Int8Suffix follows the name of the model in the fingerprint of an encoder of precision int8.
const Int8Suffix = "-int8"

// maxSpecBytes bounds what LoadSpec reads.
const maxSpecBytes = 1 << 20

// Spec says how a model turns texts into vectors, apart from its weights and vocabulary.
type Spec struct {
	Model         string          `json:"model"`          // for example "all-MiniLM-L6-v2"
	Precision     string          `json:"precision"`      // "fp32" or "int8"
	Pooling       pooling.Pooling `json:"pooling"`        // one of pooling.All
	QueryPrefix   string          `json:"query_prefix"`   // put before queries, final space included
	PassagePrefix string          `json:"passage_prefix"` // put before passages, final space included
	MaxTokens     int             `json:"max_tokens"`     // tokens at which a text is cut, special tokens included

	// LeavePrompt says that pooling skips the tokens of the prefix and those before them.
	LeavePrompt bool `json:"leave_prompt,omitempty"`
	// Dense are the folders of the Dense modules after the pooling, in order, relative to the model's
	// folder.
	Dense []string `json:"dense,omitempty"`
	// Static is the folder, relative to the model's, of a table with one vector for each token, which is the whole
	// model (StaticEmbedding of sentence-transformers, Model2Vec); "" for a transformer.
	Static string `json:"static,omitempty"`
	// Late is set for a model that compares texts token by token.
	Late *Late `json:"late,omitempty"`
	// Splade is set for a model that gives weights of words.
	Splade *Splade `json:"splade,omitempty"`
}

// Prefix returns the prefix for texts of a role.
func (s Spec) Prefix(r encoder.Role) string {
	if r == encoder.Query {
		return s.QueryPrefix
	}
	return s.PassagePrefix
}

// Validate returns an error that wraps ErrSpec unless every field has a usable value.
func (s Spec) Validate() error {
	switch {
	case s.Model == "":
		return fmt.Errorf("%w: model is empty; name the model", ErrSpec)
	case s.Precision != "fp32" && s.Precision != "int8":
		return fmt.Errorf(`%w: precision %q is unknown; use "fp32" or "int8"`, ErrSpec, s.Precision)
	case s.MaxTokens > MaxTokens:
		return fmt.Errorf("%w: max_tokens is %d; it must be at most %d", ErrSpec, s.MaxTokens, MaxTokens)
	case s.MaxTokens < 3:
		return fmt.Errorf("%w: max_tokens is %d; it must be at least 3: [CLS], a token, [SEP]", ErrSpec, s.MaxTokens)
	}
	if len(s.Dense) > maxModules {
		return fmt.Errorf("%w: %d dense modules; at most %d are read", ErrSpec, len(s.Dense), maxModules)
	}
	if s.Static != "" && !filepath.IsLocal(filepath.FromSlash(s.Static)) {
		return fmt.Errorf("%w: static table %q is not in the model's folder", ErrSpec, s.Static)
	}
	for _, path := range s.Dense {
		if !filepath.IsLocal(filepath.FromSlash(path)) {
			return fmt.Errorf("%w: dense module %q is not in the model's folder", ErrSpec, path)
		}
	}
	if l := s.Late; l != nil && (l.QueryTokens < 3 || l.QueryTokens > s.MaxTokens || s.Pooling != pooling.Mean || s.LeavePrompt || s.Static != "") {
		return fmt.Errorf("%w: a model that compares tokens, with query_tokens %d, max_tokens %d, pooling %s; query_tokens must be 3 to max_tokens, pooling mean, and neither leave_prompt nor static may be set",
			ErrSpec, l.QueryTokens, s.MaxTokens, s.Pooling)
	}
	return errors.Join(validPooling(s.Pooling), s.validSplade())
}

// LoadSpec reads and validates dir/lexsem-model.json. Without that file it uses Describe, if there is
// a modules.json or config.json. The error wraps fs.ErrNotExist if none of these exists, and ErrSpec
// if one is wrong.
func LoadSpec(dir string) (Spec, error) {
	path := filepath.Join(dir, SpecFile)
	b, err := regular.ReadFile(path, maxSpecBytes)
	if errors.Is(err, fs.ErrNotExist) && describable(dir) {
		s, _, err := Describe(dir)
		return s, err
	}
	switch {
	case errors.Is(err, regular.ErrTooLarge):
		return Spec{}, fmt.Errorf("%w: %s is longer than %d bytes; write it anew", ErrSpec, path, maxSpecBytes)
	case err != nil:
		return Spec{}, fmt.Errorf("open model description: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var s Spec
	if err := d.Decode(&s); err != nil {
		return Spec{}, fmt.Errorf("%w: %s: %v; write it anew", ErrSpec, path, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Spec{}, fmt.Errorf("%w: %s: more than one JSON value; write it anew", ErrSpec, path)
	}
	if err := s.Validate(); err != nil {
		return Spec{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Write validates s and writes it atomically to dir/lexsem-model.json.
func (s Spec) Write(dir string) error {
	if err := s.Validate(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode model description: %w", err)
	}
	err = atomicfile.Write(filepath.Join(dir, SpecFile), func(f *os.File) error {
		_, err := f.Write(append(b, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("write model description: %w", err)
	}
	return nil
}

func validPooling(p pooling.Pooling) error {
	if !p.Known() {
		return fmt.Errorf("%w: pooling %q is unknown; use one of %v", ErrSpec, string(p), pooling.All)
	}
	return nil
}
