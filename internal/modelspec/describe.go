package modelspec

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/safetensors"
)

// Files of a folder that sentence-transformers or transformers wrote.
const (
	fileModules   = "modules.json"
	fileConfig    = "config.json"
	filePrompts   = "config_sentence_transformers.json"
	fileLength    = "sentence_bert_config.json"
	fileTokenizer = "tokenizer_config.json"
	folderPooling = "1_Pooling" // where there is no modules.json
)

// Assumed if a folder does not say.
const (
	assumedPooling = pooling.Mean
	assumedTokens  = 256
	staticTokens   = 512 // which Model2Vec takes
)

// describable reports whether dir has a file from which Describe recognises the model.
func describable(dir string) bool {
	for _, name := range []string{fileModules, fileConfig} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// Describe reads the files that sentence-transformers and transformers write with a model. It also
// returns a line, fit for a log, for each assumption. The model is named after its folder.
//
//   - modules.json: a Transformer and a Pooling, or a StaticEmbedding; any number of Dense, a Normalize. Or a
//     Transformer and Dense modules of PyLate (Late), or an MLMTransformer and a SpladePooling (Splade), also
//     behind a Router that gives queries a SparseStaticEmbedding.
//     Without the file: a Transformer and the Pooling in 1_Pooling, the files of Model2Vec, or those of ColBERT.
//   - config.json of the Pooling: one mode, include_prompt. Without the file: mean.
//   - config_sentence_transformers.json: the prompt "query" for queries; for passages the
//     first of "document", "passage" and "corpus"; if it has none of these, a default
//     prompt for both.
//   - tokens: max_seq_length in sentence_bert_config.json, else model_max_length in
//     tokenizer_config.json, else 256, of static models 512; of PyLate document_length and query_length; at most what
//     max_position_embeddings allows.
//
// Errors wrap ErrSpec, and name what is damaged or unknown. Files that cannot be read give the errors
// of the file system.
func Describe(dir string) (Spec, []string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Spec{}, nil, err
	}
	d := &description{dir: dir, spec: Spec{Model: filepath.Base(abs), Precision: "fp32", Pooling: assumedPooling, MaxTokens: assumedTokens}}
	for _, part := range []func() error{d.modules, d.prompts, d.length, d.capitals, d.adapter} {
		if err := part(); err != nil {
			return Spec{}, nil, err
		}
	}
	return d.spec, d.notes, d.spec.Validate()
}

type description struct {
	dir   string
	spec  Spec
	notes []string
	unit  bool // the model itself gives vectors of length 1
}

func (d *description) note(format string, args ...any) {
	d.notes = append(d.notes, d.spec.Model+": "+fmt.Sprintf(format, args...))
}

// read decodes one of the folder's files and reports whether it is there.
func (d *description) read(name string, v any) (bool, error) {
	return readJSON(filepath.Join(d.dir, filepath.FromSlash(name)), v)
}

func (d *description) wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrSpec, d.dir, fmt.Sprintf(format, args...))
}

