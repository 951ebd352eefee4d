package snapshot_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
)

// sample is a file that a program of an earlier format wrote, all of the same sections.
func sample(t *testing.T, digit byte) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "format"+string(digit)+".snap.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const (
	headerSize = 4096
	numbers    = 2*64<<10/8 + 5 // in its last section, each a 64th of its place
)

func section(t *testing.T, data []byte, tag string) *snapshot.Section {
	t.Helper()
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Section(tag)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEarlierFormats: a file of an earlier format says what it said, and what is damaged there is met
// by who reads its block.
func TestEarlierFormats(t *testing.T) {
	for digit, block := range snapshottest.EarlierBlocks {
		t.Run(string(digit), func(t *testing.T) { testEarlierFormat(t, sample(t, digit), block) })
	}
}

func testEarlierFormat(t *testing.T, data []byte, block int) {
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if want := (snapshot.Header{Kind: "sample", Version: 3, Seq: 1 << 40, Database: [16]byte{1, 15: 2}, History: [16]byte{3, 15: 4}}); f.Header() != want {
		t.Errorf("header %+v", f.Header())
	}
	if err := f.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	r := section(t, data, "NUMBERS").Reader()
	if !bytes.Equal(r.Raw(1), []byte{7}) || r.U32() != 1<<30 || r.U64() != 1<<50 || r.Uvarint() != 300 || r.Text() != "wörter" || r.Done() != nil {
		t.Error("numbers differ", r.Err())
	}
	r = section(t, data, "LONG").Reader()
	for i, x := range r.Uint64s(numbers) {
		if x != uint64(i/64) {
			t.Fatalf("number %d is %d", i, x)
		}
	}
	if err := r.Done(); err != nil {
		t.Error(err)
	}

	for at := headerSize; at < len(data); at += 997 { // blocks, tables and trailer
		data[at] ^= 4
		f, err := snapshot.Parse(data)
		if err == nil {
			err = f.Verify(t.Context())
		}
		if data[at] ^= 4; !errors.Is(err, snapshot.ErrDamaged) {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
	data[headerSize+block] ^= 4
	s := section(t, data, "LONG")
	for i, bad := range map[int]bool{0: false, block - 1000: false, block: true, 2*block - 1000: true, 2 * block: false} {
		if _, err := s.Bytes(i, 8); errors.Is(err, snapshot.ErrDamaged) != bad {
			t.Errorf("byte %d of the section: %v", i, err)
		}
	}
}

// TestEarlier: what tests take for files of earlier formats are such.
func TestEarlier(t *testing.T) {
	for digit := range snapshottest.EarlierBlocks {
		old := sample(t, digit)
		now := snapshottest.Rewritten(t, old, []string{"NUMBERS", "EMPTY", "ARRAYS", "LONG"}, func(_ int, payload []byte) []byte { return payload })
		if string(now[:8]) != "LEXSNAP4" {
			t.Errorf("files of %q are written", now[:8])
		}
		if !bytes.Equal(snapshottest.Earlier(t, now, digit), old) {
			t.Errorf("format %c: it differs from the file of an earlier program", digit)
		}
	}
}

// TestFormats: a format that is not known is told from damage, and the two ends of a file are of one format.
func TestFormats(t *testing.T) {
	now := snapshottest.Rewritten(t, sample(t, '2'), []string{"NUMBERS"}, func(_ int, payload []byte) []byte { return payload })
	sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
	for format, want := range map[string]error{"LEXSNAP1": snapshot.ErrForeign, "LEXSNAP6": snapshot.ErrForeign, "LEXSNAP5": snapshot.ErrDamaged, "LEXSNAP2": snapshot.ErrDamaged, "LEXSNAP3": snapshot.ErrDamaged, "LEXSNAP4": nil} {
		b := slices.Clone(now)
		copy(b, format)
		binary.LittleEndian.PutUint32(b[headerSize-4:], sum(b[:headerSize-4]))
		if _, err := snapshot.Parse(b); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", format, err, want)
		}
	}
}
