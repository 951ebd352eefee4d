package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
)

// pin holds the state of one commit and the Badger transaction that reads it. All readers of one
// commit share a pin, so reading never waits for a write in progress, as a new Badger transaction
// would.
type pin struct {
	s    *Store
	st   state
	txn  *badger.Txn
	refs int // guarded by s.mu
	// held counts iterators that stay open, for the keeper or since a panic has ended their
	// opening: the transaction cannot be discarded.
	held atomic.Int32
}

// discard ends the transaction of an unused pin.
func (p *pin) discard() {
	if p.held.Load() == 0 {
		p.txn.Discard()
	}
}

// newPin pins the committed state. The caller must hold the writer's slot (or the only reference to
// the store) and must not be staging.
func (s *Store) newPin(st state) *pin {
	p := &pin{s: s, st: st, txn: s.db.NewTransaction(false), refs: 1}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins[p] = struct{}{}
	return p
}

// setPin makes p the pin of all further reads.
func (s *Store) setPin(p *pin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.last
	if s.last = p; old != nil {
		s.drop(old)
	}
}

// drop releases one reference; the caller must hold s.mu.
func (s *Store) drop(p *pin) {
	if p.refs--; p.refs == 0 {
		delete(s.pins, p)
		p.discard()
	}
}

// View is the immutable state of one commit. Use one View for several reads that must agree. It is
// safe for concurrent use and must be closed: while it is open, the data that it sees takes disk
// space. After the store's Close its methods return ErrClosed.
type View struct {
	s      *Store
	p      *pin
	closed bool // guarded by s.mu
}

// Snapshot returns a view of the last commit. The caller must close it.
func (s *Store) Snapshot() (*View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.last.refs++
	return &View{s: s, p: s.last}, nil
}

// Share returns another view of the same commit. The caller must close it. Error: ErrClosed.
func (v *View) Share() (*View, error) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.s.closed || v.closed {
		return nil, ErrClosed
	}
	v.p.refs++
	return &View{s: v.s, p: v.p}, nil
}

// Close releases the view. Calls in progress can finish; later calls return ErrClosed.
func (v *View) Close() {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.closed || v.s.closed && v.s.active == 0 {
		return
	}
	v.closed = true
	v.s.drop(v.p)
}

// use runs fn while the view is guaranteed to stay.
func (v *View) use(fn func(p *pin) error) error {
	s := v.s
	s.mu.Lock()
	if s.closed || v.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.active++
	v.p.refs++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(v.p)
		if s.active--; s.active == 0 {
			s.idle.Broadcast()
		}
	}()
	return fn(v.p)
}

// read runs fn on a view of the last commit.
func (s *Store) read(fn func(p *pin) error) error {
	v, err := s.Snapshot()
	if err != nil {
		return err
	}
	defer v.Close()
	return v.use(fn)
}

// Seq returns the sequence number of the view's commit.
func (v *View) Seq() uint64 { return v.p.st.seq }

// Len returns the number of documents in the view.
func (v *View) Len() int { return int(v.p.st.live) }

// Truncated returns the number of documents in the view whose tokens were cut off when they were
// encoded.
func (v *View) Truncated() int { return int(v.p.st.truncated) }

// Lookup returns the ordinal of the current version of id; ok is false if there is none. If the record
// of that version is missing, the error is a *CorruptError. Cost: two point reads.
func (s *Store) Lookup(id string) (ord uint64, ok bool, err error) {
	err = s.read(func(p *pin) error { ord, err = p.lookup(id); return err })
	return ord, ord != 0, err
}

// Lookup is Store.Lookup in the view.
func (v *View) Lookup(id string) (ord uint64, ok bool, err error) {
	err = v.use(func(p *pin) error { ord, err = p.lookup(id); return err })
	return ord, ord != 0, err
}

// IDs calls fn with the ids of the view's documents from from to before below, in byte order, and with
// the ordinals of their versions. below = "" means no end. It stops at an error of fn and returns it.
// Errors: that of ctx, *CorruptError. Cost: a read for each id.
func (v *View) IDs(ctx context.Context, from, below string, fn func(id string, ord uint64) error) error {
	return v.use(func(p *pin) error { return p.idsFrom(ctx, from, below, fn) })
}

// Get returns the whole record of a version: the current version of an id, or a replaced one that
// Compact has not yet removed. Errors: that of ctx, ErrNotFound, *CorruptError. Cost: two point reads.
func (s *Store) Get(ctx context.Context, ord uint64) (d *Document, err error) {
	err = s.read(func(p *pin) error { d, err = p.document(ctx, ord); return err })
	return d, err
}

// Get is Store.Get in the view.
func (v *View) Get(ctx context.Context, ord uint64) (d *Document, err error) {
	err = v.use(func(p *pin) error { d, err = p.document(ctx, ord); return err })
	return d, err
}

// Text returns a document like Get, without vectors and tokens. Cost: one point read.
func (s *Store) Text(ctx context.Context, ord uint64) (d *Document, err error) {
	err = s.read(func(p *pin) error { d, err = p.text(ctx, ord); return err })
	return d, err
}

// Text is Store.Text in the view.
func (v *View) Text(ctx context.Context, ord uint64) (d *Document, err error) {
	err = v.use(func(p *pin) error { d, err = p.text(ctx, ord); return err })
	return d, err
}