// module is an entry of modules.json.
type module struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// modules reads the list of modules.
func (d *description) modules() error {
	var modules []module
	found, err := d.read(fileModules, &modules)
	if err != nil {
		return err
	}
	if !found {
		var config struct {
			Type  string   `json:"model_type"`
			Kinds []string `json:"architectures"`
		}
		if _, err := d.read(fileConfig, &config); err != nil {
			return err
		}
		if config.Type == "model2vec" { // as its own library writes it
			d.spec.Static, d.spec.Pooling = ".", pooling.Mean
			return nil
		}
		if slices.Contains(config.Kinds, stanford) {
			d.spec.Dense = []string{stanfordHead}
			return d.late()
		}
		return d.pooling(folderPooling, false)
	}
	if len(modules) > maxModules {
		return d.wrong("%s lists %d modules; at most %d are read", fileModules, len(modules), maxModules)
	}
	if len(modules) == 1 && lastPart(modules[0].Type) == "Router" {
		if modules, err = d.router(modules[0].Path); err != nil {
			return err
		}
	}
	late := slices.ContainsFunc(modules, func(m module) bool { return strings.HasPrefix(m.Type, "pylate.") })
	masked := false // the Transformer gives scores of words
	place := 0      // of what came last: a Transformer 1, a Pooling 2, a Dense 3, a Normalize 4
	for _, m := range modules {
		kind := strings.TrimPrefix(m.Type, "sentence_transformers.")
		if kind != m.Type || kind == "pylate.models.Dense.Dense" {
			kind = lastPart(kind)
		}
		if (kind == "Pooling" || kind == "Dense" || kind == "SpladePooling") && !filepath.IsLocal(filepath.FromSlash(m.Path)) {
			return d.wrong("%s: %s has the folder %q, which is none inside the model's", fileModules, kind, m.Path)
		}
		fits := place == 2 || place == 3 || late && place == 1 && kind == "Dense"
		switch kind {
		case "Transformer", "MLMTransformer":
			fits, place = place == 0, 1
			s, err := d.sentence()
			if err != nil {
				return err
			}
			if !slices.Contains([]string{"", "feature-extraction", masking}, s.Task) {
				return d.wrong("%s: transformer_task %q; known are feature-extraction and %s", fileLength, s.Task, masking)
			}
			masked = kind == "MLMTransformer" || s.Task == masking
			if m.Path != "" && d.spec.Splade == nil {
				return d.wrong("%s: the transformer lies in %q; move its files beside %s and make its path empty", fileModules, m.Path, fileModules)
			}
		case "StaticEmbedding":
			fits, place = place == 0, 2
			d.spec.Static, d.spec.Pooling = cmp.Or(m.Path, "."), pooling.Mean
		case "SpladePooling":
			fits, place = place == 1 && masked, 4
			if err := d.splade(m.Path); err != nil {
				return err
			}
		case "Pooling":
			fits, place = place == 1 && !late && !masked, 2
			if err := d.pooling(m.Path, true); err != nil {
				return err
			}
		case "Dense":
			place = 3
			d.spec.Dense = append(d.spec.Dense, m.Path)
		case "Normalize":
			place, d.unit = 4, true
		default:
			return d.wrong("%s: a module of type %q is not known; known are Transformer, StaticEmbedding, Pooling, Dense and Normalize, of a SparseEncoder MLMTransformer, SpladePooling and a Router", fileModules, m.Type)
		}
		if !fits {
			return d.wrong("%s: %s stands where it cannot; known is Transformer, Pooling, Dense as often as there are some, Normalize", fileModules, kind)
		}
	}
	if place < 2 {
		return d.wrong("%s has no Pooling", fileModules)
	}
	if late {
		return d.late()
	}
	return nil
}

// poolingModes are the modes as the first versions of the library wrote them.
var poolingModes = map[string]pooling.Pooling{
	"pooling_mode_mean_tokens": pooling.Mean, "pooling_mode_cls_token": pooling.CLS, "pooling_mode_max_tokens": pooling.Max,
	"pooling_mode_lasttoken": pooling.Last, "pooling_mode_weightedmean_tokens": pooling.Weighted, "pooling_mode_mean_sqrt_len_tokens": pooling.Sqrt,
}

// pooling reads the module Pooling in the given folder.
func (d *description) pooling(path string, must bool) error {
	name := path + "/" + fileConfig
	var conf map[string]json.RawMessage
	found, err := d.read(name, &conf)
	switch {
	case err != nil:
		return err
	case !found && must:
		return missing(filepath.Join(d.dir, filepath.FromSlash(name)), nil)
	case !found:
		d.note("no %s in it, assuming %s pooling; describe the model in %s if that is wrong", name, assumedPooling, SpecFile)
		return nil
	}
	modes, err := poolingOf(conf)
	if err != nil {
		return d.wrong("%s: %v", name, err)
	}
	if len(modes) != 1 {
		return d.wrong("%s asks for %d ways of pooling %v; one is known at a time", name, len(modes), modes)
	}
	d.spec.Pooling = modes[0]
	include := true
	if v, ok := conf["include_prompt"]; ok {
		if err := json.Unmarshal(v, &include); err != nil {
			return d.wrong("%s: include_prompt: %v", name, err)
		}
	}
	d.spec.LeavePrompt = !include
	return nil
}

// poolingOf returns the modes that a Pooling's configuration sets: one text, or
// several; or as the first versions wrote it, a flag for each.
func poolingOf(conf map[string]json.RawMessage) ([]pooling.Pooling, error) {
	if v, ok := conf["pooling_mode"]; ok {
		var one pooling.Pooling
		if err := json.Unmarshal(v, &one); err == nil {
			return []pooling.Pooling{one}, validPooling(one)
		}
		var several []pooling.Pooling
		err := json.Unmarshal(v, &several)
		for _, p := range several {
			err = errors.Join(err, validPooling(p))
		}
		return several, err
	}
	var modes []pooling.Pooling
	for key, v := range conf {
		if !strings.HasPrefix(key, "pooling_mode_") {
			continue
		}
		var on bool
		if err := json.Unmarshal(v, &on); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if p, known := poolingModes[key]; on && known {
			modes = append(modes, p)
		} else if on {
			return nil, fmt.Errorf("%s is not known", key)
		}
	}
	if len(modes) == 0 {
		return nil, errors.New("no way of pooling is set")
	}
	return modes, nil
}

