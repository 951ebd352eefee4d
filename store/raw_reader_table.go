package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"

	"github.com/dgraph-io/badger/v4/fb"
)

// Marks of Badger's on an entry.
const (
	markDeleted = 1 << 0
	markPointer = 1 << 1 // into a value log, which no record of this package is in
	markTxn     = 1 << 6
	markTxnEnd  = 1 << 7
)

// walkTable calls see for the entries of a table. If the index is invalid, it finds the
// blocks by their ends. A good block whose checksum is not in known, if that is not nil,
// belongs to another table and is left out.
func walkTable(ctx context.Context, data []byte, known []uint32, see func(s sighting), note func(format string, args ...any)) error {
	ends, err := indexedBlocks(data)
	if err != nil {
		note("%v", err)
		if ends, err = soughtBlocks(ctx, data); err != nil {
			return err
		}
	}
	from := 0
	for i, end := range ends {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		block := data[from:end]
		sum, err := checkBlock(i, block)
		if err == nil && known != nil && (i >= len(known) || known[i] != sum) && !slices.Contains(known, sum) {
			note("block %d: %v", i, errForeignTable)
			from = end
			continue
		}
		if err != nil {
			note("%v", err)
		}
		walkBlock(block, from, err == nil, see)
		from = end
	}
	return nil
}

// indexedBlocks returns the ends of the blocks according to the index.
func indexedBlocks(data []byte) (ends []int, err error) {
	rest, sum, err := cutChecksum(data)
	if err != nil {
		return nil, errors.New("footer: " + err.Error())
	}
	n, err := lengthBefore(rest, int64(len(rest)))
	if err != nil {
		return nil, errors.New("footer: " + err.Error())
	}
	rest = rest[:len(rest)-4]
	index := rest[len(rest)-int(n):]
	if err := verify(index, sum); err != nil {
		return nil, errors.New("index: " + err.Error())
	}
	defer func() {
		if r := recover(); r != nil { // the decoder trusts its input
			ends, err = nil, firstLine(r)
		}
	}()
	t := fb.GetRootAsTableIndex(index, 0)
	var o fb.BlockOffset
	at := 0
	for i := range t.OffsetsLength() {
		if !t.Offsets(&o, i) || int(o.Offset()) != at || int(o.Len()) > len(rest)-int(n)-at {
			return nil, errors.New("index: blocks do not fit the file")
		}
		at += int(o.Len())
		ends = append(ends, at)
	}
	return ends, nil
}

// soughtBlocks finds the ends of blocks by their content: offsets of entries, their
// number, a checksum and its length. Between two valid ends there may be one or more
// damaged blocks, which count as one.
func soughtBlocks(ctx context.Context, data []byte) (ends []int, err error) {
	const back = 64 // candidates before, where a block may begin
	candidates := []int{0}
	for e := 8; e <= len(data); e++ {
		if e%(1<<16) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if data[e-2] != 0 || data[e-3] != 0 || data[e-4] != 0 || data[e-1] < 2 || data[e-1] > 12 {
			continue
		}
		body := e - 4 - int(data[e-1])
		if body < 12 || data[body] != 0x10 { // the checksum's only field
			continue
		}
		sum, n := binary.Uvarint(data[body+1 : e-4])
		if n != int(data[e-1])-1 || sum > math.MaxUint32 {
			continue
		}
		for i := len(candidates) - 1; i >= max(0, len(candidates)-back); i-- {
			from := candidates[i]
			if _, ok := entryOffsets(data[from:e], body-from); !ok || uint64(crc32.Checksum(data[from:body], castagnoli)) != sum {
				continue
			}
			if from > 0 && (len(ends) == 0 || ends[len(ends)-1] != from) {
				ends = append(ends, from) // of what lies between and is damaged
			}
			ends = append(ends, e)
			break
		}
		candidates = append(candidates, e)
	}
	return ends, nil
}

// entryOffsets returns the starts of the entries of a block whose data and offsets end at
// end; the last offset is the end of the entries. ok is false if they are invalid.
func entryOffsets(block []byte, end int) (offsets []int, ok bool) {
	if end < 8 || end > len(block) {
		return nil, false
	}
	n := int(binary.BigEndian.Uint32(block[end-4:]))
	if n < 1 || n > (end-4)/8 { // four bytes a header at least, and four an offset
		return nil, false
	}
	first := end - 4 - 4*n
	for i := range n {
		at := int(binary.LittleEndian.Uint32(block[first+4*i:]))
		if at >= first || i == 0 && at != 0 || i > 0 && at <= offsets[i-1] {
			return nil, false
		}
		offsets = append(offsets, at)
	}
	return append(offsets, first), true
}

// walkBlock calls see for the entries of a block, which may be arbitrary bytes: an entry
// of a damaged block still has its own checksum.
func walkBlock(block []byte, at int, sound bool, see func(s sighting)) {
	var offsets []int
	ok := false
	if n := len(block); n >= 12 {
		offsets, ok = entryOffsets(block, n-4-int(min(block[n-1], 12)))
		for size := 2; !ok && size <= 12; size++ { // where the length of the checksum is damaged
			offsets, ok = entryOffsets(block, n-4-size)
		}
	}
	if !ok {
		return
	}
	header := func(b []byte) (overlap, diff int, rest []byte) {
		if len(b) < 4 {
			return 0, 0, nil
		}
		return int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:])), b[4:]
	}
	_, n, base := header(block[:offsets[1]])
	if n > len(base) {
		return
	}
	base = base[:n]
	for i, from := range offsets[:len(offsets)-1] {
		overlap, diff, rest := header(block[from:offsets[i+1]])
		if overlap > len(base) || diff > len(rest) || overlap+diff <= 8 || len(rest)-diff < 3 {
			continue
		}
		key := append(bytes.Clone(base[:overlap]), rest[:diff]...)
		rest = rest[diff:]
		_, size := binary.Uvarint(rest[2:])
		if size <= 0 || rest[0]&markPointer != 0 {
			continue
		}
		value := rest[2+size:]
		see(sighting{
			key: key[:len(key)-8], value: value,
			found: found{
				sound: sound, from: int64(at + offsets[i+1] - len(value)), n: len(value),
				ts: math.MaxUint64 - binary.BigEndian.Uint64(key[len(key)-8:]), gone: rest[0]&markDeleted != 0,
			},
		})
	}
}
