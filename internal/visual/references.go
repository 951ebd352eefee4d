package visual

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
)

// A reference is a text that names an image and a part of it: the name, "#", and a picture.View. So
// training queries made from images are short.

// Reference returns the reference to a part of the image with a name.
func Reference(name string, v picture.View) string { return name + "#" + v.String() }

// Part returns a reference to another part of the image that a reference names.
func Part(reference string, v picture.View) string {
	name, _ := nameOf(reference)
	return Reference(name, v)
}

func nameOf(reference string) (name, view string) {
	if i := strings.LastIndexByte(reference, '#'); i >= 0 {
		return reference[:i], reference[i+1:]
	}
	return reference, ""
}

// References is an encoder for texts that are references to images.
type References struct {
	encoder.Encoder // of images
	open            func(ctx context.Context, name string) (encoder.Input, error)
}

// NewReferences returns an encoder of references. open returns the data for a name and must be safe
// for concurrent use. The fingerprint is that of enc, an encoder of images. Tokenize returns nothing,
// since tokens are known only after an image was encoded.
func NewReferences(enc encoder.Encoder, open func(ctx context.Context, name string) (encoder.Input, error)) *References {
	return &References{enc, open}
}

// referenceWindow is the number of images in memory at once.
const referenceWindow = 64

// Encode implements encoder.Encoder, for references. An image that cannot be opened is an error of its
// input.
func (e *References) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	texts, err := encoder.TextsOf(in)
	if err != nil {
		return nil, err
	}
	out := make([]encoder.Output, 0, len(texts))
	for from := 0; from == 0 || from < len(texts); from += referenceWindow {
		images := make([]encoder.Input, min(referenceWindow, len(texts)-from))
		for i := range images {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if images[i], err = e.resolve(ctx, texts[from+i]); err != nil {
				return nil, &encoder.TextError{Text: from + i, Err: err}
			}
		}
		part, err := e.Encoder.Encode(ctx, role, images, need)
		if at, ok := errors.AsType[*encoder.TextError](err); ok {
			return nil, &encoder.TextError{Text: from + at.Text, Err: fmt.Errorf("image %.200q: %w", texts[from+at.Text], at.Err)}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// Tokenize implements encoder.Encoder. It returns nothing, since tokens are known only after an image
// was encoded.
func (e *References) Tokenize(encoder.Role, string) encoder.Tokens { return encoder.Tokens{} }

// resolve returns the image that a reference names.
func (e *References) resolve(ctx context.Context, reference string) (encoder.Input, error) {
	name, part := nameOf(reference)
	in, err := e.open(ctx, name)
	if err != nil || part == "" {
		return in, err
	}
	v, err := picture.ParseView(part)
	if err != nil {
		return in, err
	}
	m, err := picture.Decode(in.Data)
	if err != nil {
		return in, fmt.Errorf("image %.200q: %w", name, err)
	}
	b, err := v.Apply(m).Encode()
	return encoder.Input{Media: picture.MediaBMP, Data: b}, err
}
