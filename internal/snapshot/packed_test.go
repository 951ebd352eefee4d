package snapshot

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestPacked: a packed file holds what was written, in less space, and any changed byte of it is damage.
func TestPacked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words.snap")
	h := Header{Kind: "words", Version: 3, Seq: 7, Database: [16]byte{1}, History: [16]byte{2}}
	text := bytes.Repeat([]byte("a word and "), 5000)
	if err := WritePacked(path, h, func(w *Writer) error {
		w.Begin("text")
		_, err := w.Write(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Section("text")
	if err != nil {
		t.Fatal(err)
	}
	s.Forget(0, s.Len()) // its memory is the process's own, and stays
	if got, err := s.All(); err != nil || !bytes.Equal(got, text) || f.Header() != h {
		t.Fatalf("read %d bytes of %+v, %v", len(got), f.Header(), err)
	}
	if id, err := DatabaseOf(path); err != nil || id != h.Database {
		t.Errorf("database %x, %v", id, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(file) > page+len(text)/10 {
		t.Errorf("%d bytes of %d packed", len(file), len(text))
	}
	for i := range file {
		if i > 80 && i < page-4 { // zeros of the header, under its checksum
			continue
		}
		broken := bytes.Clone(file)
		broken[i] ^= 1
		if _, err := Parse(broken); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Fatalf("byte %d: %v", i, err)
		}
		if _, err := Parse(file[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}
