package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/store"
)

// An encoder is handed encodeWindow texts at once: enough to sort by length, few enough
// for progress and cancellation. The first ones of an open database are handed over
// firstWindow at once, then as many as were encoded before, so that a slow model shows
// soon how fast it is. An encoder that knows better says so by a method Window() int.
const (
	encodeWindow = 256
	firstWindow  = 16
)

// window is how many texts the encoder is handed next.
func (e *Engine) window() int {
	if w, ok := e.enc.(intake.Checked).Encoder.(interface{ Window() int }); ok && w.Window() > 0 {
		return w.Window()
	}
	return int(min(max(e.encoded.Load(), firstWindow), encodeWindow))
}

// keptWindow bounds the texts that are encoded at once by the memory of their states.
func (e *Engine) keptWindow(n int) int {
	tokens := e.fp.MaxTokens
	if tokens <= 0 {
		tokens = 512
	}
	return max(1, min(n, hiddenBytes/(4*e.fp.Dim*tokens)))
}

// encodePassages encodes texts, with their states where they are kept.
func (e *Engine) encodePassages(ctx context.Context, texts []encoder.Input, keep bool) (out []encoder.Output, kept bool, err error) {
	if keep {
		out, err = e.enc.Encode(ctx, encoder.Passage, texts, encoder.NeedDense|encoder.NeedHidden)
		if err == nil {
			return out, true, nil
		}
		if err = e.withoutStates(err); err != nil {
			return nil, false, err
		}
	}
	out, err = e.enc.Encode(ctx, encoder.Passage, texts, encoder.NeedDense)
	return out, false, err
}

// withoutStates decides what becomes of texts whose encoder gives no states: an error, or
// nil where they do without.
func (e *Engine) withoutStates(err error) error {
	if !errors.Is(err, encoder.ErrNoHidden) {
		return err
	}
	if e.o.TokenStates == TokenStatesOn {
		return fmt.Errorf("%w: token states are %q, and the encoder %s gives none; use %q or %q: %w", ErrInvalid, TokenStatesOn, e.fp.Model, TokenStatesAuto, TokenStatesOff, err)
	}
	e.noStates(err)
	return nil
}

// passages are what the rows of a stored document were made of.
func (e *Engine) passages(d *store.Document) []encoder.Input {
	if isImage(d) {
		return []encoder.Input{imageOf(d)}
	}
	title := d.Title
	if len(d.Rows) > 1 {
		title, _ = e.chunks.TitleOf(title)
	}
	texts := make([]encoder.Input, len(d.Rows))
	for i, r := range d.Rows {
		texts[i].Text = chunk.Passage(title, d.Text[r.Start:r.End])
	}
	return texts
}

// noStates notes that the encoder gives no token states.
func (e *Engine) noStates(err error) {
	e.tokens.mu.Lock()
	defer e.tokens.mu.Unlock()
	e.tokens.none = err
}
