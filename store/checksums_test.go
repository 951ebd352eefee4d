package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sitting opens the database, puts documents, one a commit, and closes it.
func sitting(t *testing.T, dir string, docs ...*Document) {
	t.Helper()
	s := open(t, dir, small)
	for _, d := range docs {
		add(t, s, d)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// give copies one file of a database to another.
func give(t *testing.T, from, to, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(from, name))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, name), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// refuses opens the database in both ways, twice.
func refuses(t *testing.T, what, dir string) {
	t.Helper()
	for range 2 {
		for _, o := range []Options{{ReadOnly: true, MemoryMiB: 64}, small} {
			s, err := Open(dir, o)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, read-only %t: %v", what, o.ReadOnly, err)
			}
		}
	}
}

// twin is a document of which all have the same length.
func twin(id string, whose byte) *Document {
	d := doc(id, 1)
	d.Text = d.Text[:len(d.Text)-1] + string(whose)
	return d
}

// copies makes two databases with a past in common, then two sittings of their own,
// whose records have the same keys and lengths.
func copies(t *testing.T) (ours, theirs string) {
	t.Helper()
	ours, theirs = filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
	sitting(t, ours, doc("a", 1))
	copyDir(t, ours, theirs)
	for whose, dir := range map[byte]string{'o': ours, 't': theirs} {
		sitting(t, dir, twin("b", whose), twin("c", whose))
		sitting(t, dir, twin("d", whose))
	}
	return ours, theirs
}

// TestTableOfCopy gives a database a table of a copy that went on for itself, of which
// every record has the right checksum. HEAD tells nothing of it: the state is ours.
func TestTableOfCopy(t *testing.T) {
	t.Parallel()
	ours, theirs := copies(t)
	table, checksums := filepath.Join(recordsName, "000002.sst"), filepath.Join(recordsName, checksumsName)
	for _, c := range []struct {
		name  string
		files []string
	}{
		{"a table", []string{table}},
		{"a table and what tells of it", []string{table, checksums}},
		{"what tells of tables", []string{checksums}},
	} {
		dir := filepath.Join(t.TempDir(), "db")
		copyDir(t, ours, dir)
		for _, name := range c.files {
			give(t, theirs, dir, name)
		}
		refuses(t, c.name, dir)
	}

	// What tells of tables may be missing or damaged: nothing else is lost then.
	for _, b := range [][]byte{nil, {}, []byte("LXSMTABL and more, which is not so")} {
		dir := filepath.Join(t.TempDir(), "db")
		copyDir(t, ours, dir)
		err := os.Remove(filepath.Join(dir, checksums))
		if b != nil {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, checksums), b, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		sitting(t, dir, twin("e", 'o'))
		s := open(t, dir, small)
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			find(t, s, id)
		}
		s.Close()
	}

	// After an unclean end the tables of before are still known.
	dir := filepath.Join(t.TempDir(), "db")
	copyDir(t, ours, dir)
	s := open(t, dir, small)
	add(t, s, twin("e", 'o'))
	killed := filepath.Join(t.TempDir(), "killed")
	copyDir(t, dir, killed)
	s.Close()
	good := filepath.Join(t.TempDir(), "good")
	copyDir(t, killed, good)
	sitting(t, good, twin("f", 'o'))
	sitting(t, good, twin("g", 'o'))
	give(t, theirs, killed, table)
	s, err := Open(killed, small)
	if err == nil {
		_, err = s.Verify(ctx, nil)
		s.Close()
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("a table of a copy after a kill: %v", err)
	}
}

