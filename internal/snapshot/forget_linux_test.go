package snapshot

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/internal/smaps"
)

// What is forgotten takes no memory of the process, and is the same when it is read again;
// memory that is no file's stays as it is.
func TestForget(t *testing.T) {
	const n = 4 << 20
	payload := bytes.Repeat([]byte("0123456789abcdef"), n/16)
	path := filepath.Join(t.TempDir(), "x.snap")
	_, s := mapped(t, path, payload)
	for round := range 2 {
		if b, err := s.All(); err != nil || !bytes.Equal(b, payload) {
			t.Fatalf("other bytes: %v", err)
		}
		if got := residentOf(t, path); got < n {
			t.Fatalf("%d bytes are resident once all %d were read", got, n)
		}
		s.Forget(round, n-round)
		if got := residentOf(t, path); got > 64<<10 {
			t.Errorf("%d bytes are resident", got)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = p.Section("DATA"); err != nil {
		t.Fatal(err)
	}
	s.Forget(0, n)
	if b, err := s.All(); err != nil || !bytes.Equal(b, payload) {
		t.Errorf("memory was given up: %v", err)
	}
}

// mapped writes a snapshot of one section, and maps it.
func mapped(t *testing.T, path string, payload []byte) (*File, *Section) {
	t.Helper()
	f, err := WriteOpen(path, Header{Kind: "x"}, func(w *Writer) error {
		w.Begin("DATA")
		_, err := w.Write(payload)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s, err := f.Section("DATA")
	if err != nil {
		t.Fatal(err)
	}
	return f, s
}

// residentOf is how many bytes of a file that is mapped are in this process's memory.
func residentOf(t *testing.T, path string) int {
	t.Helper()
	in, err := smaps.Resident(func(mapped string) bool { return mapped == path })
	if err != nil {
		t.Fatal(err)
	}
	return int(in)
}

// Nothing can be written to what may be forgotten.
func TestMappedIsForReading(t *testing.T) {
	_, s := mapped(t, filepath.Join(t.TempDir(), "x.snap"), []byte("four"))
	err := func() (err error) {
		defer Guard(&err)()
		s.Raw()[0] = 'F'
		return nil
	}()
	if !errors.Is(err, ErrDamaged) || string(s.Raw()) != "four" {
		t.Errorf("%q was written, %v", s.Raw(), err)
	}
}
