package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lexsem/lexsem/encoder"
)

// A server may refuse a call because it has too many texts, or because one of them is too long for the model. Then
// smaller calls find the sizes that it accepts. If all texts are accepted in the end, the number was too large, and
// later calls have no more texts than were accepted. A text that is refused alone is shortened until it is accepted,
// and the cut is counted in Tokens.Truncated. All others get their vectors.

const (
	remembered = 5 * time.Minute // that a text counts as refused, so that whoever leaves it out and calls again gets on at once
	mostKept   = 10_000          // of these texts
	leastText  = 32              // bytes, below which a text is not refused for its length
)

type refusals map[[sha256.Size]byte]refusal

type refusal struct {
	err   error
	until time.Time
}

// call encodes texts in one call, or in smaller ones if the server refuses that. first is the number of the first text.
func (e *Encoder) call(ctx context.Context, out [][]float32, texts []string, first int) error {
	err := e.once(ctx, out, texts)
	if err == nil {
		return nil
	}
	if len(texts) == 1 {
		return e.alone(ctx, out, texts[0], first, err)
	}
	of := fmt.Errorf("texts %d to %d: %w", first, first+len(texts)-1, err)
	if !e.o.Refused(err) {
		return of
	}
	short := 0
	for i, t := range texts {
		if len(t) < len(texts[short]) {
			short = i
		}
	}
	switch err := e.once(ctx, out[short:short+1], texts[short:short+1]); {
	case err != nil && e.o.Refused(err): // whatever it is sent: it is not for the texts
		return of
	case err != nil:
		return fmt.Errorf("text %d: %w", first+short, err)
	}
	taken, whole := 0, true
	err = e.halves(ctx, out, texts, first, &taken, &whole)
	if err == nil && whole {
		e.mu.Lock()
		e.most = min(e.most, taken)
		e.mu.Unlock()
	}
	return err
}

// halves makes two calls for two or more texts that the server refused together. taken becomes the largest number
// accepted together, and whole becomes false if a text had to be cut.
func (e *Encoder) halves(ctx context.Context, out [][]float32, texts []string, first int, taken *int, whole *bool) error {
	var bad worst
	for _, part := range [2][2]int{{0, len(texts) / 2}, {len(texts) / 2, len(texts)}} {
		from, to := part[0], part[1]
		err := e.once(ctx, out[from:to], texts[from:to])
		switch {
		case err == nil:
			*taken = max(*taken, to-from)
			continue
		case to-from == 1:
			*whole = false
			err = e.alone(ctx, out[from:to], texts[from], first+from, err)
		case e.o.Refused(err):
			err = e.halves(ctx, out[from:to], texts[from:to], first+from, taken, whole)
		default:
			err = fmt.Errorf("texts %d to %d: %w", first+from, first+to-1, err)
		}
		if err := bad.note(err); err != nil {
			return err
		}
	}
	return bad.error()
}

// alone shortens a text that was refused alone. It returns the error if the server refuses even the shortest
// text. Such a refusal is remembered.
func (e *Encoder) alone(ctx context.Context, out [][]float32, text string, at int, err error) error {
	if !e.o.Refused(err) {
		return &encoder.TextError{Text: at, Err: err}
	}
	switch n, failed := e.shorten(ctx, out, text); {
	case failed != nil:
		return &encoder.TextError{Text: at, Err: failed}
	case n > 0:
		if short, ok := ctx.Value(cutsKey{}).(*cuts); ok {
			short.mu.Lock()
			short.of[at] = int(estimate(text[n:]))
			short.mu.Unlock()
		}
		return nil
	}
	err = fmt.Errorf("%w; if the text is too long for the model, limit the tokens of chunks (--chunk-tokens)", err)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused == nil {
		e.refused = refusals{}
	}
	if len(e.refused) < mostKept {
		e.refused[sha256.Sum256([]byte(text))] = refusal{err, time.Now().Add(remembered)}
	}
	return &encoder.TextError{Text: at, Err: err}
}

// shorten encodes the longest beginning of a text that the server accepts, to within a quarter, and returns
// its length in bytes; 0 if it accepts none. It returns an error only for failures other than a refusal.
func (e *Encoder) shorten(ctx context.Context, out [][]float32, text string) (int, error) {
	e.mu.Lock()
	next := e.fits // that of the last text; as often as not this one fits, too
	e.mu.Unlock()
	taken, refused := 0, len(text)
	if next == 0 || next >= refused {
		next = refused / 2
	}
	for next >= leastText && next > taken {
		part := strings.ToValidUTF8(text[:next], "")
		err := e.once(ctx, out, []string{part})
		switch {
		case err == nil:
			taken = next
		case e.o.Refused(err):
			refused = next
		default:
			return 0, err
		}
		if next = min((taken+refused)/2, taken+taken/2); taken == 0 {
			next = refused / 2
		} else if refused-taken <= taken/4 {
			break
		}
	}
	if taken > 0 {
		e.mu.Lock()
		e.fits = taken
		e.mu.Unlock()
	}
	return taken, nil
}

// known returns the error of the first text that the server refused a moment ago.
func (e *Encoder) known(texts []string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, r := range e.refused {
		if time.Now().After(r.until) {
			delete(e.refused, key)
		}
	}
	for i := 0; i < len(texts) && len(e.refused) > 0; i++ {
		if r, is := e.refused[sha256.Sum256([]byte(texts[i]))]; is {
			return &encoder.TextError{Text: i, Err: r.err}
		}
	}
	return nil
}

// worst collects errors of single texts, while the other texts are still encoded. It keeps that of the first
// text.
type worst struct {
	mu  sync.Mutex
	one *encoder.TextError
}

// note keeps an error of a single text, and returns any other error.
func (w *worst) note(err error) error {
	var one *encoder.TextError
	if !errors.As(err, &one) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.one == nil || one.Text < w.one.Text {
		w.one = one
	}
	return nil
}

func (w *worst) error() error {
	if w.one == nil {
		return nil
	}
	return w.one
}
