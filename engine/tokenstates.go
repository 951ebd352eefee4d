package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/store"
)

// Values of Options.TokenStates.
const (
	// TokenStatesOff keeps no token states, and ignores stored ones in searches.
	TokenStatesOff = "off"
	// TokenStatesAuto keeps token states if the encoder gives them, until their codes take 1 GiB (some 400,000
	// passages of 100 tokens). In a database of KindCode, new documents get none, unless
	// most stored passages have some.
	TokenStatesAuto = "auto"
	// TokenStatesOn keeps token states, and refuses an encoder without them.
	TokenStatesOn = "on"
)

// mostTokenBytes is the maximum size of token states under TokenStatesAuto. Tests lower
// it.
var mostTokenBytes int64 = 1 << 30

const (
	// leastSample is how many token states a basis is fitted on at least. The first
	// documents, up to this number, wait for their codes.
	leastSample = 1024
	// sampleBytes bounds the states that are in memory for a basis: some 10,900 of 384 numbers.
	sampleBytes = 16 << 20
	// outgrown is how many times the states that a basis was fitted on must have been seen since
	// before new passages take another.
	outgrown = 8
	// hiddenBytes bounds the states of the texts that are encoded at once.
	hiddenBytes = 64 << 20
)

// tokenStates is the state of an open database for token states of its passages.
type tokenStates struct {
	turn    chan struct{} // holds a value while a basis is fitted
	waiting atomic.Bool   // the first basis has come: documents before it lack their codes

	mu     sync.Mutex // guards the rest
	read   int        // records of the store that were read: bases, and the codebook of a database of images
	stored []basis    // those of the store
	fresh  []basis    // those that the store gets with the first codes that need them
	now    basis      // that new codes are made with; of no Basis where there is none
	sample sample     // of the states that were seen since now was fitted
	none   error      // why the encoder gives no states
	ofCode bool       // TokenStatesAuto gives them in a database of source code, too
	asked  bool       // the encoder was asked whether it gives any
	made   string     // what the database is to do where Options do not say
}

// startTokens reads the bases of the database.
func (e *Engine) startTokens() error {
	e.tokens.turn = make(chan struct{}, 1)
	e.tokens.sample = sample{dim: e.fp.Dim}
	e.tokens.made = tokensOf(e.st)
	return e.readBases()
}

// tokensOf is the stored setting of a database for token states. For an older database it
// depends on whether there are token states.
func tokensOf(st *store.Store) string {
	switch m := st.Manifest().TokenStates; {
	case slices.Contains([]string{TokenStatesOff, TokenStatesAuto, TokenStatesOn}, m):
		return m
	case st.BasisCount() > 0:
		return TokenStatesAuto
	}
	return TokenStatesOff
}

// tokenMode is the setting for token states in effect.
func (e *Engine) tokenMode() string {
	e.tokens.mu.Lock()
	defer e.tokens.mu.Unlock()
	return cmp.Or(e.o.TokenStates, e.tokens.made)
}

// wantTokens records that later documents get token states.
func (e *Engine) wantTokens(ctx context.Context) error {
	if e.tokenMode() != TokenStatesOff {
		return nil
	}
	err := e.st.SetManifest(ctx, func(m *store.Manifest) error { m.TokenStates = TokenStatesAuto; return nil })
	if err == nil {
		e.tokens.mu.Lock()
		e.tokens.made = TokenStatesAuto
		e.tokens.mu.Unlock()
	}
	return err
}

// acceptCodes refuses codes that no search could read, and drops codes if token states are
// off.
func (e *Engine) acceptCodes(d *store.Document) error {
	for i := range d.Rows {
		if e.o.TokenStates == TokenStatesOff {
			d.Rows[i].Codes = nil
		}
		if err := e.tokens.knows(d.Rows[i].Codes); err != nil {
			return fmt.Errorf("%w: token states of chunk %d: %w", ErrInvalid, i, err)
		}
	}
	return nil
}

// knows returns nil for codes of a known basis, else what is wrong with them.
func (t *tokenStates) knows(codes []byte) error {
	if len(codes) == 0 {
		return nil
	}
	c, err := late.Parse(codes)
	if err != nil {
		return err
	}
	is := func(b basis) bool { return b.ID() == c.Basis() && b.Rank() == c.Rank() }
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.ContainsFunc(t.stored, is) && !slices.ContainsFunc(t.fresh, is) {
		return fmt.Errorf("%w: %08x", late.ErrBasis, c.Basis())
	}
	return nil
}

// keeping reports whether the states of texts encoded now are wanted. first are the documents that come first.
func (e *Engine) keeping(ctx context.Context, first []record) (bool, error) {
	mode := e.tokenMode()
	if mode == TokenStatesOff || e.enc == nil {
		return false, nil
	}
	e.tokens.mu.Lock()
	none := e.tokens.none
	e.tokens.mu.Unlock()
	if none != nil || mode == TokenStatesOn {
		return none == nil, nil
	}
	ref := e.db.Acquire()
	if ref == nil {
		return false, ErrClosed
	}
	defer ref.Release()
	if ref.Value.Tokens.Stored() >= mostTokenBytes {
		return false, nil
	}
	spares, err := e.sparesCode(ctx, ref.Value, first)
	return !spares, err
}

