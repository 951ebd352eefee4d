package store

import (
	"context"

	"github.com/dgraph-io/badger/v4"
)

// op is one change of a key; a nil payload deletes it.
type op struct{ key, payload []byte }

// stager writes in as many synced transactions as Badger's size limit requires.
type stager struct {
	s           *Store
	txn         *badger.Txn
	size, count int64
	commits     int  // transactions committed
	frees       bool // nothing but what makes room
}

func (s *Store) newStager() *stager { return &stager{s: s, txn: s.db.NewTransaction(true)} }

const (
	// entryOverhead is more than Badger adds to the key and value of an entry.
	entryOverhead = 32
	// txnOverhead is more than the entries and bytes that Badger adds to each
	// transaction.
	txnOverhead = 64
)

// apply adds ops, all in one transaction. Payloads get their checksum here and must not
// be used afterwards.
func (w *stager) apply(ops ...op) error {
	var size int64
	for _, o := range ops {
		size += int64(len(o.key)+len(o.payload)) + entryOverhead
	}
	full := w.size+size+txnOverhead >= w.s.db.MaxBatchSize() ||
		w.count+int64(len(ops))+txnOverhead >= w.s.db.MaxBatchCount()
	if full && w.count > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if err := w.s.beforeWriting(size); err != nil {
		return err
	}
	w.size += size
	w.count += int64(len(ops))
	for _, o := range ops {
		var err error
		if o.payload == nil {
			err = w.txn.Delete(o.key)
		} else {
			err = w.s.set(w.txn, o.key, o.payload)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rows adds the parts of the record of a version's rows.
func (w *stager) rows(ctx context.Context, ord uint64, record []byte) error {
	return w.record(ctx, prefixRow, ord, record, rowStarts(record)...)
}

// record adds the parts of one record; a part begins at each of starts.
func (w *stager) record(ctx context.Context, prefix byte, ord uint64, record []byte, starts ...int) error {
	ps, err := parts(record, starts...)
	if err != nil {
		return err
	}
	for i, p := range ps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.apply(op{partKey(prefix, ord, i), p}); err != nil {
			return err
		}
	}
	return nil
}

// remove adds the removal of the parts of a version's two records.
func (w *stager) remove(ord uint64) error {
	for _, prefix := range []byte{prefixDocument, prefixRow} {
		keys, err := w.s.keys(numberKey(prefix, ord), numberKey(prefix, ord+1), maxParts)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := w.apply(op{key: k}); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSpace requires the space for another transaction.
func (w *stager) checkSpace() error {
	if w.frees {
		return w.s.checkSpaceToFree()
	}
	return w.s.checkSpace()
}

// flush commits the applied changes and begins the next transaction. After an error of
// Badger the store refuses writes: the changes may be on disk, and nothing would remove
// them.
func (w *stager) flush() error {
	if err := w.checkSpace(); err != nil {
		return err
	}
	hit("flush")
	if err := w.txn.Commit(); err != nil {
		w.s.fail(err)
		return err
	}
	w.s.growReserve()
	w.commits++
	w.size, w.count = 0, 0
	w.txn = w.s.db.NewTransaction(true)
	return nil
}
