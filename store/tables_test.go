package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// tabled is a database of several tables, none of them at level 0, made once for
// all tests.
var tabled struct {
	sync.Mutex
	docs  []*Document
	files map[string][]byte // by path below its folder
}

// tabledDir writes a copy of tabled and returns its folder, its documents, which no
// test may change, and its tables.
func tabledDir(t *testing.T) (string, []*Document, []string) {
	t.Helper()
	tabled.Lock()
	defer tabled.Unlock()
	if tabled.files == nil {
		made, docs := makeTabled(t)
		files := map[string][]byte{}
		err := filepath.WalkDir(made, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				rel, _ := filepath.Rel(made, path)
				files[rel], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tabled.docs, tabled.files = docs, files
	}
	dir := t.TempDir()
	for name, raw := range tabled.files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, raw, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := filepath.Glob(filepath.Join(dir, recordsName, "*.sst"))
	if err != nil || len(tables) < 5 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	return dir, tabled.docs, tables
}

// makeTabled makes it anew, in a folder of the test's.
func makeTabled(t *testing.T) (string, []*Document) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, small)
	r := rand.New(rand.NewPCG(1, 2))
	var docs []*Document
	for range 4 {
		b := begin(t, s)
		for range 750 {
			d := doc(fmt.Sprintf("%0512d", len(docs)), len(docs)) // so that the ids take several blocks
			text := make([]byte, 6000)
			for k := range text {
				text[k] = byte(r.IntN(256))
			}
			d.Text, d.Rows = string(text), d.Rows[:1]
			d.Rows[0].Start, d.Rows[0].End = 0, len(text)
			docs = append(docs, d)
			put(t, b, d)
		}
		if _, err := b.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, small)
	if err := s.db.Flatten(1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, docs
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := []byte{0}
	_, err = f.ReadAt(b, at)
	b[0] ^= 1 << (at % 8)
	_, werr := f.WriteAt(b, at)
	if err := errors.Join(err, werr, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedTable flips a bit in each table in turn. The database opens unless
// opening has to read there; a record in the table is an error, never absent or
// another, and every other record is as it was. Writing stops before Badger
// compacts.
func TestDamagedTable(t *testing.T) {
	t.Parallel()
	dir, docs, files := tabledDir(t)
	r := rand.New(rand.NewPCG(3, 4))
	opened := 0
	if few := 4; !trial.Long() { // of all levels: the first, the last and some between
		var some []string
		for i := range few {
			some = append(some, files[i*(len(files)-1)/(few-1)])
		}
		files = some
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		at := r.Int64N(info.Size() * 9 / 10)
		flip(t, file, at)
		for _, o := range []Options{{ReadOnly: true, MemoryMiB: 64}, small} {
			s, err := Open(dir, o)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s, byte %d: %v", filepath.Base(file), at, err)
				}
				continue
			}
			opened++
			bad := 0
			for _, d := range docs {
				ord, ok, err := s.Lookup(d.ID)
				var got *Document
				if err == nil && ok {
					got, err = s.Get(t.Context(), ord)
				}
				switch {
				case errors.Is(err, ErrCorrupt):
					bad++
				case err != nil || !ok || !reflect.DeepEqual(got, d):
					t.Fatalf("%s, byte %d: document %s: %v, %v", filepath.Base(file), at, d.ID, ok, err)
				}
			}
			if o.ReadOnly {
				if _, err := s.Verify(ctx, nil); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s, byte %d: verify: %v", filepath.Base(file), at, err)
				}
			} else {
				refused := writeUntilRefused(t, s)
				if !errors.Is(refused, ErrCorrupt) {
					t.Errorf("%s, byte %d: writing: %v", filepath.Base(file), at, refused)
				}
			}
			if bad > len(docs)/10 { // the smallest records, rows, are 54 a block, and five blocks count as bad
				t.Errorf("%s, byte %d: %d of %d documents cannot be read", filepath.Base(file), at, bad, len(docs))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		flip(t, file, at)
	}
	if opened == 0 {
		t.Error("no damaged database opened")
	}
	s := open(t, dir, small) // mended
	for _, d := range docs {
		if got := find(t, s, d.ID); !reflect.DeepEqual(got, d) {
			t.Fatalf("document %s differs", d.ID)
		}
	}
	if _, err := s.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

// writeUntilRefused writes documents and discards them, until it is refused or
// a memtable's worth is through.
func writeUntilRefused(t *testing.T, s *Store) error {
	b := begin(t, s)
	defer b.Discard()
	d := doc("more", 1)
	d.Text = string(make([]byte, 4000))
	for i := range small.memtableBytes() / 4000 {
		d.ID = fmt.Sprint("more-", i)
		if _, err := b.Put(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// TestDamagedEnd flips bits in what Badger reads when it opens: footers, indexes
// and last blocks. Badger would leave such a table out, or end the process.
func TestDamagedEnd(t *testing.T) {
	t.Parallel()
	dir, _, files := tabledDir(t)
	for i, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, back := range []int64{1, 3, 8, 15, 100, 2000} {
			at := info.Size() - back - int64(i%2)
			flip(t, file, at)
			for _, o := range []Options{{ReadOnly: true, MemoryMiB: 64}, small} {
				if s, err := Open(dir, o); !errors.Is(err, ErrCorrupt) {
					if err == nil {
						s.Close()
					}
					t.Errorf("%s, byte %d: %v", filepath.Base(file), at, err)
				}
			}
			flip(t, file, at)
		}
	}
	open(t, dir, small)
}

// TestOpenReadsNoMoreThanItMust holds opening to the tables that it reads.
func TestOpenReadsNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	dir, docs, files := tabledDir(t)
	s := open(t, dir, small)
	if left := int(s.tables.left.Load()); left < len(files)/2 {
		t.Errorf("%d of %d tables were not read", left, len(files))
	}
	add(t, s, doc("new", 1))
	if s.tables.checked() {
		t.Error("a small batch has read all tables")
	}
	if find(t, s, docs[0].ID) == nil {
		t.Error("a document is gone")
	}
	writeUntilRefused(t, s)
	if !s.tables.checked() {
		t.Error("a large batch goes on without having read all tables")
	}
}

// TestGetReadsTablesThatMayHoldTheKey: of many tables at level 0, which all span the key, those that do not hold it are
// left alone.
func TestGetReadsTablesThatMayHoldTheKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	const rounds = 8
	for i := range rounds {
		add(t, s, doc(fmt.Sprint("d", i), i))
		if err := s.Flush(t.Context()); err != nil { // into a table
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ts, err := openTables(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := ts.levels[0]
	if len(files) < rounds {
		t.Fatalf("%d tables at level 0", len(files))
	}
	read := func(key []byte) (n int) {
		t.Helper()
		if err := ts.checkKey(func() error { return nil }, key); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.read != nil {
				n++
			}
			f.read, f.next = nil, 0
			f.done.Store(false)
		}
		return n
	}
	for ord := range uint64(rounds) {
		if n := read(partKey(prefixDocument, ord+1, 0)); n < 1 || n > 2 {
			t.Errorf("document %d: %d of %d tables are read", ord+1, n, len(files))
		}
	}
	if n := read(partKey(prefixDocument, 1000, 0)); n > 1 {
		t.Errorf("a key that is nowhere: %d of %d tables are read", n, len(files))
	}
	if f := (&tableFile{}); !f.mayHold(1) {
		t.Error("a table without a filter is not read")
	}
}

// TestGetMeetsDamage: a key in a bad block is never taken for absent.
func TestGetMeetsDamage(t *testing.T) {
	t.Parallel()
	dir, _, _ := tabledDir(t)
	ts, err := openTables(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, files := range ts.levels {
		for _, f := range files {
			if f.blocks < 2 || f.first[0] != prefixDocument {
				continue
			}
			tried++
			flip(t, f.path, 40)
			s := open(t, dir, small)
			if there, err := s.has(s.last.txn, f.first); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s of a bad block: %t, %v", keyName(f.first), there, err)
			}
			s.Close()
			flip(t, f.path, 40)
			break
		}
	}
	if tried == 0 {
		t.Error("no table begins with a document: the test shows nothing")
	}
}

// TestChecksOfTablesEnd: no call reads much more of a table than it needs, and after some all is read.
func TestChecksOfTablesEnd(t *testing.T) {
	t.Parallel()
	dir, _, _ := tabledDir(t)
	s := open(t, dir, small)
	defer s.Close()
	tried := 0
	for _, files := range s.tables.levels {
		for _, f := range files {
			if f.size < 8*aside {
				continue
			}
			tried++
			f.mu.Lock()
			count := func() (n int) {
				for _, r := range f.read {
					if r {
						n++
					}
				}
				return n
			}
			before, calls := count(), 0
			for ; !f.done.Load() && calls <= f.blocks; calls++ {
				if err := f.check(f.first, f.first); err != nil {
					t.Fatal(err)
				}
				read := count()
				if read-before > f.blocks/4 {
					t.Errorf("a call reads %d of %d blocks", read-before, f.blocks)
				}
				before = read
			}
			if !f.done.Load() || before != f.blocks || calls > f.blocks/2 {
				t.Errorf("%d of %d blocks are read by %d calls", before, f.blocks, calls)
			}
			f.mu.Unlock()
		}
	}
	if tried == 0 {
		t.Error("no table is large enough: the test shows nothing")
	}
}

// TestConcurrentFirstReads reads from tables that nobody has read yet.
func TestConcurrentFirstReads(t *testing.T) {
	t.Parallel()
	dir, docs, _ := tabledDir(t)
	s := open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 100 {
				d := docs[r.IntN(len(docs))]
				ord, ok, err := s.Lookup(d.ID)
				if err != nil || !ok {
					t.Errorf("document %s: %v %v", d.ID, ok, err)
					return
				}
				if got, err := s.Get(t.Context(), ord); err != nil || got.Text != d.Text {
					t.Errorf("document %s: %v", d.ID, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestMissingRecordOfALiveID(t *testing.T) {
	s := open(t, t.TempDir(), small)
	add(t, s, doc("a", 1), doc("b", 1))
	w := s.newStager()
	for _, prefix := range []byte{prefixDocument, prefixRow} {
		if err := w.apply(op{key: partKey(prefix, 1, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	s.setPin(s.newPin(s.current()))
	if _, _, err := s.Lookup("a"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("lookup: %v", err)
	}
	if _, ok, err := s.Lookup("b"); err != nil || !ok {
		t.Errorf("lookup of the other: %v %v", ok, err)
	}
	if err := s.Scan(ctx, 0, func(uint64, []Row) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("scan: %v", err)
	}
}

// TestCompactionDue: the level below the first one is due by the size of the memtables of the
// database at hand, the first one by the number of its tables and of those to come.
func TestCompactionDue(t *testing.T) {
	sized := func(level int, bytes int64) *tables {
		ts := &tables{levels: make([][]*tableFile, 7)}
		ts.levels[level] = []*tableFile{{size: bytes}}
		return ts
	}
	many := func(n int) *tables {
		return &tables{levels: [][]*tableFile{slices.Repeat([]*tableFile{{size: 1}}, n)}}
	}
	for _, o := range []Options{small, {}} {
		first := badgerOptions("", o)
		for _, c := range []struct {
			name string
			t    *tables
			logs int
			due  bool
		}{
			{"no tables", &tables{}, 1, false},
			{"a level that is not full", sized(5, first.BaseLevelSize-1), 1, false},
			{"a full level", sized(5, first.BaseLevelSize), 1, true},
			{"the last level", sized(6, 100*first.BaseLevelSize), 1, false},
			{"room for the log and one more", many(first.NumLevelZeroTables - 3), 1, false},
			{"no room", many(first.NumLevelZeroTables - 2), 1, true},
		} {
			if due := c.t.compactionDue(o, c.logs); due != c.due {
				t.Errorf("memory of %d MiB, %s: due %t, want %t", o.memoryMiB(), c.name, due, c.due)
			}
		}
	}
}
