package encoder_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"reflect"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// FuzzCache changes the file of a cache, and makes its checksums right where asked:
// the cache opens, and gives the vectors of its encoder.
func FuzzCache(f *testing.F) {
	texts := numbered(0, 3)
	need := encoder.NeedDense
	dir := f.TempDir()
	c, _ := openCache(f, dir, encoder.CacheOptions{})
	want, err := c.Encode(f.Context(), encoder.Query, encoder.Texts(texts...), need)
	if err != nil {
		f.Fatal(err)
	}
	closeCache(f, c)
	path := cacheFile(f, dir)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	header := len(good) - 3*recordBytes
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for at := 0; at < header+20; at += 15 {
		f.Add(uint16(at), uint32(1)<<(at%32), uint16(0), false)
	}
	f.Add(uint16(8), uint32(0xffffffff), uint16(0), false) // the length of the header
	f.Add(uint16(20), uint32(0x20), uint16(5), true)
	f.Fuzz(func(t *testing.T, at uint16, mask uint32, cut uint16, seal bool) {
		b := append([]byte(nil), good[:len(good)-int(cut)%len(good)]...)
		inHeader := int(at) < header
		for i := range 4 {
			if k := int(at) + i; k < len(b) {
				b[k] ^= byte(mask >> (8 * i))
			}
		}
		if end := header - 4; seal && inHeader && header <= len(b) {
			binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[12:end], castagnoli))
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		c, _ := openCache(t, dir, encoder.CacheOptions{})
		sameTwice(t, c, encoder.Query, texts, need, want)
	})
}

// sameTwice holds a cache to an answer, from what is left of its file and from what it then
// wrote, and closes it.
func sameTwice(t *testing.T, c *encoder.Cache, role encoder.Role, texts []string, need encoder.Need, want []encoder.Output) {
	t.Helper()
	for n := range 2 {
		got, err := c.Encode(t.Context(), role, encoder.Texts(texts...), need)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("time %d: %v", n, err)
		}
	}
	closeCache(t, c)
}

// FuzzCacheStates does the same to the file of states. The checksum that is made right is that of the
// fingerprint, or of the head of a record.
func FuzzCacheStates(f *testing.F) {
	texts := numbered(0, 3)
	dir := f.TempDir()
	c, _ := openStates(f, dir, encoder.CacheOptions{})
	want := checkStates(f, c, texts, both)
	closeCache(f, c)
	path := statesFile(dir)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	const head = 16 + 4 // of a record, before its checksum
	record := head + 4 + len(want[0].Tokens.IDs)*(4+cacheDim) + 4
	header := len(good) - 3*record
	for at := 0; at < header+40; at += 15 {
		f.Add(uint16(at), uint32(1)<<(at%32), uint16(0), uint8(0))
	}
	f.Add(uint16(8), uint32(0xffffffff), uint16(0), uint8(0)) // the length of the header
	f.Add(uint16(20), uint32(0x20), uint16(5), uint8(1))
	f.Add(uint16(header+16), uint32(0xffffffff), uint16(0), uint8(1)) // the number of rows
	f.Add(uint16(header+16), uint32(0x7), uint16(0), uint8(1))
	f.Add(uint16(header+record+3), uint32(0x7), uint16(0), uint8(1)) // the key
	f.Fuzz(func(t *testing.T, at uint16, mask uint32, cut uint16, seal uint8) {
		b := append([]byte(nil), good[:len(good)-int(cut)%len(good)]...)
		place := int(at) % len(good)
		for i := range 4 {
			if k := place + i; k < len(b) {
				b[k] ^= byte(mask >> (8 * i))
			}
		}
		put := func(from, to int) {
			if to+4 <= len(b) {
				binary.LittleEndian.PutUint32(b[to:], crc32.Checksum(b[from:to], crc32.MakeTable(crc32.Castagnoli)))
			}
		}
		start := header + (place-header)/record*record
		switch {
		case seal%2 == 0:
		case place < header:
			put(12, header-4)
		case (place - start) < head: // states with a right checksum are right
			put(start, start+head)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		c, _ := openStates(t, dir, encoder.CacheOptions{})
		sameTwice(t, c, encoder.Passage, texts, both, want)
	})
}
