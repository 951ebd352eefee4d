package store

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/limit"
)

// madeBasis is basis n: of one byte, and of several records and frames.
func madeBasis(n int) []byte {
	b := make([]byte, 1+n%3*(frameMax*2+n))
	for i := range b {
		b[i] = byte(i*31 + n)
	}
	return b
}

// addBases commits a document with codes, and bases up to hi.
func addBases(t testing.TB, s *Store, hi int) {
	t.Helper()
	b, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d := doc("coded", hi)
	for i := range d.Rows {
		d.Rows[i].Codes = []byte{byte(hi), byte(i)}
	}
	put(t, b, d)
	for n := s.BasisCount(); n < hi; n++ {
		if err := b.AddBasis(ctx, n, madeBasis(n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

func checkBases(t testing.TB, s *Store, want int) {
	t.Helper()
	if n := s.BasisCount(); n != want {
		t.Fatalf("%d bases, want %d", n, want)
	}
	for n := range want {
		if got, err := s.Basis(n); err != nil || !bytes.Equal(got, madeBasis(n)) {
			t.Fatalf("basis %d of %d bytes: %v", n, len(got), err)
		}
	}
	if _, err := s.Basis(want); !errors.Is(err, ErrNotFound) {
		t.Errorf("one too many: %v", err)
	}
	if _, err := s.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestBases: they grow with the commits, and with nothing else, are there after opening
// again, cleanly or not, and outlive Compact and Reclaim.
func TestBases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	checkBases(t, s, 0)
	addBases(t, s, 1)
	addBases(t, s, 3)
	addTerms(t, s, 0, madeTerms(0, 3)) // the state tells of both
	for name, end := range fruitless {
		b, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.AddBasis(ctx, 3, madeBasis(5)); err != nil {
			t.Fatal(err)
		}
		if err := end(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if left, err := s.keys(numberKey(prefixBasis, 3), []byte{prefixBasis + 1}, 10); err != nil || len(left) > 0 {
			t.Errorf("%s: %d records are left, %v", name, len(left), err)
		}
	}
	addBases(t, s, 4)
	outlives(t, dir, s, func(step int, s *Store) {
		checkBases(t, s, 4)
		if n := s.TermCount(); n != 3 {
			t.Errorf("step %d: %d terms", step, n)
		}
	})
}

func TestImpossibleBases(t *testing.T) {
	s := open(t, t.TempDir(), small)
	addBases(t, s, 1)
	for name, c := range map[string]struct {
		number int
		basis  []byte
	}{
		"too early": {0, []byte("x")},
		"too late":  {2, []byte("x")},
		"negative":  {-1, []byte("x")},
		"empty":     {1, nil},
		"too long":  {1, make([]byte, maxBasisBytes+1)},
	} {
		b, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.AddBasis(ctx, c.number, c.basis); !errors.Is(err, errBasis) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.Commit(ctx); err == nil {
			t.Errorf("%s: the batch is committed", name)
		}
		if err := b.Discard(); err != nil {
			t.Error(err)
		}
	}
	checkBases(t, s, 1)
}

// TestMissingBasis: a record that is gone, or cut, is damage that Basis, Verify and the
// opening after an unclean end notice.
func TestMissingBasis(t *testing.T) {
	for name, change := range map[string]op{
		"gone":        {key: partKey(prefixBasis, 1, 0)},
		"second part": {key: partKey(prefixBasis, 1, 1)},
		"malformed":   {partKey(prefixBasis, 1, 0), []byte{9}},
		"empty":       {partKey(prefixBasis, 0, 0), []byte{1, 0, 0, 0}},
	} {
		dir := t.TempDir()
		s := open(t, dir, small)
		addBases(t, s, 2)
		w := s.newStager()
		if err := errors.Join(w.apply(change), w.finish()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, small)
		if _, err := s.Verify(ctx, nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: verified with %v", name, err)
		}
		unclean(t, s)
		if _, err := Open(dir, small); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: opened with %v", name, err)
		}
	}
}

// TestBackupBases: each part of a backup has the bases that those before lack.
func TestBackupBases(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	file := filepath.Join(t.TempDir(), "backup")
	counts := []int{0, 2, 2, 4}
	put1(t, s)
	for _, n := range counts {
		addBases(t, s, n)
		backedUp(t, s, file)
	}
	for i, n := range counts {
		r := restored(t, file, RestoreOptions{Parts: i + 1})
		checkBases(t, r, n)
		addBases(t, r, n+1)
		checkBases(t, r, n+1)
	}
}

func put1(t testing.TB, s *Store) {
	t.Helper()
	b, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, doc("first", 1))
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// Bases that are whole by their digests and wrong in what they say are refused.
func TestRestoreForgedBases(t *testing.T) {
	t.Parallel()
	frame := func(kind byte, length uint64, b []byte) func(p *partWriter) error {
		return func(p *partWriter) error {
			if kind == frameBasisMore {
				return p.frame(kind, b)
			}
			return p.frame(kind, append(appendNumbers(nil, length), b...))
		}
	}
	all := func(fs ...func(p *partWriter) error) func(p *partWriter) error {
		return func(p *partWriter) error {
			for _, f := range fs {
				if err := f(p); err != nil {
					return err
				}
			}
			return nil
		}
	}
	header := partHeader{Part: 1, UUID: UUID{15: 1}, To: place{Seq: 3, Next: 10, History: History{1}, Bases: 2}}
	one, two := frame(frameBasis, 3, []byte("abc")), all(frame(frameBasis, 4, []byte("de")), frame(frameBasisMore, 0, []byte("fg")))
	dir := t.TempDir()
	good, _ := forged{header, all(one, two), 0}.bytes(t)
	if _, err := Restore(ctx, dir, bytes.NewReader(good), RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, small)
	if a, err := s.Basis(1); err != nil || string(a) != "defg" {
		t.Errorf("%q, %v", a, err)
	}
	large := header
	large.To.Bases = limit.Bases + 1
	for what, f := range map[string]forged{
		"none":       {header, nil, 0},
		"too few":    {header, one, 0},
		"too many":   {header, all(one, two, one), 0},
		"cut":        {header, all(one, frame(frameBasis, 4, []byte("de"))), 0},
		"overlong":   {header, all(one, frame(frameBasis, 1, []byte("de"))), 0},
		"empty":      {header, all(one, frame(frameBasis, 0, nil)), 0},
		"endless":    {header, all(one, frame(frameBasis, 1<<60, []byte("x"))), 0},
		"no length":  {header, all(one, func(p *partWriter) error { return p.frame(frameBasis, []byte("x")) }), 0},
		"impossible": {large, all(one, two), 0},
	} {
		b, _ := f.bytes(t)
		if bad := refusedWhole(t, what, b); what == "impossible" && !strings.Contains(bad.Error(), "at most 1024 are possible") {
			t.Errorf("%s: %v", what, bad)
		}
	}
}

// TestSalvageBases: codes come along with their bases, and without one of these not at all.
func TestSalvageBases(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		dir := t.TempDir()
		s := open(t, dir, small)
		addBases(t, s, 2)
		if lost {
			w := s.newStager()
			if err := errors.Join(w.apply(op{key: partKey(prefixBasis, 1, 1)}), w.finish()); err != nil {
				t.Fatal(err)
			}
		}
		want, err := s.Rows(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "to")
		rep, err := Folder(dir).Salvage(ctx, to, SalvageOptions{})
		if err != nil || rep.Saved != 1 || rep.Uncoded != lost {
			t.Fatalf("%+v, %v", rep, err)
		}
		n := open(t, to, small)
		got, err := n.Rows(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if lost {
			checkBases(t, n, 0)
			for i := range want {
				want[i].Codes = nil
			}
		} else {
			checkBases(t, n, 2)
		}
		if !slices.EqualFunc(got, want, func(a, b Row) bool { return slices.Equal(a.Vector, b.Vector) && bytes.Equal(a.Codes, b.Codes) }) {
			t.Errorf("lost %t: %v, want %v", lost, got, want)
		}
	}
}
