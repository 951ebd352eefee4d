package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
)

// walkLog calls see for the entries of a memtable's log. After an invalid entry it continues with the
// next valid one. A transaction at the end of the log without its last entry does not count.
func walkLog(ctx context.Context, data []byte, see func(s sighting), note func(format string, args ...any)) error {
	var pending []sighting
	release := func() {
		for _, s := range pending {
			see(s)
		}
		pending = pending[:0]
	}
	torn := -1 // where what cannot be read begins
	for at, steps := logHead, 0; at < len(data); steps++ {
		if steps%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s, meta, n, ok := logEntry(data, at)
		if !ok {
			if torn < 0 {
				torn = at
			}
			// An entry has two zeros before its length at most.
			zeros := at
			for zeros < len(data) && data[zeros] == 0 {
				zeros++
			}
			if at = max(at+1, zeros-2); zeros == len(data) {
				at = zeros
			}
			continue
		}
		if torn >= 0 {
			note("bytes %d to %d do not check", torn, at)
			torn = -1
			release()
		}
		switch at += n; {
		case meta&markTxnEnd != 0:
			release()
		case bytes.HasPrefix(s.key, []byte("!badger!")):
		default:
			pending = append(pending, s)
			if meta&markTxn == 0 {
				release()
			}
		}
	}
	return nil
}

// longestEntry is the maximum size of an entry in a log: two marks, three numbers, key, value,
// checksum.
const longestEntry = 2 + 3*binary.MaxVarintLen64 + math.MaxUint16 + valueThreshold + 4

// logEntry reads the entry at a byte of a log, and its length.
func logEntry(data []byte, at int) (s sighting, meta byte, n int, ok bool) {
	b := data[at:]
	if len(b) < 5 {
		return s, 0, 0, false
	}
	meta = b[0]
	head := 2
	var sizes [3]uint64 // of key and value, and when it expires
	for i := range sizes {
		v, k := binary.Uvarint(b[head:])
		if k <= 0 {
			return s, 0, 0, false
		}
		sizes[i], head = v, head+k
	}
	// Entries of this package have no user mark and no time to live.
	if b[1] != 0 || sizes[2] != 0 || sizes[0] <= 8 || sizes[0] > math.MaxUint16 || sizes[1] > valueThreshold || sizes[0]+sizes[1]+uint64(head)+4 > uint64(len(b)) {
		return s, 0, 0, false
	}
	if first := b[head]; first != '!' && first != 0 && first != 0xfe && first != keyManifest[0] && !slices.Contains(kinds, first) {
		return s, 0, 0, false // before the checksum of what may be long
	}
	end := head + int(sizes[0]+sizes[1])
	if crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) {
		return s, 0, 0, false
	}
	key := b[head : head+int(sizes[0])]
	value := b[head+len(key) : end]
	s = sighting{
		key: key[:len(key)-8], value: value,
		found: found{
			sound: true, from: int64(at + head + len(key)), n: len(value),
			ts: math.MaxUint64 - binary.BigEndian.Uint64(key[len(key)-8:]), gone: meta&markDeleted != 0,
		},
	}
	return s, meta, end + 4, meta&markPointer == 0
}
