package store

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
)

// FuzzHead decodes any bytes as a slot of HEAD, of which the checksums are made right
// where asked, so that what is behind them has to hold as well.
func FuzzHead(f *testing.F) {
	f.Add(mark{major: 2, gen: 9, seq: 3, history: History{1}}.encode(), false)
	f.Add(mark{major: 2, clean: true, gen: 9, seq: 3, history: History{2}}.encode()[:40], true)
	f.Add(mark{major: 2, clean: true, leads: true, gen: 9, seq: 3, history: History{2}, hasChecksums: true, exact: true, checksums: 7}.encode(), false)
	f.Add(mark{major: 1, minor: 3, clean: true, gen: 7}.encode(), true)
	f.Add([]byte(headMagic), true)
	f.Fuzz(func(t *testing.T, b []byte, sum bool) {
		b = slices.Clone(b)
		for _, end := range []int{headOldSize, headSlotSize} {
			if sum && end <= len(b) {
				binary.LittleEndian.PutUint32(b[end-4:], crc32.Checksum(b[:end-4], castagnoli))
			}
		}
		if end := headMoreSize; sum && end <= len(b) {
			binary.LittleEndian.PutUint32(b[end-4:], crc32.ChecksumIEEE(b[:end-4]))
		}
		m, ok := decodeMark(b)
		if !ok || m.major == 0 || m.major > formatMajor {
			return // damaged, or of a version that is refused
		}
		if n, valid := decodeMark(m.encode()); !valid || n != m {
			t.Fatalf("%+v, again %+v, %t", m, n, valid)
		}
	})
}
