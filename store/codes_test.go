package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// coded is a document of n rows; sizes of codes go round through those given.
func coded(id string, n int, sizes ...int) *Document {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	d := doc(id, 1)
	d.Text = strings.Repeat("x", n)
	row := d.Rows[0]
	d.Rows = nil
	for i := range n {
		row.Start, row.End = i, i+1
		row.Codes = make([]byte, sizes[i%len(sizes)])
		for k := range row.Codes {
			row.Codes[k] = byte(r.Uint32())
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// TestCodes: the codes of rows are read alone as they were stored, of records of one part, of parts of rows, of rows
// above a part, and as older programs cut them; and the records are the same to all other calls.
func TestCodes(t *testing.T) {
	for name, m := range map[string]Manifest{"long": {}, "short": {Short: true}, "short, with impacts": {Short: true, Impacts: true}} {
		t.Run(name, func(t *testing.T) { testCodes(t, m) })
	}
}

func testCodes(t *testing.T, m Manifest) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, Options{NoSync: true})
	if err := s.SetManifest(ctx, func(own *Manifest) error { own.Short, own.Impacts = m.Short, m.Impacts; return nil }); err != nil {
		t.Fatal(err)
	}
	docs := []*Document{
		coded("one", 1, 300), coded("large", 1, 2*partBytes), coded("none", 1, 0), coded("some", 5, 100, 0), coded("many", 40, 9000),
		coded("wide", 4, 10, partBytes+5, 20), doc("without", 5), coded("old", 40, 9000), coded("old and wide", 3, 10, partBytes+5),
	}
	for i, d := range docs {
		for n := range d.Rows {
			if m.Impacts && i%2 == n%2 && !strings.HasPrefix(d.ID, "old") {
				d.Rows[n].Impacts = bytes.Repeat([]byte{byte(i + 1)}, 1+100*n)
			}
		}
	}
	add(t, s, docs...)
	for ord, d := range docs { // as older programs cut them
		if strings.HasPrefix(d.ID, "old") {
			cut(t, s, uint64(ord+1), encodedRows(d.Rows))
		}
	}
	check := func(when string, s *Store) {
		t.Helper()
		v, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		var at []RowAt
		var want [][]byte
		for i, d := range docs {
			if got, err := v.Get(t.Context(), uint64(i+1)); err != nil || !bytes.Equal(encodedRows(got.Rows), encodedRows(d.Rows)) {
				t.Fatalf("%s: %s: other rows, %v", when, d.ID, err)
			}
			for n, row := range d.Rows {
				at, want = append(at, RowAt{uint64(i + 1), n}), append(want, row.Codes)
			}
		}
		at, want = append(at, at[3]), append(want, want[3]) // one twice
		rand.Shuffle(len(at), func(i, j int) { at[i], at[j], want[i], want[j] = at[j], at[i], want[j], want[i] })
		got := make([][]byte, len(at))
		if err := v.Codes(ctx, at, func(i int, codes []byte) error { got[i] = bytes.Clone(codes); return nil }); err != nil {
			t.Fatal(when, err)
		}
		for i := range at {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("%s: row %d of %s: %d bytes, want %d", when, at[i].Row, docs[at[i].Ord-1].ID, len(got[i]), len(want[i]))
			}
		}
		if _, err := s.Verify(ctx, nil); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	check("written", s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{NoSync: true})
	check("opened", s)
	if n := len(partsOf(t, s, 5)); n != 41 {
		t.Errorf("a record of 40 rows has %d parts", n)
	}

	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	never := func(int, []byte) error { t.Error("called"); return nil }
	for _, at := range []RowAt{{0, 0}, {99, 0}} {
		if err := v.Codes(ctx, []RowAt{at}, never); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v: %v", at, err)
		}
	}
	for _, at := range []RowAt{{1, 1}, {1, -1}, {5, 40}, {8, 40}, {8, -1}, {7, 3}} {
		if err := v.Codes(ctx, []RowAt{at}, never); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%+v: %v", at, err)
		}
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := v.Codes(done, []RowAt{{5, 0}}, never); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	mine := errors.New("mine")
	for _, ord := range []uint64{1, 5, 8} {
		n := 0
		if err := v.Codes(ctx, []RowAt{{ord, 0}}, func(int, []byte) error { n++; return fmt.Errorf("%w, %w", mine, ErrCorrupt) }); !errors.Is(err, mine) || n != 1 {
			t.Errorf("version %d: %v after %d calls", ord, err, n)
		}
	}
}

// TestCodesDamage: a part that is missing, or another, is damage.
func TestCodesDamage(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(txn *badger.Txn, s *Store) error{
		"missing first": func(txn *badger.Txn, s *Store) error { return txn.Delete(partKey(prefixRow, 1, 0)) },
		"missing":       func(txn *badger.Txn, s *Store) error { return txn.Delete(partKey(prefixRow, 1, 2)) },
		"checksum":      func(txn *badger.Txn, s *Store) error { return txn.Set(partKey(prefixRow, 1, 2), make([]byte, 50)) },
		"no row": func(txn *badger.Txn, s *Store) error {
			return s.set(txn, partKey(prefixRow, 1, 2), []byte{4, 0, 0, 0, 1})
		},
		"longer row": func(txn *badger.Txn, s *Store) error {
			return s.set(txn, partKey(prefixRow, 1, 2), []byte{4, 0, 0, 0, 0, 0, 0, 9})
		},
	} {
		s := open(t, t.TempDir(), Options{NoSync: true})
		add(t, s, coded("a", 3, 500))
		if err := s.db.Update(func(txn *badger.Txn) error { return harm(txn, s) }); err != nil {
			t.Fatal(err)
		}
		add(t, s, doc("b", 1)) // readers of now see what was done
		v, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Codes(ctx, []RowAt{{1, 1}}, func(int, []byte) error { t.Errorf("%s: called", name); return nil }); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		v.Close()
	}
}

// partsOf are the keys of a version's rows.
func partsOf(t *testing.T, s *Store, ord uint64) [][]byte {
	t.Helper()
	keys, err := s.keys(numberKey(prefixRow, ord), numberKey(prefixRow, ord+1), maxParts)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// cut writes the rows of a version without regard to where these begin.
func cut(t *testing.T, s *Store, ord uint64, record []byte) {
	t.Helper()
	keys := partsOf(t, s, ord)
	ps, err := parts(slices.Clone(record))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Update(func(txn *badger.Txn) error {
		var errs []error
		for _, k := range keys {
			errs = append(errs, txn.Delete(k))
		}
		for i, p := range ps {
			errs = append(errs, s.set(txn, partKey(prefixRow, ord, i), p))
		}
		return errors.Join(errs...)
	}); err != nil {
		t.Fatal(err)
	}
	add(t, s, doc("behind", int(ord))) // readers of now see it
}
