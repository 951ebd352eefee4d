package store

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// format1 unpacks a database that a program of format 1 has written: documents
// in chunks and parts, updates, deletions and a Compact, closed cleanly.
func format1(t *testing.T) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "format1.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "format1")
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(path, b, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// format1Documents is what is live in it.
func format1Documents() map[string]*Document {
	docs := map[string]*Document{}
	for i := range 20 {
		d := doc(fmt.Sprintf("id-%02d", i), i)
		docs[d.ID] = d
	}
	docs["id-03"].Text = strings.Repeat("long text ", 30_000)
	docs["id-03"].Rows[0].End = len(docs["id-03"].Text)
	docs["id-04"].Metadata = nil
	for id, version := range map[string]int{"id-00": 30, "id-05": 25, "id-06": 26, "id-07": 35, "new": 40} {
		docs[id] = doc(id, version)
	}
	for _, id := range []string{"id-01", "id-02", "id-08", "id-09"} {
		delete(docs, id)
	}
	return docs
}

func checkDocuments(t *testing.T, s *Store, want map[string]*Document) {
	t.Helper()
	truncated := 0
	for id, d := range want {
		if got := find(t, s, id); !reflect.DeepEqual(got, d) {
			t.Errorf("%s: %.200v, want %.200v", id, got, d)
		}
		if d.Truncated > 0 {
			truncated++
		}
	}
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if v.Len() != len(want) || s.manifest.Major == formatHistory && v.Truncated() != truncated {
		t.Errorf("%d documents, %d truncated; want %d and %d", v.Len(), v.Truncated(), len(want), truncated)
	}
	if _, err := s.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

func historyAt(t *testing.T, s *Store, seq uint64) ([16]byte, bool) {
	t.Helper()
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	h, ok, err := v.HistoryAt(seq)
	if err != nil {
		t.Fatal(err)
	}
	return h, ok
}

// TestFormat1 opens a database of format 1: readers see all of it as it is, a
// writer brings it over, and it goes on from there.
func TestFormat1(t *testing.T) {
	dir, want := format1(t), format1Documents()
	before, err := os.ReadFile(filepath.Join(dir, headName))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
	if m := s.Manifest(); m.Major != 1 || m.From != 0 {
		t.Fatalf("reading made it %d from %d", m.Major, m.From)
	}
	checkDocuments(t, s, want)
	uuid := s.Manifest().UUID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, headName)); err != nil || string(after) != string(before) {
		t.Errorf("reading changed %s (%v)", headName, err)
	}

	s = open(t, dir, small)
	m := s.Manifest()
	if m.Major != formatHistory || m.From != 1 || m.UUID != uuid || m.Language != "en" || m.Metric != "cosine" || string(m.Encoder) != `{"model":"fixture"}` {
		t.Fatalf("%+v", m)
	}
	checkDocuments(t, s, want)
	if err := s.Log(ctx, 2, func(uint64, Change) error { return nil }); err != nil {
		t.Error(err)
	}
	last := s.Seq()
	first, ok := historyAt(t, s, last)
	if !ok || last != 5 {
		t.Fatalf("no digest at %d", last)
	}
	for seq := range last {
		if _, ok := historyAt(t, s, seq); ok {
			t.Errorf("a digest at %d, which was written without", seq)
		}
	}
	want["id-03"], want["id-10"] = doc("id-03", 50), doc("id-10", 55)
	add(t, s, doc("id-03", 50), doc("id-10", 55))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = open(t, dir, small)
		checkDocuments(t, s, want)
		if h, ok := historyAt(t, s, last); !ok || h != first {
			t.Errorf("the digest at %d is lost", last)
		}
		if err := s.Compact(ctx, s.Seq()); err != nil {
			t.Fatal(err)
		}
		checkDocuments(t, s, want)
		s.Close()
		last, first = 6, s.last.st.history
	}
}

// TestFormat1Killed kills the writer right behind the transaction that brings a
// database over.
func TestFormat1Killed(t *testing.T) {
	dir := format1(t)
	p := start(t, "open", dir, "upgrade", 1)
	if _, killed := p.wait(t, 0); !killed && runtime.GOOS != "windows" {
		t.Fatal("the point was not reached")
	}
	s := open(t, dir, small)
	if s.Manifest().From != 1 {
		t.Errorf("%+v", s.Manifest())
	}
	checkDocuments(t, s, format1Documents())
}
