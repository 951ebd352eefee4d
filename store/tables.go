package store

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/lexsem/lexsem/internal/regular"
)

// tables are the tables that existed when the database was opened. Badger mishandles a damaged one. It
// leaves out a table with an invalid index. It treats a record in a bad block as absent, so that an
// older one or none is returned. It ends an iteration early there, drops the rest in a compaction, and
// ends the process at a bad footer. So footers, indexes and last blocks, which Badger reads when it
// opens, are checked before that, and other blocks before the first call that reads them. Compactions
// may read anything: everything is checked before the first one.
type tables struct {
	dir       string // of the database
	listed    map[uint64]badger.TableManifest
	levels    [][]*tableFile  // by level, each by first key
	left      atomic.Int64    // tables that were not checked yet, or have a bad block
	checksums *tableChecksums // what HEAD tells of them, or nil
	room      atomic.Int64    // bytes that indexes may still be kept in
}

// file is the table of a number.
func (t *tables) file(id uint64, level int) *tableFile {
	return &tableFile{id: id, path: filepath.Join(t.dir, recordsName, table.IDToFilename(id)), level: level, room: &t.room}
}

// openTables checks the footer, the index and the last block of every table in Badger's MANIFEST, and
// that it is the same table as before.
func openTables(dir string, k *tableChecksums) (*tables, error) {
	t := &tables{dir: dir, checksums: k}
	t.room.Store(indexRoom)
	listed, err := listedTables(dir)
	if err != nil || listed == nil {
		return t, err // a new database; if it is not, HEAD tells
	}
	t.listed = listed
	for id, tm := range listed {
		f := t.file(id, int(tm.Level))
		err := f.open()
		if err == nil {
			err = f.hold(k)
		}
		if err != nil {
			return nil, t.damaged(filepath.Base(f.path), err)
		}
		for len(t.levels) <= f.level {
			t.levels = append(t.levels, nil)
		}
		t.levels[f.level] = append(t.levels[f.level], f)
	}
	for _, files := range t.levels {
		sort.Slice(files, func(i, j int) bool { return bytes.Compare(files[i].first, files[j].first) < 0 })
	}
	t.left.Store(int64(len(listed)))
	return t, nil
}

// listedTables returns the tables in Badger's MANIFEST, nil if there is none.
func listedTables(dir string) (map[uint64]badger.TableManifest, error) {
	m, err := manifestOf(filepath.Join(dir, recordsName, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, (&tables{dir: dir}).damaged(badger.ManifestFilename, firstLine(err))
	}
	return m.Tables, nil
}

// manifestOf reads Badger's MANIFEST. Badger also reports damage if the disk refuses a read, so a
// MANIFEST that it calls damaged is read twice.
func manifestOf(path string) (m badger.Manifest, err error) {
	for range 2 {
		var f *os.File
		if f, err = regular.Open(path); err != nil {
			return m, err
		}
		if _, err = io.Copy(io.Discard, f); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			return m, errors.Join(err, f.Close())
		}
		m, _, err = badger.ReplayManifestFile(f, 0, badger.Options{Logger: logger{slog.New(slog.DiscardHandler)}})
		if err = errors.Join(err, f.Close()); err == nil {
			return m, nil
		}
	}
	return m, err
}

func (t *tables) damaged(name string, err error) error {
	if sys := systemError(err); sys != nil {
		return sys
	}
	return &CorruptError{Dir: t.dir, What: "file " + filepath.Join(recordsName, name), Err: err}
}

// lastVersion is the highest version of a record in a table, 0 without one.
func (t *tables) lastVersion() (v uint64) {
	for _, files := range t.levels {
		for _, f := range files {
			v = max(v, f.last)
		}
	}
	return v
}

// checked reports whether all tables are checked.
func (t *tables) checked() bool { return t.left.Load() == 0 }

// check makes sure that the data in the tables under the keys from one to another, both included, is
// undamaged. The few blocks before a bad one also count as bad, since Badger reads ahead. stop is called
// between tables. Cost: one read of each block in question, once, and for the first calls on a table one
// read of its index.
func (t *tables) check(stop func() error, from, to []byte) error {
	return t.checkThose(stop, from, to, func(*tableFile) bool { return true })
}

// checkKey is check for a call that gets one key: Badger then reads no table whose filter lacks the key.
func (t *tables) checkKey(stop func() error, key []byte) error {
	hash := y.Hash(key)
	return t.checkThose(stop, key, key, func(f *tableFile) bool { return f.mayHold(hash) })
}

// checkThose is check for the tables for which isRead is true.
func (t *tables) checkThose(stop func() error, from, to []byte, isRead func(*tableFile) bool) error {
	if t.checked() {
		return nil
	}
	for level, files := range t.levels {
		i := 0
		if level > 0 { // whose tables do not overlap
			i = sort.Search(len(files), func(i int) bool { return bytes.Compare(files[i].first, from) >= 0 })
			i = max(i-1, 0)
		}
		for ; i < len(files) && bytes.Compare(files[i].first, to) <= 0; i++ {
			f := files[i]
			if !isRead(f) {
				continue
			}
			if err := t.checkFile(stop, f, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAll is check for all keys.
func (t *tables) checkAll(stop func() error) error {
	if t.checked() {
		return nil
	}
	for _, files := range t.levels {
		for _, f := range files {
			if err := t.checkFile(stop, f, nil, []byte{0xff}); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFile is check for one table.
func (t *tables) checkFile(stop func() error, f *tableFile, from, to []byte) error {
	if !f.done.Load() {
		if err := stop(); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	if !f.done.Load() {
		if err := f.check(from, to); err != nil {
			return t.damaged(filepath.Base(f.path), err)
		}
		if f.done.Load() && len(f.bad) == 0 {
			t.left.Add(-1)
		}
	}
	for _, b := range f.bad {
		if bytes.Compare(from, b.to) <= 0 && bytes.Compare(to, b.from) >= 0 {
			return t.damaged(filepath.Base(f.path), b.err)
		}
	}
	return nil
}

// compactionDue reports whether Badger may start to compact before another memtable is full. This
// depends on the size of the levels, and at level 0 on the number of tables, including those from the
// memtables in its logs and the one that Close writes.
func (t *tables) compactionDue(options Options, logs int) bool {
	const last = 6
	var sizes [last + 1]int64
	for level, files := range t.levels {
		for _, f := range files {
			sizes[min(level, last)] += f.size
		}
	}
	o := badgerOptions("", options)
	if len(t.levels) > 0 && len(t.levels[0])+logs+1 >= o.NumLevelZeroTables || logs+1 >= o.NumLevelZeroTables {
		return true
	}
	target := sizes[last]
	for level := last - 1; level > 0; level-- {
		target /= int64(o.LevelSizeMultiplier)
		if sizes[level] >= max(target, o.BaseLevelSize) {
			return true
		}
	}
	return false
}
