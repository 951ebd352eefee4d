//go:build unix

package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFileCutUnderTheMapping cuts a file that is open: who reads it gets an
// error, whether the block was checked before or not.
func TestFileCutUnderTheMapping(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	if err := Write(path, head, func(w *Writer) error { fill(w, true); return nil }); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, _ := f.Section("BIG")
	if err := s.Check(0, 8); err != nil { // block 0 alone
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bytes(s.Len()-8, 8); !errors.Is(err, ErrDamaged) {
		t.Errorf("a block not checked before: %v", err)
	}
	b, err := s.Bytes(0, 8)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := func() (err error) {
			defer Guard(&err)()
			sink = int(b[0])
			return nil
		}()
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("a block checked before: %v", err)
		}
	}
}

// TestEveryCut opens files that end early.
func TestEveryCut(t *testing.T) {
	data := sample(t, false)
	path := filepath.Join(t.TempDir(), "part")
	for n := 0; n < len(data); n += 61 {
		if err := os.WriteFile(path, data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	if len(mappings.list) != 0 {
		t.Errorf("%d mappings left", len(mappings.list))
	}
}
