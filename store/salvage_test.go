package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// wrecked is a database of 100 documents in several tables, some of which had other
// versions or were there with others that are gone.
type wrecked struct {
	dir  string
	docs map[string]*Document
	live map[uint64]struct{}
	seq  uint64
}

func newWrecked(t *testing.T) *wrecked {
	t.Helper()
	w := &wrecked{dir: t.TempDir(), docs: map[string]*Document{}, live: map[uint64]struct{}{}}
	s := open(t, w.dir, small)
	if err := s.SetManifest(ctx, func(m *Manifest) error { m.Index, m.TokenStates = "hnsw", "on"; return nil }); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	version := func(id string, n int) *Document {
		d := doc(id, n)
		text := make([]byte, 30_000+r.IntN(80_000))
		if len(w.docs)%10 == 3 { // in two parts
			text = make([]byte, 140_000)
		}
		for k := range text {
			text[k] = byte(r.IntN(256))
		}
		d.Text, d.Rows = string(text), d.Rows[:1]
		d.Rows[0].Start, d.Rows[0].End = 0, len(text)
		w.docs[id] = d
		return d
	}
	for lo := 0; lo < 120; lo += 20 {
		var batch []*Document
		for i := lo; i < lo+20; i++ {
			batch = append(batch, version(fmt.Sprintf("d%03d", i), 1))
		}
		add(t, s, batch...)
	}
	for i := 0; i < 120; i += 10 {
		add(t, s, version(fmt.Sprintf("d%03d", i), 2))
	}
	b := begin(t, s)
	for i := range 20 {
		id := fmt.Sprintf("d%03d", 6*i+1)
		if _, ok, err := b.Delete(ctx, id); !ok || err != nil {
			t.Fatal(ok, err)
		}
		delete(w.docs, id)
	}
	seq, err := b.Commit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.seq = seq
	if err := s.Compact(ctx, seq-2); err != nil { // the log of the last ones stays
		t.Fatal(err)
	}
	for id := range w.docs {
		ord, _, err := s.Lookup(id)
		if err != nil {
			t.Fatal(err)
		}
		w.live[ord] = struct{}{}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// evidence is what a snapshot of the live versions tells.
func (w *wrecked) evidence(UUID, func(uint64) ([16]byte, bool)) *Evidence {
	return &Evidence{w.seq, maps.Clone(w.live)}
}

// inside is how many live documents have a record in a table.
func (w *wrecked) inside(t *testing.T, table string) int {
	t.Helper()
	r, err := readRaw(ctx, w.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	there := map[uint64]bool{}
	for key, at := range r.at {
		if ord, _, ok := keyNumber([]byte(key)); ok && (key[0] == prefixDocument || key[0] == prefixRow) && filepath.Base(r.files[at.file]) == table {
			if _, live := w.live[ord]; live {
				there[ord] = true
			}
		}
	}
	return len(there)
}

// salvaged saves what is in dir and compares: nothing is wrong, all that is not there
// is counted, and dir is as it was.
func (w *wrecked) salvaged(t *testing.T, what, dir string, o SalvageOptions) SalvageReport {
	t.Helper()
	before := contents(t, dir)
	to := filepath.Join(t.TempDir(), "new", "db")
	rep, err := Folder(dir).Salvage(ctx, to, o)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("%s: the damaged database was changed", what)
	}
	if left, err := filepath.Glob(to + "*"); err != nil || len(left) != 1 {
		t.Errorf("%s: left behind: %v, %v", what, left, err)
	}
	s := open(t, to, small)
	defer s.Close()
	if rep.Saved != s.Len() || rep.Dir != to {
		t.Errorf("%s: %+v, and %d documents", what, rep, s.Len())
	}
	if m := s.Manifest(); o.Describe == nil && (m.Index != "hnsw" || m.TokenStates != "on") {
		t.Errorf("%s: the choice of index is %q, of token states %q", what, m.Index, m.TokenStates)
	}
	missing := maps.Clone(w.docs)
	for id, got := range documentsOf(t, s) {
		if !reflect.DeepEqual(got, w.docs[id]) && (o.Evidence != nil || !rep.Uncertain) {
			t.Errorf("%s: document %q came back as another", what, id)
		}
		delete(missing, id)
	}
	if o.Evidence != nil {
		if rep.Lost != len(missing) {
			t.Errorf("%s: %d are lost, %d are told", what, len(missing), rep.Lost)
		}
		for _, id := range rep.Names {
			if _, ok := missing[id]; !ok {
				t.Errorf("%s: %q is told to be lost", what, id)
			}
		}
	}
	return rep
}

// TestSalvage damages one file after the other in each of the places that matter.
func TestSalvage(t *testing.T) {
	t.Parallel()
	w := newWrecked(t)
	if damage, err := Folder(w.dir).Damage(ctx, nil); err != nil || len(damage) > 0 {
		t.Fatalf("%q, %v", damage, err)
	}
	if rep := w.salvaged(t, "sound", w.dir, SalvageOptions{}); rep.Saved != 100 || rep.Lost != 0 || len(rep.Damage) > 0 || rep.Uncertain {
		t.Fatalf("%+v", rep)
	}
	records := filepath.Join(w.dir, recordsName)
	tables, err := filepath.Glob(filepath.Join(records, "*.sst"))
	if err != nil || len(tables) < 3 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	vlogs, err := filepath.Glob(filepath.Join(records, "*.vlog"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]func([]byte) []byte{
		"header": func(b []byte) []byte { b[1] ^= 0x40; return b },
		"block":  func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"page":   func(b []byte) []byte { clear(b[len(b)/3 : len(b)/3+4096]); return b },
		"index":  func(b []byte) []byte { b[len(b)-200] ^= 1; return b },
		"footer": func(b []byte) []byte { b[len(b)-2] ^= 0x80; return b },
		"both":   func(b []byte) []byte { b[len(b)-2] ^= 0x80; b[len(b)/2] ^= 1; return b },
		"cut":    func(b []byte) []byte { return b[:len(b)*2/3] },
		"gone":   func([]byte) []byte { return nil },
	}
	long := trial.Long()
	for i, table := range tables {
		raw, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		inside := w.inside(t, filepath.Base(table))
		for name, spoil := range cases {
			if !long && (i > 1 || i == 1 && name != "block" || slices.Contains([]string{"cut", "both", "index"}, name)) {
				continue
			}
			what := filepath.Base(table) + ", " + name
			if bad := spoil(slices.Clone(raw)); bad == nil {
				err = os.Remove(table)
			} else {
				err = os.WriteFile(table, bad, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			damage, err := Folder(w.dir).Damage(ctx, nil)
			if err != nil || len(damage) == 0 {
				t.Errorf("%s: damage %q, %v", what, damage, err)
			}
			most := map[string]int{"header": 1, "block": 1, "page": 2, "index": 0, "footer": 0, "both": 1, "cut": inside, "gone": inside}[name]
			rep := w.salvaged(t, what, w.dir, SalvageOptions{Evidence: w.evidence, Describe: w.describe})
			if rep.Lost > most || rep.Uncertain {
				t.Errorf("%s: %d are lost, at most %d should be: %+v", what, rep.Lost, most, rep)
			}
			if !long && name != "gone" {
				if err := os.WriteFile(table, raw, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			rep = w.salvaged(t, what+", without evidence", w.dir, SalvageOptions{Describe: w.describe})
			if rep.Saved < 100-most || !rep.Uncertain {
				t.Errorf("%s, without evidence: %+v", what, rep)
			}
			if err := os.WriteFile(table, raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, file := range append(vlogs, filepath.Join(records, "MANIFEST"), filepath.Join(records, "KEYREGISTRY"), filepath.Join(w.dir, headName)) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{"noise": []byte(strings.Repeat("\xa5", max(len(raw), 100))), "cut": raw[:len(raw)/2], "empty": {}} {
			if !long && name != "noise" {
				continue
			}
			if err := os.WriteFile(file, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			what := filepath.Base(file) + ", " + name
			if rep := w.salvaged(t, what, w.dir, SalvageOptions{Evidence: w.evidence}); rep.Saved != 100 || rep.Lost != 0 {
				t.Errorf("%s: %+v", what, rep)
			}
		}
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *wrecked) describe(m *Manifest) error {
	m.Dim = testDim
	return nil
}

// TestSalvageRefuses: what is there is not written over, what is no database is not
// read, and a call without time leaves nothing.
func TestSalvageRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	to := filepath.Join(t.TempDir(), "to")
	var locked *LockedError
	if _, err := Folder(dir).Salvage(ctx, to, SalvageOptions{}); !errors.As(err, &locked) {
		t.Errorf("beside a writer: %v", err)
	}
	s.Close()
	if err := os.WriteFile(to, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(dir).Salvage(ctx, to, SalvageOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(filepath.Join(dir, "no")).Salvage(ctx, to, SalvageOptions{}); !errors.Is(err, ErrNoDatabase) {
		t.Errorf("of nothing: %v", err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "mine"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(foreign).Salvage(ctx, to, SalvageOptions{}); !errors.Is(err, ErrForeign) {
		t.Errorf("of other files: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Folder(dir).Salvage(ended, to, SalvageOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
	// At any moment that it looks, the work ends.
	all := &lookedAt{ctx, 1 << 30}
	if _, err := Folder(dir).Salvage(all, filepath.Join(t.TempDir(), "whole"), SalvageOptions{}); err != nil {
		t.Fatal(err)
	}
	looks := 1<<30 - all.left
	for left := 0; left < looks; left += 1 + looks/12 {
		if _, err := Folder(dir).Salvage(&lookedAt{ctx, left}, to, SalvageOptions{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled at look %d: %v", left, err)
		}
	}
	planted := errors.New("planted")
	if _, err := Folder(dir).Salvage(ctx, to, SalvageOptions{Finish: func(context.Context, string) error { return planted }}); !errors.Is(err, planted) {
		t.Errorf("a failing end: %v", err)
	}
	above := filepath.Join(t.TempDir(), "above")
	lose := func(context.Context, string) error {
		return errors.Join(os.Rename(above, above+".away"), os.WriteFile(above, nil, 0o644))
	}
	if _, err := Folder(dir).Salvage(ctx, filepath.Join(above, "to"), SalvageOptions{Finish: lose}); err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("the folder above is lost: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(to), "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSalvageLogs: what a killed writer left in its logs comes back as far as the logs
// are good, with or without a tail that was torn.
func TestSalvageLogs(t *testing.T) {
	t.Parallel()
	var dir string
	var logs []string
	for turn := 0; turn < 10 && len(logs) != 1; turn++ { // a busy writer may be killed before it has flushed the log before
		dir = t.TempDir()
		p := start(t, "write", dir, "after-commit", 40)
		if _, killed := p.wait(t, 0); !killed {
			t.Skip("NOT TESTED: the logs of a killed writer; run on a Unix")
		}
		var err error
		if logs, err = filepath.Glob(filepath.Join(dir, recordsName, "*.mem")); err != nil {
			t.Fatal(err)
		}
	}
	if len(logs) != 1 {
		t.Fatal(logs)
	}
	c := filepath.Join(t.TempDir(), "c")
	copyDir(t, dir, c)
	s := open(t, c, small)
	want := documentsOf(t, s)
	s.Close()
	raw, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	n := used(t, logs[0])
	for name, c := range map[string]struct {
		spoil func(b []byte)
		most  int // documents lost
	}{
		"sound":   {func([]byte) {}, 0},
		"torn":    {func(b []byte) { b[n] = 0x40; b[n+1] = 7 }, 0},
		"entry":   {func(b []byte) { b[n/2] ^= 1 }, 1},
		"several": {func(b []byte) { copy(b[n/2:n/2+700], strings.Repeat("\xff", 700)) }, 8},
	} {
		bad := slices.Clone(raw)
		c.spoil(bad)
		if err := os.WriteFile(logs[0], bad, 0o644); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "to")
		rep, err := Folder(dir).Salvage(ctx, to, SalvageOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := open(t, to, small)
		for id, d := range documentsOf(t, s) {
			if !reflect.DeepEqual(want[id], d) {
				t.Errorf("%s: %q came back as another", name, id)
			}
		}
		if lost := len(want) - s.Len(); lost > c.most || lost < 0 || rep.Lost < lost || (len(rep.Damage) > 0) != (c.most > 0) {
			t.Errorf("%s: %d are lost, %+v", name, lost, rep)
		}
		s.Close()
	}
}

// documentsOf are all documents, by id.
func documentsOf(t *testing.T, s *Store) map[string]*Document {
	t.Helper()
	out := map[string]*Document{}
	for _, d := range held(t, s) {
		out[d.ID] = d
	}
	return out
}

// TestSalvageTerms: rows get the tokens that are made for them, with the vocabulary
// that these are numbers of, also where documents and records of the old one are lost.
func TestSalvageTerms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	var first int
	for i := range 40 {
		b := begin(t, s)
		put(t, b, doc(fmt.Sprint("d", i), i))
		terms := madeTerms(first, first+100)
		if err := b.AddTerms(ctx, first, terms); err != nil {
			t.Fatal(err)
		}
		if first += len(terms); i == 20 {
			put(t, b, &Document{ID: "long", Text: strings.Repeat("x", salvageBytes/2), Rows: []Row{{Vector: make([]float32, testDim)}}})
			put(t, b, &Document{ID: "longer", Text: strings.Repeat("x", salvageBytes/2), Rows: []Row{{Vector: make([]float32, testDim)}}})
		}
		if _, err := b.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	w := s.newStager()
	if err := errors.Join(w.apply(op{key: numberKey(prefixTerms, 300)}, op{key: partKey(prefixRow, 7, 0)}), w.finish()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	made := 0
	to := filepath.Join(t.TempDir(), "new")
	rep, err := Folder(dir).Salvage(ctx, to, SalvageOptions{Tokens: func(_ context.Context, m *Manifest) (func(*Document) []string, error) {
		if m.Dim != testDim {
			t.Errorf("a manifest of %d dimensions", m.Dim)
		}
		return func(d *Document) []string {
			for i := range d.Rows {
				d.Rows[i].Tokens = []int32{int32(made)}
			}
			made++
			return []string{"term of " + d.ID}
		}, nil
	}})
	if err != nil || rep.Saved != 41 || rep.Lost != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	s = open(t, to, small)
	if s.Seq() < 2 {
		t.Fatal("it is all one commit, which shows less")
	}
	terms := termsOf(t, s)
	if len(terms) != 41 {
		t.Fatalf("%d terms", len(terms))
	}
	for _, d := range held(t, s) {
		for _, row := range d.Rows {
			if len(row.Tokens) != 1 || terms[row.Tokens[0]] != "term of "+d.ID {
				t.Errorf("%s has the tokens %v", d.ID, row.Tokens)
			}
		}
	}
	no := errors.New("no")
	if _, err := Folder(dir).Salvage(ctx, to+"2", SalvageOptions{Tokens: func(context.Context, *Manifest) (func(*Document) []string, error) { return nil, no }}); !errors.Is(err, no) {
		t.Errorf("refused: %v", err)
	}
}

// Damage reads the checksums of the vocabulary's records as well.
func TestDamagedTerms(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	addTerms(t, s, 0, madeTerms(0, 5))
	err := s.db.Update(func(txn *badger.Txn) error {
		return txn.Set(numberKey(prefixTerms, 0), append(encodeTerms(madeTerms(0, 5)), "sums"...))
	})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	damage, err := Folder(dir).Damage(ctx, nil)
	if err != nil || len(damage) != 1 || !strings.Contains(damage[0], "checksum mismatch") {
		t.Errorf("%q, %v", damage, err)
	}
}
