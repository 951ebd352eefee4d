package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/progress"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/store"
)

// An encoder gets encodeWindow texts in one call: enough to sort by length, few enough
// for progress and cancellation. The first call of an open database has firstWindow
// texts, and each later one as many as were encoded before, so a slow model soon shows
// its speed. An encoder can choose another number by a method Window() int.
const (
	encodeWindow = 256
	firstWindow  = 16
)

// window returns the number of texts that the encoder gets next.
func (e *Engine) window() int {
	if w, ok := e.enc.(intake.Checked).Encoder.(interface{ Window() int }); ok && w.Window() > 0 {
		return w.Window()
	}
	return int(min(max(e.encoded.Load(), firstWindow), encodeWindow))
}

// keptWindow limits the texts in one call by the memory of their states.
func (e *Engine) keptWindow(n int) int {
	tokens := e.fp.MaxTokens
	if tokens <= 0 {
		tokens = 512
	}
	return max(1, min(n, hiddenBytes/(4*e.fp.Dim*tokens)))
}

// encodePassages encodes texts, with their states if these are kept.
func (e *Engine) encodePassages(ctx context.Context, texts []encoder.Input, keep bool) (out []encoder.Output, kept bool, err error) {
	if keep {
		out, err = e.enc.Encode(ctx, encoder.Passage, texts, encoder.NeedDense|encoder.NeedHidden|e.impactNeed())
		if err == nil {
			return out, true, nil
		}
		if err = e.withoutStates(err); err != nil {
			return nil, false, err
		}
	}
	out, err = e.enc.Encode(ctx, encoder.Passage, texts, encoder.NeedDense|e.impactNeed())
	return out, false, err
}

// impactsOf is the digest of the model that gives impacts; "" for none.
func impactsOf(fp encoder.Fingerprint) string {
	if fp.Sparse == nil {
		return ""
	}
	return fp.Sparse.Digest()
}

// impactNeed requests impacts of words of a model that gives them.
func (e *Engine) impactNeed() encoder.Need {
	if e.fp.Sparse == nil {
		return 0
	}
	return encoder.NeedImpacts
}

// withoutStates handles an encoder that returns no states: an error, or nil if the
// database can do without them.
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

// passages are the texts that the rows of a stored document were encoded from.
func (e *Engine) passages(d *store.Document) []encoder.Input {
	if isImage(d) {
		return []encoder.Input{imageOf(d)}
	}
	title := d.Title
	if len(d.Rows) > 1 {
		title = e.chunks.TitleOf(title)
	}
	texts := make([]encoder.Input, len(d.Rows))
	source := search.StoredSource(d.Metadata)
	for i, r := range d.Rows {
		texts[i].Text = search.EncoderText(source, title, d.Text[r.Start:r.End])
	}
	return texts
}

// noStates records that the encoder gives no token states.
func (e *Engine) noStates(err error) {
	e.tokens.mu.Lock()
	defer e.tokens.mu.Unlock()
	e.tokens.none = err
}

// Documents with WordsFirst are stored without vectors. The maintainer calls encodeDeferred until all documents have
// vectors. Each call encodes some documents and stores new versions of them.

// later is the state of encodeDeferred between its calls, which run one at a time.
type later struct {
	from   uint64           // documents of lower ordinals have their vectors
	failed map[uint64]error // by ordinal: the encoder takes all others first
}

// defers returns the reason why a document cannot be stored before its vectors, or nil.
func (e *Engine) defers(image bool) error {
	if image {
		return fmt.Errorf("%w: an image has no words before it is encoded; leave WordsFirst out", ErrInvalid)
	}
	return e.metric.Needs("storing words first")
}

// editsFirst keeps the missing passages of edited texts for this call if they are few; otherwise all these texts are
// encoded later as a whole. A document has the vectors of all its passages, or none.
func (e *Engine) editsFirst(records []record) {
	few := 0
	each := func(do func(r *record)) {
		for i := range records {
			if r := &records[i]; r.later && r.part {
				do(r)
			}
		}
	}
	each(func(r *record) {
		for _, row := range r.Rows {
			if row.Vector == nil {
				few++
			}
		}
	})
	each(func(r *record) {
		if r.later = few > firstWindow; !r.later {
			return
		}
		r.part = false
		for i, row := range r.Rows {
			r.Rows[i] = store.Row{Start: row.Start, End: row.End}
		}
	})
}

// mayDefer records, before the first document is stored without vectors, that such
// documents exist.
func (e *Engine) mayDefer(ctx context.Context, records []record) error {
	for i := range records {
		if records[i].Deferred() && !e.st.Manifest().Deferred {
			return e.st.SetManifest(ctx, func(m *store.Manifest) error { m.Deferred = true; return nil })
		}
	}
	return nil
}

// encodeDeferred makes missing vectors of a state, for as many documents as fit into one call of the encoder.
// If the encoder refuses a document, it is tried again after all others; a second refusal is an error.
func (e *Engine) encodeDeferred(ctx context.Context, s *state.State) (worked bool, err error) {
	records, err := e.deferredOf(ctx, s)
	if err != nil {
		return false, err
	}
	if len(records) == 0 {
		for _, err := range e.later.failed {
			e.later.failed = nil
			return false, err
		}
		return false, nil
	}
	ctx = progress.With(ctx, func(string, int, int) {}) // the maintainer tells of it
	err = e.encode(ctx, records)
	var one *DocumentError
	if errors.As(err, &one) && ctx.Err() == nil {
		if e.later.failed == nil {
			e.later.failed = map[uint64]error{}
		}
		e.later.failed[records[one.Position].of] = err
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := e.stageAs(ctx, records, true, false); err != nil {
		return false, err
	}
	e.codeWaiting(ctx)
	return true, nil
}

// deferredOf reads the first documents without vectors.
func (e *Engine) deferredOf(ctx context.Context, s *state.State) (records []record, err error) {
	texts, size, first := 0, 0, true
	for ord := range s.Live.All {
		if ord%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if ord < e.later.from || s.Vectors.Has(chunk.ID(ord, 0)) {
			continue
		}
		if first {
			first, e.later.from = false, ord
		}
		if e.later.failed[ord] != nil {
			continue
		}
		d, err := s.View.Get(ctx, ord)
		if err != nil {
			return nil, state.Missing(err)
		}
		if !d.Deferred() { // the index lacks what is stored, which Verify and the next opening find
			continue
		}
		records = append(records, record{Document: *d, of: ord})
		texts, size = texts+len(d.Rows), size+len(d.Text)
		if texts >= e.window() || size >= pageBytes {
			break
		}
	}
	return records, nil
}

// storable is a vector of the encoder as the database stores it: rounded where records are short, unless its length
// would be another.
func (e *Engine) storable(v []float32) []float32 {
	if !e.short {
		return v
	}
	u := store.ShortVector(v)
	if again := slices.Clone(u); !vec.Normalize(again) || !slices.Equal(again, u) {
		return v
	}
	return u
}
