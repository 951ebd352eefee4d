// Package snapshottest makes snapshots for tests that have wrong payloads and right checksums. Start with
// [Rewritten] and [Spoil]. [Earlier] makes a snapshot of an earlier format.
package snapshottest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// Rewritten returns a snapshot with the same header and the sections tags, which data must have.
// change returns the new payload of each section. It may modify the payload that it gets.
func Rewritten(t testing.TB, data []byte, tags []string, change func(section int, payload []byte) []byte) []byte {
	t.Helper()
	return extended(t, data, tags, change, func(*snapshot.Writer) {})
}

// Extended returns a snapshot with the same header, the unchanged sections tags, and those that add writes.
func Extended(t testing.TB, data []byte, tags []string, add func(w *snapshot.Writer)) []byte {
	t.Helper()
	return extended(t, data, tags, func(_ int, payload []byte) []byte { return payload }, add)
}

func extended(t testing.TB, data []byte, tags []string, change func(section int, payload []byte) []byte, add func(w *snapshot.Writer)) []byte {
	t.Helper()
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := snapshot.NewWriter(&out, f.Header())
	for i, tag := range tags {
		s, err := f.Section(tag)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := s.All()
		if err != nil {
			t.Fatal(err)
		}
		w.Begin(tag)
		if _, err := w.Write(change(i, bytes.Clone(payload))); err != nil {
			t.Fatal(err)
		}
	}
	add(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Spoil writes value at byte at of a payload. With cut the payload ends after that value. A payload
// that is too short is unchanged.
func Spoil(payload []byte, at int, value uint32, cut bool) []byte {
	if at+4 > len(payload) {
		return payload
	}
	binary.LittleEndian.PutUint32(payload[at:], value)
	if cut {
		return payload[:at+4]
	}
	return payload
}

const headerSize, trailerSize = 4096, 24

// DataEnd is the offset at which the data of a snapshot ends, counted from the start of the header.
func DataEnd(snapshot []byte) int {
	return headerSize + int(binary.LittleEndian.Uint64(snapshot[len(snapshot)-trailerSize:]))
}

// EarlierBlocks is the number of bytes under one checksum in files of earlier formats, by the digit of
// the format.
var EarlierBlocks = map[byte]int{'2': 64 << 10, '3': 8 << 10}

// Earlier returns data as a snapshot of an earlier format, which must be one of EarlierBlocks.
func Earlier(t testing.TB, data []byte, digit byte) []byte {
	t.Helper()
	if _, err := snapshot.Parse(data); err != nil {
		t.Fatal(err)
	}
	sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
	trailer, end := data[len(data)-trailerSize:], DataEnd(data)
	sections := int(binary.LittleEndian.Uint32(trailer[8:]))
	out := bytes.Clone(data[:end])
	copy(out, "LEXSNAP"+string(digit))
	binary.LittleEndian.PutUint32(out[headerSize-4:], sum(out[:headerSize-4]))
	tables := bytes.Clone(data[end:][:24*sections])
	for b := range slices.Chunk(out[headerSize:], EarlierBlocks[digit]) {
		tables = binary.LittleEndian.AppendUint32(tables, sum(b))
	}
	tables = append(append(tables, trailer[:12]...), "SNAPEND"+string(digit)...)
	return append(out, binary.LittleEndian.AppendUint32(tables, sum(tables))...)
}
