package visual

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/picture"
)

// Words is an encoder of images whose patches are tokens. The id of a patch is its word in a codebook,
// which may be set later. Without a codebook images have no tokens.
type Words struct {
	encoder.Encoder
	size int
	book atomic.Pointer[Codebook]
}

// New returns enc, an encoder of images with states, extended by a vocabulary of size words, from
// MinWords to MaxWords. Close closes enc.
func New(enc encoder.Encoder, size int) (*Words, error) {
	f := enc.Fingerprint()
	switch {
	case f.Media != encoder.MediaImages || f.VocabSize != 0:
		return nil, fmt.Errorf("%w: %s is no encoder of images, or has words of its own", ErrCodebook, f.Model)
	case size < MinWords || size > MaxWords:
		return nil, fmt.Errorf("%w: %d words; want %d to %d", ErrCodebook, size, MinWords, MaxWords)
	}
	return &Words{Encoder: enc, size: size}, nil
}

// Set makes b the codebook for later calls of Encode. Its dimension must be that of the encoder's
// states, and it must not have more words than the vocabulary.
func (e *Words) Set(b *Codebook) error {
	if states := e.Fingerprint().States(); b.Dim() != states || b.Len() > e.size {
		return fmt.Errorf("%w: %d words of dimension %d for a vocabulary of %d and states of %d", ErrCodebook, b.Len(), b.Dim(), e.size, states)
	}
	e.book.Store(b)
	return nil
}

// Codebook returns the codebook in use, or nil.
func (e *Words) Codebook() *Codebook { return e.book.Load() }

// VocabSize returns the number of words.
func (e *Words) VocabSize() int { return e.size }

// Fingerprint returns that of the encoder, with the number of words. The codebook is not part of it;
// code that stores the codebook must track it.
func (e *Words) Fingerprint() encoder.Fingerprint {
	f := e.Encoder.Fingerprint()
	f.VocabSize = e.size
	return f
}

// Tokenize returns the visual words below VocabSize in a text like that of Text. It ignores the rest.
func (e *Words) Tokenize(_ encoder.Role, text string) (t encoder.Tokens) {
	for at := 0; at < len(text); {
		n := strings.IndexAny(text[at:], " \n")
		if n < 0 {
			n = len(text) - at
		}
		if id, ok := e.wordOf(text[at : at+n]); ok {
			t.IDs, t.Special = append(t.IDs, id), append(t.Special, false)
			t.Offsets = append(t.Offsets, encoder.Span{Start: int32(at), End: int32(at + n)})
		}
		at += n + 1
	}
	return t
}

// wordOf parses a word such as v0042.
func (e *Words) wordOf(s string) (int32, bool) {
	if len(s) != wordBytes-1 || s[0] != 'v' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return int32(n), n < e.size
}

// Token returns the word of an id, "" if there is none.
func (e *Words) Token(id int32) string {
	if id < 0 || int(id) >= e.size {
		return ""
	}
	return fmt.Sprintf("v%04d", id)
}

// States returns the states of the patches of images, one image after another: [patches ×
// Fingerprint.States].
func (e *Words) States(ctx context.Context, in []encoder.Input) ([]float32, error) {
	out, err := e.Encoder.Encode(ctx, encoder.Passage, in, encoder.NeedHidden)
	var states []float32
	for _, o := range out {
		states = append(states, o.Hidden...)
	}
	return states, err
}

// Encode implements encoder.Encoder. The offsets of tokens are those in Text; a text has no tokens. It
// always requests the states, since words are made from them. It returns them for NeedHidden if they
// are in the space of vectors; otherwise NeedHidden is encoder.ErrNoHidden.
func (e *Words) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if f := e.Fingerprint(); need&encoder.NeedHidden != 0 && f.States() != f.Dim {
		return nil, fmt.Errorf("%w in the space of its vectors: those of %s have %d numbers, its vectors %d", encoder.ErrNoHidden, f.Model, f.States(), f.Dim)
	}
	b := e.book.Load()
	ask := need
	if b != nil && need&encoder.NeedLogits == 0 {
		ask |= encoder.NeedHidden
	}
	out, err := e.Encoder.Encode(ctx, role, in, ask)
	if err != nil || b == nil {
		return out, err
	}
	for i := range out {
		if i%16 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		o := &out[i]
		o.Tokens.IDs = b.Words(make([]int32, 0, len(o.Hidden)/b.dim), o.Hidden)
		o.Tokens.Special = make([]bool, len(o.Tokens.IDs))
		o.Tokens.Offsets = make([]encoder.Span, len(o.Tokens.IDs))
		for j := range o.Tokens.Offsets {
			o.Tokens.Offsets[j] = encoder.Span{Start: int32(j * wordBytes), End: int32((j+1)*wordBytes - 1)}
		}
		if need&encoder.NeedHidden == 0 {
			o.Hidden = nil
		}
	}
	return out, nil
}

// View returns an image as the encoder sees it, if the encoder has a method View, else the whole
// image.
func (e *Words) View(file []byte) (*picture.Image, error) {
	if v, ok := e.Encoder.(interface {
		View(file []byte) (*picture.Image, error)
	}); ok {
		return v.View(file)
	}
	return picture.Decode(file)
}

// wordBytes is the length of a word in a Text with the separator after it.
const wordBytes = 6

// Text returns the words of an image as a text: a line for each row of patches, a word such as v0042
// for each patch. It is "" for an image without words.
func (e *Words) Text(ids []int32) string {
	cols := max(1, e.Fingerprint().Grid[1])
	var b strings.Builder
	b.Grow(wordBytes * len(ids))
	for i, id := range ids {
		switch {
		case i == 0:
		case i%cols == 0:
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "v%04d", id)
	}
	return b.String()
}

// Patch returns the number of the patch, from 0, at byte offset at of a Text.
func Patch(at int) int { return at / wordBytes }
