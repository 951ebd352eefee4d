package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/ollama"
	"github.com/lexsem/lexsem/encoder/openai"
)

// modelNone stands for the model of a database of vectors alone.
const modelNone = "none"

// errVectorsAlone answers who wants to encode by the model of such a database.
var errVectorsAlone = usagef("the database holds vectors alone, of no model; name one with --model")

// Kinds of models behind a URL, which stand before their names.
const (
	sourceOpenAI = "openai:"
	sourceOllama = "ollama:"
)

// isSource says whether a model is one behind a URL.
func isSource(model string) bool {
	return strings.HasPrefix(model, sourceOpenAI) || strings.HasPrefix(model, sourceOllama)
}

// modelOf is the name by which the encoder of a database is opened again, "" where
// it has none.
func modelOf(f encoder.Fingerprint) string {
	if isSource(f.Model) {
		return fmt.Sprintf("%s@%d", f.Model, f.Dim)
	}
	return f.Model
}

// openSource opens a model behind a URL: openai:NAME, ollama:NAME or ollama:NAME:TAG,
// with @DIM behind it where the dimension is not known or is to be another. Nobody is
// asked.
func (a *app) openSource(model string) (encoder.Encoder, error) {
	if a.offline {
		return nil, hinted(fmt.Errorf("%w: model %s is behind a URL, and offline mode opens no connection", encoder.ErrSource, model),
			"leave out --offline and LEXSEM_OFFLINE, or search with --mode lexical")
	}
	name, dim := model, 0
	if at := strings.LastIndexByte(model, '@'); at >= 0 { // names may hold others
		var err error
		if dim, err = strconv.Atoi(model[at+1:]); err != nil || dim < 1 {
			return nil, usagef("model %q: the dimension behind @ is a positive number", model)
		}
		name = model[:at]
	}
	if a.tokenLimit < 0 {
		return nil, usagef("--token-limit %d: use a positive number", a.tokenLimit)
	}
	var enc encoder.Encoder
	var err error
	if kind, rest, _ := strings.Cut(name, ":"); kind+":" == sourceOpenAI {
		enc, err = openai.New(openai.Options{Model: rest, Dim: dim, BaseURL: a.Getenv("OPENAI_BASE_URL"), TokenLimit: int64(a.tokenLimit)})
	} else {
		enc, err = ollama.New(ollama.Options{Model: rest, Dim: dim, BaseURL: a.Getenv("OLLAMA_HOST"), TokenLimit: int64(a.tokenLimit)})
	}
	if err != nil {
		return nil, &usageError{msg: err.Error(), hint: "a model of another dimension is written " + name + "@768"}
	}
	return enc, nil
}