// keeps is keeping, but also asks the encoder, without texts, whether it has states. If it
// says no, as our encoders do, calls need not be cut into windows for states.
func (e *Engine) keeps(ctx context.Context, first []record) (bool, error) {
	if keep, err := e.keeping(ctx, first); err != nil || !keep {
		return false, err
	}
	t := &e.tokens
	t.mu.Lock()
	asked := t.asked
	t.asked = true
	t.mu.Unlock()
	if asked {
		return true, nil
	}
	_, err := e.enc.Encode(ctx, encoder.Passage, nil, encoder.NeedDense|encoder.NeedHidden)
	if errors.Is(err, encoder.ErrNoHidden) {
		return false, e.withoutStates(err)
	}
	return true, nil // of whatever else is wrong the next call tells
}

// coding makes the codes for one call that encodes.
type coding struct {
	e       *Engine
	more    bool    // texts come that were not encoded yet: a first basis waits for as many states as are final
	waiting []coded // for the first basis
}

// coded is a row and its states.
type coded struct {
	row    *store.Row
	states []float32
	skip   []bool // rows of states that are none of the text's
}

// codedOf is a row with the states from an encoder of a passage, one for each token.
func codedOf(row *store.Row, passage string, out encoder.Output, dim int) (coded, error) {
	c := coded{row: row, states: out.Hidden}
	if n := len(out.Tokens.IDs); n > 0 {
		c.skip = late.Skip(passage, out.Tokens)
		if len(out.Hidden) != n*dim {
			return c, fmt.Errorf("%w: %d numbers for the states of %d tokens of %d dimensions", ErrEncoder, len(out.Hidden), n, dim)
		}
	}
	if len(out.Hidden)%dim != 0 || !vec.Finite(out.Hidden) {
		return c, fmt.Errorf("%w: %d numbers for token states of %d dimensions; give whole ones, without NaN and infinities", ErrEncoder, len(out.Hidden), dim)
	}
	return c, nil
}

// take makes the codes of a window of rows. Without a basis it keeps the states of the
// rows.
func (c *coding) take(ctx context.Context, rows []coded) error {
	t := &c.e.tokens
	t.look(rows)
	if c.more && t.early() {
		c.waiting = append(c.waiting, rows...)
		return nil
	}
	b, err := c.e.basisFor(ctx)
	if err != nil {
		return err
	}
	if b == nil { // their number is bounded: with leastSample there is one
		c.waiting = append(c.waiting, rows...)
		return nil
	}
	rows, c.waiting = append(c.waiting, rows...), nil
	coder := late.Coder{Basis: b, Bits: c.e.o.TokenBits, Pool: c.e.o.TokenPool}
	errs := make([]error, len(rows))
	if err := c.e.db.Parallel(ctx, len(rows), func(i int) {
		r := rows[i]
		r.row.Codes, errs[i] = coder.Encode(make([]byte, 0, coder.Size(len(r.states)/b.Dim())), r.states, r.skip)
		if errors.Is(errs[i], late.ErrNotFinite) {
			errs[i] = fmt.Errorf("%w: a token state is not finite", ErrEncoder)
		}
	}); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// comparesTokens reports whether a state has passages that can be compared token by token.
func (e *Engine) comparesTokens(s *state.State) bool {
	if s.Tokens.Len() == 0 || e.enc == nil || e.o.TokenStates == TokenStatesOff {
		return false
	}
	e.tokens.mu.Lock()
	defer e.tokens.mu.Unlock()
	return e.tokens.none == nil
}

// lateQuery is a query's token states, weighted by the rarity of its tokens; nil if its
// plan does not compare them.
func (e *Engine) lateQuery(r *search.Run) (*late.Query, error) {
	dim := e.fp.Dim
	n := len(r.In.Hidden) / dim
	if !r.Plan.Tokens || n == 0 {
		return nil, nil
	}
	tokens := r.In.Tokens
	if e.terms != nil || len(tokens.IDs) != n {
		q, err := late.NewQuery(r.In.Hidden, nil, nil, e.searchable()...)
		return q, fromStates(err)
	}
	weights := make([]float32, n)
	for i, id := range tokens.IDs {
		weights[i] = float32(r.S.Sums.IDF(id))
	}
	q, err := late.NewQuery(r.In.Hidden, tokens.Special, weights, e.searchable()...)
	return q, fromStates(err)
}

// tokenStats describes the stored token states.
func (e *Engine) tokenStats(ctx context.Context, s *state.State) (TokenStats, error) {
	r := TokenStats{Mode: e.tokenMode(), Chunks: s.Tokens.Len(), Bytes: s.Tokens.Stored(), Bases: e.st.BasisCount()}
	e.tokens.mu.Lock()
	none := e.tokens.none
	e.tokens.mu.Unlock()
	bare, err := e.sparesCode(ctx, s, nil)
	switch {
	case r.Mode == TokenStatesOff:
	case none != nil:
		r.Note = fmt.Sprintf("the encoder %s gives no token states", e.fp.Model)
	case r.Mode == TokenStatesAuto && r.Bytes >= mostTokenBytes:
		r.Note = fmt.Sprintf("documents come without since these take %d MiB", mostTokenBytes>>20)
	case bare:
		r.Note = "a database of source code has none by itself; `lexsem tokens` adds them"
	case r.Bases == 0:
		r.Note = fmt.Sprintf("none before the texts that were encoded here have %d tokens in all", leastSample)
	}
	return r, err
}

// fromStates makes impossible token states an error of the encoder.
func fromStates(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: token states of the query: %w", ErrEncoder, err)
	}
	return err
}