// Rows returns the rows of a document like Get, without their byte ranges. Cost: one point read.
func (s *Store) Rows(ctx context.Context, ord uint64) (rows []Row, err error) {
	err = s.read(func(p *pin) error { rows, err = p.rows(ctx, ord); return err })
	return rows, err
}

// Rows is Store.Rows in the view.
func (v *View) Rows(ctx context.Context, ord uint64) (rows []Row, err error) {
	err = v.use(func(p *pin) error { rows, err = p.rows(ctx, ord); return err })
	return rows, err
}

// Scan calls fn for each live version with an ordinal of from or more, in order. The rows have no byte
// ranges and are valid only during the call. It stops at an error of fn and returns it. A full scan
// (from 0 or 1) returns *CorruptError if it did not find as many versions as there are documents.
// Cost: one pass over the rows, not the texts.
func (s *Store) Scan(ctx context.Context, from uint64, fn func(ord uint64, rows []Row) error) error {
	return s.read(func(p *pin) error { return p.scan(ctx, from, fn) })
}

// Scan is Store.Scan in the view.
func (v *View) Scan(ctx context.Context, from uint64, fn func(ord uint64, rows []Row) error) error {
	return v.use(func(p *pin) error { return p.scan(ctx, from, fn) })
}

// ScanDocuments is like Scan, over the texts: the rows have no vector and no tokens, which Rows
// returns. fn may keep the document.
func (s *Store) ScanDocuments(ctx context.Context, from uint64, fn func(ord uint64, d *Document) error) error {
	return s.read(func(p *pin) error { return p.scanDocuments(ctx, from, fn) })
}

// ScanDocuments is Store.ScanDocuments in the view.
func (v *View) ScanDocuments(ctx context.Context, from uint64, fn func(ord uint64, d *Document) error) error {
	return v.use(func(p *pin) error { return p.scanDocuments(ctx, from, fn) })
}

// Log calls fn for each change after sequence after, in order. Errors: ErrTrimmed if Compact has
// removed some of them, errAhead if after is beyond the last commit, *CorruptError, and those of fn.
func (s *Store) Log(ctx context.Context, after uint64, fn func(seq uint64, c Change) error) error {
	return s.read(func(p *pin) error { return p.log(ctx, after, fn) })
}

// Log is Store.Log in the view.
func (v *View) Log(ctx context.Context, after uint64, fn func(seq uint64, c Change) error) error {
	return v.use(func(p *pin) error { return p.log(ctx, after, fn) })
}

func (p *pin) lookup(id string) (ord uint64, err error) {
	if err := checkID(id); err != nil {
		return 0, err
	}
	key := idKey(id)
	err = p.s.with(p.txn, key, func(b []byte) error {
		c, err := decodeCurrent(b)
		ord = c.at(p.st.seq)
		return p.s.decoded(key, err)
	})
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil || ord == 0 {
		return 0, err
	}
	there, err := p.s.has(p.txn, partKey(prefixDocument, ord, 0))
	if err == nil && !there {
		err = p.s.missing(partKey(prefixDocument, ord, 0))
	}
	return ord, err
}

func (p *pin) document(ctx context.Context, ord uint64) (*Document, error) {
	d, err := p.text(ctx, ord)
	if err != nil {
		return nil, err
	}
	rows, err := p.rows(ctx, ord)
	if err != nil {
		return nil, err
	}
	if err := d.join(rows); err != nil {
		return nil, p.s.corrupt(fmt.Sprintf("version %d", ord), err)
	}
	return d, nil
}

func (p *pin) text(ctx context.Context, ord uint64) (*Document, error) {
	d := &Document{}
	if err := p.record(ctx, prefixDocument, ord, func(b []byte) error { return decodeDocument(b, d) }); err != nil {
		return nil, err
	}
	return d, nil
}

func (p *pin) rows(ctx context.Context, ord uint64) (rows []Row, err error) {
	err = p.record(ctx, prefixRow, ord, func(b []byte) (err error) {
		rows, err = decodeRows(ctx, b, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// record reads a version's document or rows and distinguishes absence from damage: of a version that
// is not being removed, both records must exist.
func (p *pin) record(ctx context.Context, prefix byte, ord uint64, fn func([]byte) error) error {
	if ord == 0 || ord >= p.st.nextOrd {
		return fmt.Errorf("version %d: %w", ord, ErrNotFound)
	}
	err := p.s.record(ctx, p.txn, prefix, ord, fn)
	if err == nil || !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
		return err
	}
	died, dying, derr := p.death(ord)
	if derr != nil {
		return derr
	}
	if dying && died <= p.st.base {
		return fmt.Errorf("version %d: %w", ord, ErrNotFound)
	}
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	other := byte(prefixDocument + prefixRow - int(prefix))
	half, herr := p.s.has(p.txn, partKey(other, ord, 0))
	if herr != nil {
		return herr
	}
	if dying || half {
		return p.s.missing(partKey(prefix, ord, 0))
	}
	return fmt.Errorf("version %d: %w", ord, ErrNotFound)
}

// death returns the sequence at which a version died, if it has.
func (p *pin) death(ord uint64) (seq uint64, ok bool, err error) {
	key := numberKey(prefixDeath, ord)
	err = p.s.with(p.txn, key, func(b []byte) error { return p.s.decoded(key, decodeNumbers(b, &seq)) })
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	return seq, err == nil && seq <= p.st.seq, err
}
