package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestLessMemory: a database whose process was killed opens with less memory than that process had, and has all
// that was stored.
func TestLessMemory(t *testing.T) {
	for _, length := range []int{1, 10_000} {
		dir := filepath.Join(t.TempDir(), "db")
		s, err := Open(dir, Options{MemoryMiB: 256, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetManifest(t.Context(), func(m *Manifest) error { m.Dim, m.Metric = 1, "cosine"; return nil }); err != nil {
			t.Fatal(err)
		}
		b, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count := min(20_000, 13<<20/length) // near a full memtable of 256 MiB, and beyond one of 64
		text := make([]byte, length)
		for i := range count {
			for j := range text {
				text[j] = byte('a' + rand.IntN(26))
			}
			if _, err := b.Put(t.Context(), &Document{ID: fmt.Sprint(i), Text: string(text), Rows: []Row{{End: 1, Vector: []float32{1}}}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, o := range []Options{{MemoryMiB: 64}, {MemoryMiB: 128}, {MemoryMiB: 64}} {
			killed := filepath.Join(t.TempDir(), fmt.Sprint(i)) // as a kill now leaves it
			if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if i == 2 { // and a second kill behind Badger's cut of the log at its last entry
				cutLogs(t, filepath.Join(killed, recordsName))
			}
			again, err := Open(killed, o)
			if err != nil {
				t.Fatalf("texts of %d bytes, opening %d with %d MiB: %v", length, i, o.MemoryMiB, err)
			}
			if n := again.Len(); n != count {
				t.Errorf("texts of %d bytes, opening %d with %d MiB: %d documents, stored were %d", length, i, o.MemoryMiB, n, count)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// cutLogs cuts the zeros at the end of logs.
func cutLogs(t *testing.T, records string) {
	numbers, err := logsIn(records)
	if err != nil || len(numbers) == 0 {
		t.Fatal(numbers, err)
	}
	for _, n := range numbers {
		path := filepath.Join(records, fmt.Sprintf("%05d.mem", n))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.TrimRight(data, "\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
