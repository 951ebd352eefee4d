package store

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/lexsem/lexsem/internal/limit"
)

// checkEvery is the number of records that a long call reads between two looks at its
// context.
const checkEvery = 256

func (p *pin) scan(ctx context.Context, from uint64, fn func(uint64, []Row) error) error {
	var rows []Row
	return p.each(ctx, prefixRow, from, func(ord uint64, record []byte) error {
		var err error
		if rows, err = decodeRows(ctx, record, rows); err != nil {
			return p.s.decoded(partKey(prefixRow, ord, 0), err)
		}
		return fn(ord, rows)
	})
}

func (p *pin) scanDocuments(ctx context.Context, from uint64, fn func(uint64, *Document) error) error {
	return p.each(ctx, prefixDocument, from, func(ord uint64, record []byte) error {
		d := &Document{}
		if err := decodeDocument(record, d); err != nil {
			return p.s.decoded(partKey(prefixDocument, ord, 0), err)
		}
		return fn(ord, d)
	})
}

// each calls fn with the record of every live version with ordinal from or above. If
// Badger cannot read on, it ends an iteration early without an error; therefore a full
// pass counts the records.
func (p *pin) each(ctx context.Context, prefix byte, from uint64, fn func(ord uint64, record []byte) error) error {
	from = max(from, 1)
	it, err := p.iterate(ctx, numberKey(prefix, from), numberKey(prefix, p.st.nextOrd))
	if err != nil {
		return err
	}
	defer it.Close()
	deaths, err := p.deaths(ctx, from)
	if err != nil {
		return err
	}
	defer deaths.it.Close()
	var n uint64
	var whole []byte
	for steps := 0; it.Valid(); steps++ {
		if steps%checkEvery == 0 {
			if err := p.interrupted(ctx); err != nil {
				return err
			}
		}
		key := it.Item().KeyCopy(nil)
		ord, part, ok := keyNumber(key)
		if !ok {
			return p.s.corrupt("key "+keyName(key)+" is malformed", nil)
		}
		if ord >= p.st.nextOrd { // of a batch that was not committed
			break
		}
		dead, err := deaths.dead(ord)
		if err != nil {
			return err
		}
		if dead {
			it.Next()
			continue
		}
		if part != 0 {
			return p.s.corrupt("record "+keyName(key)+" has no first part", nil)
		}
		if whole, err = p.join(it, prefix, ord, whole[:0], func(single []byte) error { return fn(ord, single) }); err != nil {
			return err
		}
		if len(whole) > 0 {
			if err := fn(ord, whole); err != nil {
				return err
			}
		}
		n++
	}
	if from == 1 && n != p.st.live {
		return p.s.corrupt(fmt.Sprintf("%d of %d records could be read", n, p.st.live), nil)
	}
	return nil
}

// idsFrom is View.IDs.
func (p *pin) idsFrom(ctx context.Context, from, below string, fn func(id string, ord uint64) error) error {
	if below != from+"\x00" {
		return p.ids(ctx, from, below, func(id string, c current) error {
			if ord := c.at(p.st.seq); ord != 0 {
				return fn(id, ord)
			}
			return nil
		})
	}
	if err := p.interrupted(ctx); err != nil || from == "" || len(from) > limit.IDBytes {
		return err
	}
	ord, err := p.lookup(from) // one id alone
	if err != nil || ord == 0 {
		return err
	}
	return fn(from, ord)
}

