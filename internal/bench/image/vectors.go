package image

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/vectors"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/visual"
)

// fileVectors is an encoder of image references whose vectors are known. It has no tokens,
// so modulation does not change them.
type fileVectors struct {
	name string
	dim  int
	at   map[string][]float32
}

var errNoVector = errors.New("no vector of this name was given")

func vectorsAsEncoder(file string, images []labelled) (encoder.Encoder, error) {
	v, err := vectors.Read(file)
	if err != nil {
		return nil, err
	}
	if v.Len() != len(images) {
		return nil, fmt.Errorf("%w: %s holds %d vectors, labels.tsv %d images; give one row a line", vectors.ErrFile, file, v.Len(), len(images))
	}
	e := &fileVectors{name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), dim: v.Dim, at: map[string][]float32{}}
	for i, img := range images {
		row := slices.Clone(v.Row(i))
		vectors.Normalize(row) // one without a direction stays as it is
		e.at[visual.Reference(img.file, picture.View{})] = row
	}
	return e, nil
}

func (e *fileVectors) Encode(_ context.Context, _ encoder.Role, in []encoder.Input, _ encoder.Need) ([]encoder.Output, error) {
	texts, err := encoder.TextsOf(in)
	if err != nil {
		return nil, err
	}
	out := make([]encoder.Output, len(texts))
	for i, t := range texts {
		v, ok := e.at[t]
		if !ok {
			return nil, fmt.Errorf("%q: %w", t, errNoVector)
		}
		out[i].Dense = slices.Clone(v)
	}
	return out, nil
}

func (e *fileVectors) Tokenize(encoder.Role, string) encoder.Tokens { return encoder.Tokens{} }
func (e *fileVectors) Dim() int                                     { return e.dim }
func (e *fileVectors) VocabSize() int                               { return 1 }
func (e *fileVectors) Close() error                                 { return nil }
func (e *fileVectors) Fingerprint() encoder.Fingerprint {
	return encoder.Fingerprint{Model: e.name, Dim: e.dim}
}