// prompts reads the prefixes of texts.
func (d *description) prompts() error {
	var conf struct {
		Prompts map[string]*string `json:"prompts"`
		Default *string            `json:"default_prompt_name"`
		Compare *string            `json:"similarity_fn_name"`
	}
	if _, err := d.read(filePrompts, &conf); err != nil {
		return err
	}
	if c := conf.Compare; c != nil && *c != "" && *c != "cosine" && !d.unit && d.spec.Splade == nil && d.spec.Late == nil {
		d.note("%s compares vectors by %q; here they have length 1 and are compared by cosine", filePrompts, *c)
	}
	first := func(names ...string) (string, string) {
		for _, name := range names {
			if p := conf.Prompts[name]; p != nil {
				return name, *p
			}
		}
		return "", ""
	}
	query, before := first("query")
	d.spec.QueryPrefix = before
	passage, before := first("document", "passage", "corpus")
	d.spec.PassagePrefix = before
	if query == "" && passage == "" && conf.Default != nil && *conf.Default != "" {
		p := conf.Prompts[*conf.Default]
		if p == nil {
			return d.wrong("%s: default_prompt_name is %q, and there is no such prompt", filePrompts, *conf.Default)
		}
		d.spec.QueryPrefix, d.spec.PassagePrefix = *p, *p
		d.note("before queries and passages stands %q, the default prompt %q of %s, which has none for either", *p, *conf.Default, filePrompts)
	}
	return nil
}

// masking is the task of a transformer that scores words.
const masking = "fill-mask"

// sentence is the configuration of the module Transformer.
type sentence struct {
	Max   *int   `json:"max_seq_length"`
	Lower bool   `json:"do_lower_case"`
	Task  string `json:"transformer_task"`
}

// sentence reads the file of that, whose name was once that of the architecture.
func (d *description) sentence() (s sentence, err error) {
	for _, name := range []string{fileLength, "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json", "sentence_xlm-roberta_config.json"} {
		if found, err := d.read(d.within(name), &s); found || err != nil {
			return s, err
		}
	}
	return s, nil
}

// within is the path of a file of the transformer.
func (d *description) within(name string) string {
	if d.spec.Splade == nil {
		return name
	}
	return path.Join(d.spec.Splade.Folder, name)
}

// length reads the maximum number of tokens of a text.
func (d *description) length() error {
	var tokenizer struct {
		Max *float64 `json:"model_max_length"` // 1e30 where the tokenizer knows no limit
	}
	var config struct {
		Type      string `json:"model_type"`
		Positions int    `json:"max_position_embeddings"`
		Others    int    `json:"n_positions"` // nomic_bert's name for it
		Pad       *int   `json:"pad_token_id"`
	}
	sentence, err1 := d.sentence()
	_, err2 := d.read(d.within(fileTokenizer), &tokenizer)
	_, err3 := d.read(d.within(fileConfig), &config)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	switch {
	case d.spec.Late != nil:
	case sentence.Max != nil && *sentence.Max > 0:
		d.spec.MaxTokens = *sentence.Max
	case tokenizer.Max != nil && *tokenizer.Max >= 1 && *tokenizer.Max <= MaxTokens:
		d.spec.MaxTokens = int(math.Floor(*tokenizer.Max))
	case d.spec.Static != "":
		d.spec.MaxTokens = staticTokens
	default:
		defer func() {
			d.note("no max_seq_length in %s, cutting texts at %d tokens; describe the model in %s if that is wrong", fileLength, d.spec.MaxTokens, SpecFile)
		}()
	}
	positions := config.Positions
	if positions <= 0 {
		positions = config.Others
	}
	switch config.Type {
	case "roberta", "xlm-roberta", "camembert", "mpnet": // the first token has the place after that of padding
		pad := 1
		if config.Pad != nil && config.Type != "mpnet" {
			pad = *config.Pad
		}
		positions -= min(max(pad, 0), MaxTokens) + 1
	}
	if positions > 0 {
		d.spec.MaxTokens = min(d.spec.MaxTokens, positions)
		if l := d.spec.Late; l != nil {
			l.QueryTokens = min(l.QueryTokens, positions)
		}
	}
	return nil
}

// adapter refuses a folder whose weights the libraries change by an adapter beside them.
func (d *description) adapter() error {
	const name = "adapter_config.json"
	if _, err := os.Stat(filepath.Join(d.dir, name)); err == nil {
		return d.wrong("%s adds an adapter (PEFT) to the weights, which is not read; merge it with merge_and_unload and save the model", name)
	}
	return nil
}

// lastPart is the part after the last dot of a Python name.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

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
		return true, fmt.Errorf("%w: %s: %w", ErrSpec, path, err)
	}
	return true, nil
}

// missing is the error of a required file that does not exist, or err for another error.
func missing(path string, err error) error {
	if err != nil {
		return err
	}
	return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// unusableModule makes an ErrSpec of an invalid file of weights, and returns errors of the file system
// unchanged.
func unusableModule(err error) error {
	if errors.Is(err, safetensors.ErrFormat) {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return err
}
