package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// set puts a value with its checksum into a transaction; the payload must not be used
// afterwards.
func (s *Store) set(txn *badger.Txn, key, payload []byte) error {
	return txn.Set(key, addChecksum(s.seedOf(key), key, payload))
}

// seedOf is the initial value of the checksum for the value under a key. That of the manifest
// does not depend on the UUID, since the manifest contains the UUID.
func (s *Store) seedOf(key []byte) uint32 {
	if len(key) > 0 && key[0] == keyManifest[0] {
		return 0
	}
	return s.seed
}

// payloadOf returns the payload of a value. In a database converted from format 1, values of
// that time are also valid.
func (s *Store) payloadOf(key, value []byte) ([]byte, error) {
	p, err := payloadOf(s.seedOf(key), key, value)
	if err != nil && s.broughtOver {
		return payloadOf(0, key, value)
	}
	return p, err
}

// get returns a copy of the payload under key. Errors: ErrNotFound,
// *CorruptError.
func (s *Store) get(txn *badger.Txn, key []byte) (p []byte, err error) {
	err = s.with(txn, key, func(payload []byte) error {
		p = append(make([]byte, 0, len(payload)), payload...)
		return nil
	})
	return p, err
}

// with calls fn with the payload under key, which is valid during the call.
func (s *Store) with(txn *badger.Txn, key []byte, fn func(payload []byte) error) error {
	item, err := s.item(txn, key)
	if err != nil {
		return err
	}
	return s.value(item, key, fn)
}

// item finds the item under key. Errors: ErrNotFound, *CorruptError, ErrFailed.
func (s *Store) item(txn *badger.Txn, key []byte) (item *badger.Item, err error) {
	if err := s.tables.checkKey(s.stopped, key); err != nil {
		return nil, err
	}
	defer s.memtable(&err)
	item, err = txn.Get(key)
	if lost := s.keep.settled(); lost != nil {
		return nil, lost
	}
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, s.corrupt("record "+keyName(key), err)
	}
	return item, nil
}

// has reports whether a record exists under key.
func (s *Store) has(txn *badger.Txn, key []byte) (bool, error) {
	_, err := s.item(txn, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// missing is the error that there is no record under a key.
func (s *Store) missing(key []byte) error {
	return s.corrupt("record "+keyName(key)+" is missing", nil)
}

// value calls fn with the payload of an item.
func (s *Store) value(item *badger.Item, key []byte, fn func(payload []byte) error) error {
	var inner error
	err := item.Value(func(v []byte) error {
		p, err := s.payloadOf(key, v)
		if err == nil {
			inner = fn(p)
		}
		return err
	})
	if err != nil {
		return s.corrupt("record "+keyName(key), err)
	}
	return inner
}

// keyName describes a key for messages.
func keyName(key []byte) string {
	if key[0] == prefixID {
		return fmt.Sprintf("of id %q", key[1:])
	}
	if n, part, ok := keyNumber(key); ok {
		return fmt.Sprintf("%c/%d/%d", key[0], n, part)
	}
	return fmt.Sprintf("%q", key)
}

func isEmpty(txn *badger.Txn) (bool, error) {
	it := txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	it.Rewind()
	return !it.Valid(), nil
}

// parts cuts a record into the payloads of its parts: each begins with the number of parts (4
// bytes) and has room for the checksum after it. A part begins at each of starts, which
// ascend.
func parts(record []byte, starts ...int) ([][]byte, error) {
	var chunks [][]byte
	from := 0
	for _, end := range append(starts, len(record)) {
		for ; end-from > partBytes; from += partBytes {
			chunks = append(chunks, record[from:from+partBytes])
		}
		if from < end {
			chunks = append(chunks, record[from:end])
		}
		from = end
	}
	if len(chunks) > maxParts && len(starts) > 0 {
		return parts(record)
	}
	if len(chunks) > maxParts {
		return nil, ErrTooLarge
	}
	if len(chunks) == 0 {
		chunks = [][]byte{nil}
	}
	for i, chunk := range chunks {
		p := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(chunk)+4), uint32(len(chunks)))
		chunks[i] = append(p, chunk...)
	}
	return chunks, nil
}

// partCount returns the number of parts given in a part's payload, and the rest of the
// payload.
func partCount(p []byte) (int, []byte, error) {
	if len(p) < 4 {
		return 0, nil, fmt.Errorf("%w: ends early", errRecord)
	}
	n := binary.LittleEndian.Uint32(p)
	if n == 0 || n > maxParts {
		return 0, nil, fmt.Errorf("%w: %d parts", errRecord, n)
	}
	return int(n), p[4:], nil
}

// record calls fn with a whole record, joined from its parts if it has
// several. Errors: that of ctx, ErrNotFound if the first part is absent, *CorruptError.
func (s *Store) record(ctx context.Context, txn *badger.Txn, prefix byte, ord uint64, fn func(record []byte) error) error {
	var whole []byte
	n := 0
	key := partKey(prefix, ord, 0)
	err := s.with(txn, key, func(p []byte) error {
		var chunk []byte
		var err error
		if n, chunk, err = partCount(p); err != nil {
			return s.corrupt("record "+keyName(key), err)
		}
		if n == 1 {
			return s.decoded(key, fn(chunk))
		}
		whole = append(make([]byte, 0, min(n*max(len(chunk), partBytes/8), 16<<20)), chunk...)
		return nil
	})
	if err != nil || n == 1 {
		return err
	}
	for i := 1; i < n; i++ {
		if err := cmp.Or(s.stopped(), ctx.Err()); err != nil {
			return err
		}
		k := partKey(prefix, ord, i)
		err := s.with(txn, k, func(p []byte) error {
			m, chunk, err := partCount(p)
			if err == nil && m != n {
				err = fmt.Errorf("%w: %d parts here, %d in the first", errRecord, m, n)
			}
			if err != nil {
				return s.corrupt("record "+keyName(k), err)
			}
			whole = append(whole, chunk...)
			return nil
		})
		if errors.Is(err, ErrNotFound) {
			return s.corrupt(fmt.Sprintf("record %s: part %d of %d is missing", keyName(key), i, n), nil)
		}
		if err != nil {
			return err
		}
	}
	return s.decoded(key, fn(whole))
}

// decoded adds the name of the record to errors of its decoder.
func (s *Store) decoded(key []byte, err error) error {
	if errors.Is(err, errRecord) && !errors.Is(err, ErrCorrupt) {
		return s.corrupt("record "+keyName(key), err)
	}
	return err
}
