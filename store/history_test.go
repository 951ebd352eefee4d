package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/lexsem/lexsem/internal/limit"
)

// TestHistory follows the digests through commits, reopenings, a Compact, and
// two copies that go on each for itself.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	known := map[uint64][16]byte{}
	seen := map[[16]byte]bool{}
	note := func() {
		t.Helper()
		v, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		h := v.History()
		if h == ([16]byte{}) || seen[h] {
			t.Fatalf("digest %x at %d", h, v.Seq())
		}
		known[v.Seq()], seen[h] = h, true
	}
	check := func(s *Store) {
		t.Helper()
		for seq := range uint64(9) {
			want, ok := known[seq]
			if got, gotOK := historyAt(t, s, seq); got != want || gotOK != ok {
				t.Errorf("at %d: %x %v, want %x %v", seq, got, gotOK, want, ok)
			}
		}
		if _, err := s.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
	}
	note()
	for range 3 {
		add(t, s, doc("a", 1)) // the same each time
		note()
	}
	check(s)
	if err := s.SetManifest(ctx, func(m *Manifest) error { m.Default = "x"; return nil }); err != nil {
		t.Fatal(err)
	}
	check(s)
	if err := s.Compact(ctx, 2); err != nil {
		t.Fatal(err)
	}
	delete(known, 0)
	delete(known, 1)
	check(s)
	b := begin(t, s)
	put(t, b, doc("b", 1))
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copyOf := filepath.Join(t.TempDir(), "copy")
	copyDir(t, dir, copyOf)
	s = open(t, dir, small)
	other := open(t, copyOf, small)
	check(s)
	check(other)
	add(t, s, doc("c", 1))
	add(t, other, doc("c", 1))
	mine, _ := historyAt(t, s, 4)
	theirs, _ := historyAt(t, other, 4)
	if mine == theirs {
		t.Error("two copies that went on have one digest")
	}
}