// TestSalvageOfMixed saves what is ours of a database with a table of a copy.
func TestSalvageOfMixed(t *testing.T) {
	ours, theirs := copies(t)
	give(t, theirs, ours, filepath.Join(recordsName, "000002.sst"))
	damage, err := Folder(ours).Damage(ctx, nil)
	if err != nil || !slices.ContainsFunc(damage, func(s string) bool { return strings.Contains(s, "another history") }) {
		t.Errorf("%q %v", damage, err)
	}
	to := filepath.Join(t.TempDir(), "saved")
	rep, err := Folder(ours).Salvage(ctx, to, SalvageOptions{})
	if err != nil || rep.Saved != 2 || rep.Lost != 2 {
		t.Fatalf("%+v %v", rep, err)
	}
	s := open(t, to, small)
	for id, d := range map[string]*Document{"a": doc("a", 1), "d": twin("d", 'o')} {
		if got := find(t, s, id); got.Text != d.Text {
			t.Errorf("%q, want %q", got.Text, d.Text)
		}
	}
}

// TestInterruptedOpening lets an opening end behind the moment from which Badger may
// write: tables that it wrote then are no damage, and a table of a copy still is.
func TestInterruptedOpening(t *testing.T) {
	ours, theirs := copies(t)
	s := &Store{dir: ours, o: small}
	m, slot, _, _, err := readHead(ours)
	if err != nil || !m.clean || !m.hasChecksums || !m.exact {
		t.Fatalf("%+v %v", m, err)
	}
	if err := errors.Join(s.openHead(m, slot), s.head.close()); err != nil {
		t.Fatal(err)
	}
	n, _, _, _, err := readHead(ours)
	if m.exact = false; err != nil || n != m {
		t.Fatalf("%+v %v, want %+v", n, err, m)
	}
	mixed := filepath.Join(t.TempDir(), "mixed")
	copyDir(t, ours, mixed)
	give(t, theirs, mixed, filepath.Join(recordsName, "000002.sst"))
	if s, err = Open(mixed, small); err == nil {
		_, err = s.Verify(ctx, nil)
		s.Close()
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("a table of a copy: %v", err)
	}
	sitting(t, ours, twin("e", 'o'))
	if n, _, _, _, err = readHead(ours); err != nil || !n.exact {
		t.Errorf("%+v %v", n, err)
	}
}

// TestHeadBehindBase gives a database the last table of a copy that has committed more
// and compacted past what HEAD tells, where no digest is known.
func TestHeadBehindBase(t *testing.T) {
	for _, killed := range []bool{false, true} {
		ours, theirs := filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
		sitting(t, ours, doc("a", 1))
		copyDir(t, ours, theirs)
		s := open(t, ours, small)
		add(t, s, doc("b", 1))
		if killed {
			end := filepath.Join(t.TempDir(), "killed")
			copyDir(t, ours, end)
			defer s.Close()
			ours = end
		} else {
			s.Close()
		}
		s = open(t, theirs, small)
		for _, id := range []string{"b", "c", "d"} {
			add(t, s, doc(id, 2))
		}
		if err := s.Compact(ctx, 4); err != nil {
			t.Fatal(err)
		}
		s.Close()
		mixed := filepath.Join(t.TempDir(), "mixed")
		copyDir(t, theirs, mixed)
		give(t, ours, mixed, headName)
		refuses(t, fmt.Sprintf("killed %t", killed), mixed)

		if killed {
			continue
		}
		m, slot, _, _, err := readHead(ours)
		if err != nil {
			t.Fatal(err)
		}
		m.leads, m.hasChecksums, m.exact = false, false, false // as an older program closed it
		h, err := openHead(mixed, slot)
		if err == nil {
			err = errors.Join(h.writeAll(m), h.close())
		}
		if err != nil {
			t.Fatal(err)
		}
		refuses(t, "closed by an older program", mixed)
	}
}

