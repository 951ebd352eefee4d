package models

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/ollama"
	"github.com/lexsem/lexsem/encoder/openai"
	"github.com/lexsem/lexsem/internal/modelname"
)

// Of returns the name that opens the encoder of a database again, or "" if no name does.
func Of(f encoder.Fingerprint) string {
	if dense, sparse := encoder.SplitSparse(f.Model); sparse != "" {
		f.Model = dense
		return Of(f) + encoder.SparseMark + sparse
	}
	if modelname.Remote(f.Model) {
		return fmt.Sprintf("%s@%d", f.Model, f.Dim)
	}
	return f.Model
}

// openRemote makes a client for a model on a server. It makes no request.
func openRemote(model string, o Options) (encoder.Encoder, error) {
	if o.Offline {
		return nil, fmt.Errorf("%s: %w", model, ErrOffline)
	}
	name, dim := model, 0
	if at := strings.LastIndexByte(model, '@'); at >= 0 { // names may hold others
		var err error
		if dim, err = strconv.Atoi(model[at+1:]); err != nil || dim < 1 {
			return nil, fmt.Errorf("%w: %q; the dimension after @ is a positive number", ErrName, model)
		}
		name = model[:at]
	}
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	var enc encoder.Encoder
	var err error
	if kind, rest, _ := strings.Cut(name, ":"); kind+":" == modelname.OpenAI {
		enc, err = openai.New(openai.Options{Model: rest, Dim: dim, BaseURL: getenv("OPENAI_BASE_URL"), TokenLimit: o.TokenLimit})
	} else {
		enc, err = ollama.New(ollama.Options{Model: rest, Dim: dim, BaseURL: getenv("OLLAMA_HOST"), TokenLimit: o.TokenLimit})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; a model of another dimension is written %s@768", ErrName, err, name)
	}
	return enc, nil
}
