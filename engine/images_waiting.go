package engine

import (
	"context"
	"errors"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/store"
)

// wordWaiting gives their words to the images that came before there was a codebook, and fits that where
// there are enough of them by now. What keeps it from that is no error of the call that stored the last of them.
func (e *Engine) wordWaiting(ctx context.Context) {
	if e.images == nil || !e.needsCodebook(e.st.Len()) && !e.images.waiting.Load() {
		return
	}
	if err := e.wordStored(ctx); err != nil {
		e.warn("images that were stored before there was a codebook have no visual words yet; the next call that stores some tries again", "error", err)
		return
	}
	e.images.waiting.Store(false)
}

// noteWaiting finds out whether a process ended between the commit of the codebook and what gives the images
// before it their words: the oldest gets them last.
func (e *Engine) noteWaiting() error {
	if e.images == nil || e.images.words.Codebook() == nil {
		return nil
	}
	for ord := range e.db.Present().Live.All {
		d, err := e.st.Get(ord)
		if err != nil {
			return errors.Join(err, e.db.Abandon())
		}
		e.images.waiting.Store(isImage(d) && d.Text == "")
		break
	}
	return nil
}

// wordStored encodes the stored images without words again.
func (e *Engine) wordStored(ctx context.Context) error {
	ref := e.db.Acquire()
	if ref == nil {
		return ErrClosed
	}
	var ords []uint64
	for ord := range ref.Value.Live.All {
		ords = append(ords, ord)
	}
	ref.Release()
	get := func(ord uint64) (*store.Document, error) {
		d, err := e.st.Get(ord)
		if errors.Is(err, ErrNotFound) { // replaced since
			return nil, nil
		}
		if err != nil || !isImage(d) || d.Text != "" {
			return nil, err
		}
		return d, nil
	}
	n := 0
	if err := e.codebookFor(ctx, func() (encoder.Input, bool, error) {
		for ; n < len(ords); n++ {
			d, err := get(ords[n])
			if err != nil {
				return encoder.Input{}, false, err
			}
			if d != nil {
				n++
				return imageOf(d), true, nil
			}
		}
		return encoder.Input{}, false, nil
	}); err != nil || e.images.words.Codebook() == nil {
		return err
	}
	var page []kept
	flush := func() error {
		in := make([]encoder.Input, len(page))
		for i, d := range page {
			in[i] = imageOf(d.Document)
		}
		out, err := e.enc.Encode(ctx, encoder.Passage, in, 0)
		if err != nil {
			return err
		}
		for i, o := range out {
			e.spell(page[i].Document, o.Tokens)
		}
		_, _, err = e.rewrite(ctx, page)
		page = nil
		return err
	}
	for _, ord := range ords {
		d, err := get(ord)
		if err != nil {
			return err
		}
		if d != nil {
			page = append(page, kept{ord, d})
		}
		if len(page) == encodeWindow {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
