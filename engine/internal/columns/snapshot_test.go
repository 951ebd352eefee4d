package columns

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/snapshot"
)

func manyColumns(t testing.TB, n int) *Columns {
	return change(t, New(), func(e *Edit) {
		for i := range n {
			if err := e.Add(uint64(i), benchMetadata(i)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestFileIsUsedWhereItLies: opening reads the ordinals and little else, and
// many may ask the file for the first time at once.
func TestFileIsUsedWhereItLies(t *testing.T) {
	c := manyColumns(t, 20_000)
	data := written(t, c)
	if perOpen := testing.AllocsPerRun(5, func() {
		if _, err := opened(data); err != nil {
			t.Fatal(err)
		}
	}); perOpen > 300 {
		t.Errorf("%v allocations to open 20,000 documents", perOpen)
	}
	o, err := opened(data)
	if err != nil {
		t.Fatal(err)
	}
	f := filter.Prefix("path", "net/http/package12")
	want, err := c.Match(t.Context(), f, nil)
	if err != nil || want.Len() == 0 {
		t.Fatal(want, err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			m, err := o.Match(t.Context(), f, nil)
			if err != nil || m.Len() != want.Len() {
				t.Error(m, err)
			}
		})
	}
	group.Wait()
	if o.Len() != c.Len() || o.After(9_999) != 10_000 || o.Bytes() < int64(len(data))*9/10 {
		t.Errorf("%d documents, %d after, %d bytes of %d", o.Len(), o.After(9_999), o.Bytes(), len(data))
	}
	// What is known is found in the file, and not written twice.
	next := with(t, o, 20_000, string(benchMetadata(7)))
	if next.terms.len() != o.terms.len() || next.paths.len() != o.paths.len() {
		t.Errorf("%d terms became %d", o.terms.len(), next.terms.len())
	}
}

// TestDeletedTextsAreNotWritten: what only deleted documents had is in no file,
// and when they were more than half, compacted columns forget it.
func TestDeletedTextsAreNotWritten(t *testing.T) {
	c := New()
	e := c.Edit()
	for i := range 3000 {
		if err := e.Add(uint64(i), fmt.Appendf(nil, `{"secret%d": "hidden%d", "open": %d}`, i, i, i%7)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2999 {
		e.Remove(uint64(i))
	}
	c = e.Done()
	data := written(t, c)
	if bytes.Contains(data, []byte("hidden1")) || bytes.Contains(data, []byte("secret1")) || !bytes.Contains(data, []byte("secret2999hidden2999")) && !bytes.Contains(data, []byte("hidden2999")) {
		t.Error("texts of deleted documents are written, or those of others are not")
	}
	o := reload(t, c)
	if !c.Wasteful() || !o.Wasteful() {
		t.Error("nobody would compact them")
	}
	small, err := o.Compacted(t.Context())
	if err != nil || small.Wasteful() || small.terms.len() != 2 || small.paths.len() != 3 || small.Len() != 1 {
		t.Fatalf("%+v, %v", small, err)
	}
	if m, err := small.Match(t.Context(), filter.Eq("secret2999", "hidden2999"), nil); err != nil || m.Len() != 1 || !m.Allow(2999) {
		t.Error(m, err)
	}
}

// TestDamage changes one byte after the other of a file: who reads what was
// changed is told, and nobody gets a wrong answer.
func TestDamage(t *testing.T) {
	c := manyColumns(t, 5000)
	data := written(t, c)
	f := filter.Or(filter.Prefix("path", "net/http/package12"), filter.Eq("year", 2000))
	want, err := c.Match(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for at := 4096; at < len(data); at += len(data)/60 + 1 {
		bad := bytes.Clone(data)
		bad[at] ^= 0x10
		file, err := snapshot.Parse(bad)
		if err != nil {
			continue // the tables at the end
		}
		check := func(err error) {
			if !errors.Is(err, ErrCorrupt) || !errors.Is(err, snapshot.ErrDamaged) {
				t.Fatalf("byte %d: %v", at, err)
			}
			told++
		}
		o, err := Open(file)
		if err != nil {
			check(err)
			continue
		}
		if m, err := o.Match(t.Context(), f, nil); err != nil {
			check(err)
		} else if m.Len() != want.Len() {
			t.Fatalf("byte %d: %d matches, want %d", at, m.Len(), want.Len())
		}
		if _, err := o.Compacted(t.Context()); err != nil {
			check(err)
		}
	}
	if told < 40 {
		t.Errorf("told %d times", told)
	}
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	var b bytes.Buffer
	w := snapshot.NewWriter(&b, snapshot.Header{Kind: "words", Version: Version})
	if err := errors.Join(New().Save(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := opened(b.Bytes()); !errors.Is(err, snapshot.ErrForeign) {
		t.Error(err)
	}
}

// TestFileThatVanishes: a file that is cut off while it is in use is damage, in
// every call that reads it.
func TestFileThatVanishes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "columns")
	c := manyColumns(t, 20_000)
	if err := snapshot.Write(path, snapshot.Header{Kind: Kind, Version: Version}, c.Save); err != nil {
		t.Fatal(err)
	}
	f, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Skip("an open file cannot be cut here:", err)
	}
	_, match := o.Match(t.Context(), filter.Eq("lang", "go"), nil)
	_, compacted := o.Compacted(t.Context())
	add := o.Edit().Add(20_000, benchMetadata(1))
	for name, err := range map[string]error{"match": match, "compacted": compacted, "add": add} {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !o.Edit().Remove(5) || o.After(10) != 19_989 {
		t.Error("the ordinals went with the file")
	}
}
