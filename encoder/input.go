package encoder

import (
	"errors"
	"fmt"
	"strings"
)

// MediaText is the media type of a text. MediaImages is the prefix of image types, and the modality of
// images in a Fingerprint.
const (
	MediaText   = "text/plain"
	MediaImages = "image/"
)

// ErrMedia is returned for an input whose media type the encoder does not take.
var ErrMedia = errors.New("the encoder does not take this media type")

// Input is a value to encode, with its media type.
type Input struct {
	// Media is the media type, such as "image/png"; "" is MediaText.
	Media string
	// Text is the value for MediaText, in UTF-8; "" for other types.
	Text string
	// Data is the value for any other type, in the format of that type. An encoder only reads it and
	// keeps no reference.
	Data []byte
}

// IsText reports whether in is a text.
func (in Input) IsText() bool { return in.Media == "" || in.Media == MediaText }

// IsImage reports whether in is an image.
func (in Input) IsImage() bool { return strings.HasPrefix(in.Media, MediaImages) }

// Texts returns texts as inputs, in their order.
func Texts(texts ...string) []Input {
	in := make([]Input, len(texts))
	for i, t := range texts {
		in[i].Text = t
	}
	return in
}

// TextsOf returns the texts of inputs, in order, for an encoder that takes only texts. The first input
// that is no text is ErrMedia, in a *TextError.
func TextsOf(in []Input) ([]string, error) {
	texts := make([]string, len(in))
	for i := range in {
		if !in[i].IsText() {
			return nil, &TextError{Text: i, Err: fmt.Errorf("%w: %s; it takes %s alone", ErrMedia, in[i].Media, MediaText)}
		}
		texts[i] = in[i].Text
	}
	return texts, nil
}

// ImagesOf returns the image files of inputs, in order, for an encoder that takes only images. The
// first input that is no image is ErrMedia, in a *TextError.
func ImagesOf(in []Input) ([][]byte, error) {
	files := make([][]byte, len(in))
	for i := range in {
		if !in[i].IsImage() {
			media := in[i].Media
			if in[i].IsText() {
				media = MediaText
			}
			return nil, &TextError{Text: i, Err: fmt.Errorf("%w: %s; it takes images alone", ErrMedia, media)}
		}
		files[i] = in[i].Data
	}
	return files, nil
}