// ids calls fn with the records of ids from from to before below; below = "" means no end.
func (p *pin) ids(ctx context.Context, from, below string, fn func(id string, c current) error) error {
	end := []byte{prefixID + 1}
	if below != "" {
		end = idKey(below)
	}
	it, err := p.iterate(ctx, idKey(from), end)
	if err != nil {
		return err
	}
	defer it.Close()
	for steps := 0; it.Valid(); it.Next() {
		if steps++; steps%checkEvery == 0 {
			if err := p.interrupted(ctx); err != nil {
				return err
			}
		}
		key := it.Item().KeyCopy(nil)
		id := string(key[1:])
		if below != "" && id >= below {
			return nil
		}
		err := p.s.value(it.Item(), key, func(b []byte) error {
			c, err := decodeCurrent(b)
			if err != nil {
				return p.s.decoded(key, err)
			}
			return fn(id, c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// versions calls fn with the versions from ordinal from to before below, ascending, and
// whether they are dead. It reads only the keys of their first parts.
func (p *pin) versions(ctx context.Context, prefix byte, from, below uint64, fn func(ord uint64, dead bool) error) error {
	it, err := p.iterate(ctx, numberKey(prefix, from), numberKey(prefix, below))
	if err != nil {
		return err
	}
	defer it.Close()
	deaths, err := p.deaths(ctx, from)
	if err != nil {
		return err
	}
	defer deaths.it.Close()
	return p.eachOrdinal(ctx, it, below, func(ord uint64) error {
		dead, err := deaths.dead(ord)
		if err != nil {
			return err
		}
		return fn(ord, dead)
	})
}

// eachOrdinal calls fn with the ordinals below below whose first parts an iterator meets.
func (p *pin) eachOrdinal(ctx context.Context, it *badger.Iterator, below uint64, fn func(ord uint64) error) error {
	for steps := 0; it.Valid(); it.Next() {
		if steps++; steps%checkEvery == 0 {
			if err := p.interrupted(ctx); err != nil {
				return err
			}
		}
		ord, part, ok := keyNumber(it.Item().Key())
		if !ok {
			return p.s.corrupt("key "+keyName(it.Item().Key())+" is malformed", nil)
		}
		if ord >= below {
			break
		}
		if part != 0 {
			continue
		}
		if err := fn(ord); err != nil {
			return err
		}
	}
	return nil
}

// join reads the parts of the record at the iterator's position and moves past them. A
// record of one part is passed to single directly; one of several parts is appended to
// dst.
func (p *pin) join(it *badger.Iterator, prefix byte, ord uint64, dst []byte, single func([]byte) error) ([]byte, error) {
	n := 1
	for i := 0; i < n; i++ {
		key := partKey(prefix, ord, i)
		if !it.Valid() || string(it.Item().Key()) != string(key) {
			return dst, p.s.corrupt(fmt.Sprintf("record %s is missing, the first of its %d parts is there", keyName(key), n), nil)
		}
		err := p.s.value(it.Item(), key, func(payload []byte) error {
			m, chunk, err := partCount(payload)
			if err == nil && i > 0 && m != n {
				err = fmt.Errorf("%w: %d parts here, %d in the first", errRecord, m, n)
			}
			if err != nil {
				return p.s.decoded(key, err)
			}
			if n = m; n == 1 {
				return single(chunk)
			}
			dst = append(dst, chunk...)
			return nil
		})
		if err != nil {
			return dst, err
		}
		it.Next()
	}
	return dst, nil
}

// iterate returns an iterator over the keys of one kind, from from upwards. The tables are
// checked up to and including the key to; the caller must not go further.
func (p *pin) iterate(ctx context.Context, from, to []byte) (it *badger.Iterator, err error) {
	if err := p.s.tables.check(func() error { return p.interrupted(ctx) }, from, to); err != nil {
		return nil, err
	}
	defer p.s.memtable(&err)
	if it, err = p.iterator(badger.IteratorOptions{Prefix: from[:1]}); err != nil {
		return nil, err
	}
	if err := p.s.keep.settled(); err != nil {
		it.Close()
		return nil, err
	}
	it.Seek(from)
	return it, nil
}

// iterator opens an iterator. Errors: ErrFailed if there is no memtable.
func (p *pin) iterator(o badger.IteratorOptions) (it *badger.Iterator, err error) {
	defer p.s.memtable(&err)
	defer func() {
		if it == nil {
			p.held.Add(1)
		}
	}()
	return p.txn.NewIterator(o), nil
}

// whole returns an iterator over all keys of one kind.
func (p *pin) whole(ctx context.Context, prefix byte) (*badger.Iterator, error) {
	return p.iterate(ctx, []byte{prefix}, []byte{prefix + 1})
}

// interrupted returns an error if a long call must end.
func (p *pin) interrupted(ctx context.Context) error {
	if err := p.s.stopped(); err != nil {
		return err
	}
	return ctx.Err()
}

// deathList walks over the dead versions in step with a walk over versions.
type deathList struct {
	p        *pin
	it       *badger.Iterator
	ord, seq uint64 // where it stands; ord 0 before the first
}

func (p *pin) deaths(ctx context.Context, from uint64) (*deathList, error) {
	it, err := p.iterate(ctx, numberKey(prefixDeath, from), []byte{prefixDeath + 1})
	return &deathList{p: p, it: it}, err
}

// dead reports whether a version is dead in the pin's state. The ordinals asked for must
// not decrease.
func (l *deathList) dead(ord uint64) (bool, error) {
	for l.ord < ord && l.it.Valid() {
		key := l.it.Item().KeyCopy(nil)
		if len(key) != 9 {
			return false, l.p.s.corrupt("key "+keyName(key)+" is malformed", nil)
		}
		l.ord = binary.BigEndian.Uint64(key[1:])
		err := l.p.s.value(l.it.Item(), key, func(b []byte) error {
			return l.p.s.decoded(key, decodeNumbers(b, &l.seq))
		})
		if err != nil {
			return false, err
		}
		l.it.Next()
	}
	return l.ord == ord && l.seq <= l.p.st.seq, nil
}
