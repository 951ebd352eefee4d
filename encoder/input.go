package encoder

import (
	"errors"
	"fmt"
	"strings"
)

// MediaText is the media type of a text, MediaImages the front of those of images, which
// is what a Fingerprint calls their modality.
const (
	MediaText   = "text/plain"
	MediaImages = "image/"
)

// ErrMedia answers an input of a media type that the encoder does not take.
var ErrMedia = errors.New("the encoder does not take this media type")

// Input is what is to be encoded: a value of a media type.
type Input struct {
	// Media is the media type, such as "image/png"; "" is MediaText.
	Media string
	// Text is the value of MediaText, in UTF-8; it is "" for other types.
	Text string
	// Data is the value of any other type, in the bytes that the type prescribes. An
	// encoder reads it and keeps no reference to it.
	Data []byte
}

// IsText says whether in is a text.
func (in Input) IsText() bool { return in.Media == "" || in.Media == MediaText }

// IsImage says whether in is an image.
func (in Input) IsImage() bool { return strings.HasPrefix(in.Media, MediaImages) }

// Texts returns texts as inputs, in their order.
func Texts(texts ...string) []Input {
	in := make([]Input, len(texts))
	for i, t := range texts {
		in[i].Text = t
	}
	return in
}

// TextsOf returns the texts of inputs, in their order, for an encoder that takes
// nothing else. The first input that is no text is ErrMedia, in a *TextError.
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

// ImagesOf returns the files of inputs that are images, in their order, for an encoder that takes
// nothing else. The first input that is none is ErrMedia, in a *TextError.
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
