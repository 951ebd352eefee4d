package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/internal/visual"
	"github.com/lexsem/lexsem/store"
)

// basis is a basis with the number of states that it was fitted on.
type basis struct {
	*late.Basis
	fitted int
}

// most is the number of states, for a dimension, at which a sample is final.
func most(dim int) int { return max(2*leastSample, sampleBytes/(4*dim)) }

// final reports whether a basis is never outgrown.
func (b basis) final() bool { return 2*b.fitted >= most(b.Dim()) }

// record is a basis in stored form: the number of states that it was fitted on as u64,
// then the bytes of package late.
func (b basis) record() ([]byte, error) {
	return b.AppendBinary(binary.LittleEndian.AppendUint64(nil, uint64(b.fitted)))
}

// readBasis reads a record. dim is the dimension of the database.
func readBasis(record []byte, dim int) (b basis, err error) {
	if len(record) < 8 {
		return b, fmt.Errorf("basis of token states has %d bytes", len(record))
	}
	if b.Basis, err = late.ReadBasis(record[8:]); err != nil {
		return b, err
	}
	b.fitted = int(min(binary.LittleEndian.Uint64(record), 1<<32))
	if b.Dim() != dim {
		return b, fmt.Errorf("basis of token states of %d dimensions in a database of %d", b.Dim(), dim)
	}
	return b, nil
}

// readBases reads the bases that were stored since the last call.
func (e *Engine) readBases() error {
	t := &e.tokens
	t.mu.Lock()
	from := t.read
	t.mu.Unlock()
	for n := from; n < e.st.BasisCount(); n++ {
		record, err := e.st.Basis(n)
		if err != nil {
			return err
		}
		var b basis
		book := visual.IsCodebook(record)
		if book {
			err = e.acceptCodebook(record, true)
		} else {
			b, err = readBasis(record, e.fp.Dim)
		}
		if err != nil {
			return fmt.Errorf("%w: basis %d of %s: %w", ErrCorrupt, n, e.dir, err)
		}
		t.mu.Lock()
		if t.read == n && book {
			t.read++
		} else if t.read == n { // else another call was faster
			t.read++
			t.stored = append(t.stored, b)
			t.fresh = slices.DeleteFunc(t.fresh, same(b))
			if t.now.Basis == nil || b.fitted > t.now.fitted {
				t.now = b
			}
		}
		t.mu.Unlock()
	}
	return nil
}