// TestForeignRecords opens records beside the HEAD of another history: of a copy
// that went on, at the same number of writes and behind it, and of another
// database.
func TestForeignRecords(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	s.Close()
	fork := filepath.Join(t.TempDir(), "fork")
	copyDir(t, dir, fork)
	s = open(t, dir, small)
	add(t, s, doc("b", 1))
	s.Close()
	head, err := os.ReadFile(filepath.Join(dir, headName))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	for name, records := range map[string]string{"fork": fork, "other": other} {
		s := open(t, records, small)
		if name == "other" {
			add(t, s, doc("x", 1))
		}
		for range 2 {
			add(t, s, doc("b", 1))
			s.Close()
			mixed := filepath.Join(t.TempDir(), "mixed")
			copyDir(t, records, mixed)
			if err := os.WriteFile(filepath.Join(mixed, headName), head, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, o := range []Options{{ReadOnly: true, MemoryMiB: 64}, small} {
				if s, err := Open(mixed, o); !errors.Is(err, ErrCorrupt) {
					if err == nil {
						s.Close()
					}
					t.Errorf("%s at %d: %v", name, s.last.st.seq, err)
				}
			}
			s = open(t, records, small)
		}
	}
}

// TestForeignTable puts a table of another database under the name of one of
// this: no record of it is taken for ours.
func TestForeignTable(t *testing.T) {
	var dirs []string
	for _, name := range []string{"ours", "theirs"} {
		dir := t.TempDir()
		s := open(t, dir, small)
		add(t, s, doc("a", 1), doc(name, 2))
		add(t, s, doc("a", 3))
		s.Close()
		dirs = append(dirs, dir)
	}
	b, err := os.ReadFile(filepath.Join(dirs[1], recordsName, "000001.sst"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], recordsName, "000001.sst"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dirs[0], small); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v", err)
	}

	// Of two tables, the second holds state and manifest: those are ours.
	ours := t.TempDir()
	s := open(t, ours, small)
	add(t, s, doc("a", 1), doc("b", 2))
	s.Close()
	s = open(t, ours, small)
	if err := s.SetManifest(ctx, func(m *Manifest) error { m.Default = "x"; return nil }); err != nil {
		t.Fatal(err)
	}
	add(t, s, doc("c", 3))
	s.Close()
	if files, err := filepath.Glob(filepath.Join(ours, recordsName, "*.sst")); err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(filepath.Join(ours, recordsName, "000001.sst"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ours, Options{ReadOnly: true, MemoryMiB: 64}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a table of another database: %v", err)
	}
	if err := os.Remove(filepath.Join(ours, recordsName, checksumsName)); err != nil { // as in a database of before
		t.Fatal(err)
	}
	s = open(t, ours, Options{ReadOnly: true, MemoryMiB: 64})
	if got := find(t, s, "c"); !reflect.DeepEqual(got, doc("c", 3)) {
		t.Errorf("our document: %v", got)
	}
	if _, _, err := s.Lookup("a"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("their document: %v", err)
	}
	if err := s.Scan(ctx, 0, func(uint64, []Row) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("scan: %v", err)
	}

	u, v := newUUID(), newUUID()
	stored := addChecksum(u.seed(), []byte("key"), []byte("payload"))
	if _, err := payloadOf(v.seed(), []byte("key"), stored); !errors.Is(err, errRecord) {
		t.Errorf("a value of another database: %v", err)
	}
	if p, err := payloadOf(u.seed(), []byte("key"), stored); err != nil || !bytes.Equal(p, []byte("payload")) {
		t.Errorf("%q %v", p, err)
	}
}

// TestForgedLog changes a log entry under a right checksum.
func TestForgedLog(t *testing.T) {
	s := open(t, t.TempDir(), small)
	add(t, s, doc("a", 1))
	add(t, s, doc("b", 1))
	w := s.newStager()
	if err := w.apply(op{logKey(1, 0), encodeChange(nil, Change{"z", 1, 0})}); err != nil {
		t.Fatal(err)
	}
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	s.setPin(s.newPin(s.current()))
	nothing := func(uint64, Change) error { return nil }
	if err := s.Log(ctx, 0, nothing); !errors.Is(err, errHistory) || !errors.Is(err, ErrCorrupt) {
		t.Errorf("log: %v", err)
	}
	if err := s.Log(ctx, 1, nothing); err != nil {
		t.Errorf("log behind it: %v", err)
	}
}

// TestMediaAndCodes stores what only documents of the new kinds have.
func TestMediaAndCodes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	one, many, half, image, pages := doc("one", 1), doc("many", 5), doc("half", 5), doc("image", 1), doc("pages", 5)
	image.Media, image.Data = "image/png", bytes.Repeat([]byte{0, 1, 255}, 100_000)
	pages.Media, pages.Data = "image/tiff", []byte{7}
	one.Media, one.Rows[0].Codes = "text/markdown", []byte{1, 2, 3}
	many.Media = "application/pdf"
	for i := range many.Rows {
		many.Rows[i].Codes = bytes.Repeat([]byte{byte(i)}, 100*i+1)
	}
	half.Rows[1].Codes = []byte{9}
	add(t, s, one, many, half, doc("plain", 5), image, pages)
	s.Close()
	s = open(t, dir, small)
	for _, d := range []*Document{one, many, half, doc("plain", 5), image, pages} {
		got := find(t, s, d.ID)
		if string(encodeDocument(nil, got)) != string(encodeDocument(nil, d)) || string(encodedRows(got.Rows)) != string(encodedRows(d.Rows)) || got.Media != d.Media || !bytes.Equal(got.Data, d.Data) {
			t.Errorf("%s: %+v", d.ID, got)
		}
	}
	// A scan uses the memory of rows again: none keeps the codes of another.
	err := s.Scan(ctx, 0, func(ord uint64, rows []Row) error {
		want := [][]Row{one.Rows, many.Rows, half.Rows, doc("plain", 5).Rows, image.Rows, pages.Rows}[ord-1]
		for i, r := range rows {
			if !bytes.Equal(r.Codes, want[i].Codes) {
				t.Errorf("version %d, row %d: codes %v", ord, i, r.Codes)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	long := doc("long", 1)
	long.Media = string(make([]byte, limit.MediaBytes+1))
	b := begin(t, s)
	defer b.Discard()
	if _, err := b.Put(ctx, long); !errors.Is(err, ErrTooLarge) {
		t.Errorf("media type of %d bytes: %v", len(long.Media), err)
	}
	image.Media = ""
	if _, err := b.Put(ctx, image); !errors.Is(err, errNoMedia) {
		t.Errorf("data without a media type: %v", err)
	}
}
