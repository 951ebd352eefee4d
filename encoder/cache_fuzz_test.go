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
		for range 2 {
			got, err := c.Encode(t.Context(), encoder.Query, encoder.Texts(texts...), need)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
		closeCache(t, c)
	})
}