// storedBases returns the records of the bases that the store has.
func (e *Engine) storedBases() (records [][]byte, err error) {
	for n := range e.st.BasisCount() {
		record, err := e.st.Basis(n)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// acceptBases adds the bases of an export. A record that is not a basis gives ErrInvalid.
func (e *Engine) acceptBases(records [][]byte) error {
	if len(records) > limit.Bases {
		return fmt.Errorf("%w: %d bases of token states, at most %d are possible", ErrInvalid, len(records), limit.Bases)
	}
	for i, record := range records {
		if visual.IsCodebook(record) {
			if err := e.acceptCodebook(record, false); err != nil {
				return fmt.Errorf("%w: basis %d of the export: %w; import without vectors", ErrInvalid, i, err)
			}
			continue
		}
		b, err := readBasis(record, e.fp.Dim)
		if err != nil {
			return fmt.Errorf("%w: basis %d of the export: %w", ErrInvalid, i, err)
		}
		e.tokens.add(b)
	}
	return nil
}

// same reports whether a basis is b.
func same(b basis) func(basis) bool { return func(o basis) bool { return o.ID() == b.ID() } }

// searchable returns the bases that codes in the database may use; nil if searches do not
// use token states.
func (e *Engine) searchable() []*late.Basis {
	if e.o.TokenStates == TokenStatesOff {
		return nil
	}
	t := &e.tokens
	t.mu.Lock()
	defer t.mu.Unlock()
	bases := make([]*late.Basis, 0, len(t.stored)+len(t.fresh))
	for _, b := range append(t.stored[:len(t.stored):len(t.stored)], t.fresh...) {
		bases = append(bases, b.Basis)
	}
	return bases
}

// add adds a basis that may not be in the store yet.
func (t *tokenStates) add(b basis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.ContainsFunc(t.stored, same(b)) && !slices.ContainsFunc(t.fresh, same(b)) {
		t.fresh = append(t.fresh, b)
	}
}

// basisFor returns the basis for new codes, nil if there are too few states for the first
// one. If the basis is outgrown, it fits another, while concurrent calls use the present
// one.
func (e *Engine) basisFor(ctx context.Context) (*late.Basis, error) {
	t := &e.tokens
	now, due := t.due()
	if due == nil {
		return now, nil
	}
	if now == nil {
		select {
		case t.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	} else {
		select {
		case t.turn <- struct{}{}:
		default:
			return now, nil
		}
	}
	defer func() { <-t.turn }()
	if now, due = t.due(); due == nil { // another call was faster
		return now, nil
	}
	dim := e.fp.Dim
	b, err := late.FitBasis(due, dim, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: fitting a basis of token states: %w", ErrEncoder, err)
	}
	fresh := basis{b, len(due) / dim}
	t.add(fresh)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now, t.sample = fresh, sample{dim: dim}
	if now == nil {
		t.waiting.Store(true)
	}
	return b, nil
}

// short reports whether the sample is too small for a final basis.
func (t *tokenStates) short() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return 2*t.sample.len() < most(t.sample.dim)
}

// early reports whether there is no basis yet, and that a first one would soon be
// outgrown.
func (t *tokenStates) early() bool {
	t.mu.Lock()
	none := t.now.Basis == nil
	t.mu.Unlock()
	return none && t.short()
}

// look adds the states of some rows to the sample, unless the basis is final.
func (t *tokenStates) look(rows []coded) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Basis != nil && t.now.final() {
		return
	}
	for _, r := range rows {
		t.sample.add(r)
	}
}

// due returns the basis in use, nil for none, and the states for fitting another one, nil
// if the present one is good.
func (t *tokenStates) due() (now *late.Basis, states []float32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	least := leastSample
	if now = t.now.Basis; now != nil {
		least = min(outgrown*t.now.fitted, most(now.Dim()))
		if t.now.final() {
			return now, nil
		}
	}
	if t.sample.len() < least {
		return now, nil
	}
	return now, slices.Clone(t.sample.states)
}

// storeBases puts those bases into a batch that the codes of its records need and the
// store does not have.
func (e *Engine) storeBases(ctx context.Context, b *store.Batch, records []record) error {
	used := map[uint32]bool{}
	for _, r := range records {
		for _, row := range r.Rows {
			if len(row.Codes) == 0 {
				continue
			}
			c, err := late.Parse(row.Codes)
			if err != nil {
				return fmt.Errorf("document %q: %w", r.ID, err)
			}
			used[c.Basis()] = true
		}
	}
	if len(used) == 0 && e.images == nil {
		return nil
	}
	if err := e.readBases(); err != nil {
		return err
	}
	t := &e.tokens
	t.mu.Lock()
	number := t.read
	var fresh []basis
	for _, n := range t.fresh {
		if used[n.ID()] {
			fresh = append(fresh, n)
		}
	}
	t.mu.Unlock()
	for i, n := range fresh {
		record, err := n.record()
		if err != nil {
			return err
		}
		if err := b.AddBasis(ctx, number+i, record); err != nil {
			return err
		}
	}
	return e.storeCodebook(ctx, b, number+len(fresh))
}

// sample is a uniform random sample of the states so far.
type sample struct {
	dim, seen int
	states    []float32
	r         *rand.Rand
}

func (s *sample) len() int { return len(s.states) / s.dim }

// add adds the states of a passage to the sample.
func (s *sample) add(c coded) {
	if s.r == nil {
		s.r = rand.New(rand.NewPCG(1, uint64(s.dim)))
	}
	for i := range len(c.states) / s.dim {
		if c.skip != nil && c.skip[i] {
			continue
		}
		state := c.states[i*s.dim : (i+1)*s.dim]
		if s.seen++; s.len() < most(s.dim) {
			s.states = append(s.states, state...)
		} else if at := s.r.IntN(s.seen); at < s.len() {
			copy(s.states[at*s.dim:], state)
		}
	}
}