// TestHeadAheadOfCopy gives a killed database the records of a copy that has written more
// often and committed less.
func TestHeadAheadOfCopy(t *testing.T) {
	ours, theirs := filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
	sitting(t, ours, doc("a", 1))
	copyDir(t, ours, theirs)
	s := open(t, ours, small)
	defer s.Close()
	add(t, s, doc("b", 1))
	add(t, s, doc("c", 1))
	o := open(t, theirs, small)
	for i := range 5 {
		if err := o.SetManifest(ctx, func(m *Manifest) error { m.Default = fmt.Sprint(i); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	o.Close()
	give(t, ours, theirs, headName)
	refuses(t, "fewer commits and more writes", theirs)
}

// TestLongTableOfCopy gives a database a table of a copy of which index and last block are
// those of ours.
func TestLongTableOfCopy(t *testing.T) {
	ours, theirs := filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
	sitting(t, ours, doc("a", 1))
	copyDir(t, ours, theirs)
	for whose, dir := range map[byte]string{'o': ours, 't': theirs} {
		s := open(t, dir, small)
		var docs []*Document
		for i := range 200 {
			docs = append(docs, twin(fmt.Sprintf("b%03d", i), whose))
		}
		add(t, s, docs...)
		s.Close()
		sitting(t, dir, twin("d", whose))
	}
	name := filepath.Join(recordsName, "000002.sst")
	var files [2]tableFile
	for i, dir := range []string{ours, theirs} {
		files[i].path = filepath.Join(dir, name)
		if err := files[i].open(); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := &files[0], &files[1]; a.blocks < 5 || a.lastSum != b.lastSum || a.indexSum != b.indexSum {
		t.Fatalf("%d blocks, %x and %x, %x and %x", a.blocks, a.lastSum, b.lastSum, a.indexSum, b.indexSum)
	}
	give(t, theirs, ours, name)
	s, err := Open(ours, small)
	if err == nil {
		if _, err := s.Text(t.Context(), 2); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a document of theirs: %v", err)
		}
		_, err = s.Verify(ctx, nil)
		s.Close()
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// FuzzChecksums decodes any bytes as the file of tables.
func FuzzChecksums(f *testing.F) {
	tables := map[uint64]tableChecksum{1: {1, 2, 3, []uint32{4, 5}}, 9: {0, 7, 8, nil}}
	b := encodeChecksums(tables)
	f.Add(b[:len(b)-4])
	f.Add(b[:checksumsHead])
	f.Fuzz(func(t *testing.T, b []byte) {
		tables, err := decodeChecksums(appendChecksum(slices.Clone(b)))
		if err != nil {
			return
		}
		again, err := decodeChecksums(encodeChecksums(tables))
		if err != nil || !maps.EqualFunc(tables, again, tableChecksum.equal) {
			t.Fatalf("%v, again %v: %v", tables, again, err)
		}
	})
	if got, err := decodeChecksums(b); err != nil || !maps.EqualFunc(got, tables, tableChecksum.equal) || !bytes.Equal(encodeChecksums(got), b) {
		f.Fatalf("%v %v", got, err)
	}
}

// TestMarkOfOlderProgram rewrites a slot as a program does that knows nothing of tables:
// what stands behind it is not taken for its.
func TestMarkOfOlderProgram(t *testing.T) {
	m := mark{major: formatMajor, clean: true, leads: true, gen: 9, seq: 3, history: History{2}, hasChecksums: true, exact: true, checksums: 7}
	slot := m.encode()
	if got, ok := decodeMark(slot); !ok || got != m {
		t.Fatalf("%+v %t", got, ok)
	}
	old := mark{major: formatMajor, clean: true, gen: 12, seq: 4, history: History{3}}
	copy(slot, old.encode())
	if got, ok := decodeMark(slot); !ok || got != old {
		t.Errorf("%+v %t, want %+v", got, ok, old)
	}
}

// A MANIFEST that Badger cannot follow is an error: taken for that of a database without tables, the
// checksums of a clean end would say that there are none, and no later opening would take those there are.
func TestManifestUnreadable(t *testing.T) {
	dir := t.TempDir()
	sitting(t, dir, doc("a", 1))
	path := filepath.Join(dir, recordsName, "MANIFEST")
	if m, err := manifestOf(path); err != nil || len(m.Tables) != 1 {
		t.Fatalf("%d tables, %v", len(m.Tables), err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := manifestOf(path); err == nil {
		t.Errorf("damaged: %d tables and no error", len(m.Tables))
	}
	if listed, err := listedTables(dir); !errors.Is(err, ErrCorrupt) || listed != nil {
		t.Errorf("damaged: %v, %v", listed, err)
	}
}
