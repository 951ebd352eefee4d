package store

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/lexsem/lexsem/internal/atomicfile"
)

// If a compaction of Badger (v4.9.6) cannot create or sync its new table, it continues without it and
// removes the old ones: in levels.go, defer inflightBuilders.Done(err) evaluates err before it is set.
// Before any old table is removed, the compacting goroutine logs how many keys it has added to each new
// table, and later that it is done. Badger does not remove a table that an iterator holds. So a keeper
// holds all tables from the first of these messages on, by an unused iterator; at the last message it
// compares the keys that were added with those of the new tables. If some are missing, it holds the old
// tables until the process ends, and undo restores them at the next opening.
//
// Only one compaction at a time is past its first table, so that each is compared before another uses its
// tables.
type keeper struct {
	records string
	log     *slog.Logger
	hold    func() (release func(), ok bool) // holds all tables and logs; not ok where there is no memtable
	fail    func(error)

	replaces atomic.Bool           // a compaction may be replacing tables
	lost     atomic.Pointer[error] // tables are missing: what is read is not to be trusted

	mu      sync.Mutex
	changed sync.Cond
	db      *badger.DB // nil while Badger opens
	closing bool       // nothing can be held any more
	held    map[uint64]bool
	release func() // of what is held while Badger closes
	now     *compaction
	broken  bool // what is held stays so
	copied  bool

	onCompared func() // for tests, or nil
}

// compaction is a compaction that has added keys.
type compaction struct {
	id      int // of Badger's goroutine
	before  map[uint64]badger.TableInfo
	added   uint64 // keys
	release func() // nil where the tables are copied or held by the keeper
}

func newKeeper(records string, log *slog.Logger, hold func() (func(), bool), fail func(error)) *keeper {
	k := &keeper{records: records, log: log, hold: hold, fail: fail}
	k.changed.L = &k.mu
	return k
}

// opened allows compactions to begin. They wait for it, since nothing can be held before.
func (k *keeper) opened(db *badger.DB) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.db = db
	k.changed.Broadcast()
}

// close holds the existing tables for compactions during Badger's Close, and makes copies of tables that
// are created meanwhile.
func (k *keeper) close(db *badger.DB) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.db, k.closing, k.held = db, true, map[uint64]bool{}
	if release, ok := k.hold(); ok {
		k.release = release
		for _, t := range k.db.Tables() {
			k.held[t.ID] = true
		}
	}
	k.changed.Broadcast()
}

// closed releases what was held, after Badger was closed, and removes the copies.
func (k *keeper) closed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken {
		return nil
	}
	if k.release != nil {
		k.release()
	}
	var err error
	if k.copied {
		err = removeSpares(k.records)
	}
	// If a power cut undoes the removal of a copy, the table would not be in Badger's list, and a reader would report
	// an unclean end.
	return errors.Join(err, atomicfile.SyncDir(k.records))
}

// adds is called before a table of n keys is created, by the goroutine with number id.
func (k *keeper) adds(id int, n uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.now != nil && k.now.id != id || k.db == nil && !k.closing {
		k.changed.Wait()
	}
	if k.now == nil {
		k.now = k.begin(id)
	}
	k.now.added += n
}

// begin holds the tables, or copies them.
func (k *keeper) begin(id int) *compaction {
	c := &compaction{id: id}
	if k.db != nil {
		c.before = map[uint64]badger.TableInfo{}
		for _, t := range k.db.Tables() {
			c.before[t.ID] = t
		}
	}
	if !k.closing {
		if release, ok := k.hold(); ok {
			c.release = release
			return c
		}
	}
	for {
		err := k.copy(c)
		if err == nil {
			return c
		}
		k.log.Error("a compaction waits until its tables can be copied", "dir", k.records, "error", err)
		time.Sleep(time.Second) // as Badger tries a flush again
	}
}

// copy copies tables that are not held; the copies have the names of set-aside tables.
func (k *keeper) copy(c *compaction) error {
	entries, err := entriesOf(k.records)
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, ok := table.ParseFileID(e.Name())
		if _, listed := c.before[id]; !ok || k.held[id] || c.before != nil && !listed {
			continue
		}
		path := filepath.Join(k.records, e.Name())
		b, err := os.ReadFile(path)
		if err == nil {
			err = atomicfile.Write(path+spareExt, func(f *os.File) error { _, err := f.Write(b); return err })
		}
		if err != nil {
			return err
		}
		k.copied = true
	}
	return nil
}

// done is called after a compaction: err is nil, or Badger's error.
func (k *keeper) done(id int, err error) {
	k.mu.Lock()
	c := k.now
	if c == nil || c.id != id {
		k.mu.Unlock()
		return
	}
	if err == nil && k.db != nil {
		if err = c.compare(k.db.Tables()); err != nil {
			k.lost.Store(&err)
		} else if k.onCompared != nil {
			k.onCompared()
		}
	} else if err != nil && strings.Contains(err.Error(), "while running compactions for") {
		err = nil // before MANIFEST was written
	}
	if err != nil {
		k.broken = true
		k.fail(err)
	}
	keeps := k.broken
	k.now = nil
	k.replaces.Store(false)
	k.changed.Broadcast()
	k.mu.Unlock()
	if c.release != nil && !keeps {
		c.release()
	}
}

// compare compares the tables after a compaction with the keys that it has added. Its new tables are
// below level 0, or are one table there, of no later version than its inputs.
func (c *compaction) compare(now []badger.TableInfo) error {
	gone := maps.Clone(c.before)
	for _, t := range now {
		delete(gone, t.ID)
	}
	var last, below uint64
	for _, t := range gone {
		last = max(last, t.MaxVersion)
	}
	whole := false
	for _, t := range now {
		if _, old := c.before[t.ID]; old {
			continue
		}
		if t.Level > 0 {
			below += uint64(t.KeyCount)
		} else if uint64(t.KeyCount) == c.added && t.MaxVersion <= last {
			whole = true
		}
	}
	if below == c.added || below == 0 && whole {
		return nil
	}
	return fmt.Errorf("a compaction failed: its tables have %d of %d records; the next opening restores the tables from before",
		below, c.added)
}

// settled returns an error if earlier reads may be wrong because tables are missing. If a compaction has
// just replaced tables, it waits for its end.
func (k *keeper) settled() error {
	if k == nil {
		return nil
	}
	if k.replaces.Load() {
		k.wait()
	}
	if err := k.lost.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, *err)
	}
	return nil
}

func (k *keeper) wait() {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.now
	if c == nil || k.db == nil {
		return
	}
	there := 0
	for _, t := range k.db.Tables() {
		if _, ok := c.before[t.ID]; ok {
			there++
		}
	}
	if there == len(c.before) {
		return
	}
	for k.now == c {
		k.changed.Wait()
	}
}

// watch is the logger of a writable database: it informs the keeper about Badger's actions, which it
// recognises by the formats of Badger's messages.
type watch struct {
	logger
	k *keeper
}

func (w watch) Debugf(f string, a ...any) {
	switch {
	case f == "[%d] LOG Compact. Added %d keys. Skipped %d keys. Iteration took: %v" && len(a) > 1:
		id, n := number[int](a[0]), number[uint64](a[1])
		w.k.adds(id, n)
	case f == "Discard stats: %v": // all keys of a part are added
		w.k.replaces.Store(true)
	case f == "[Compactor: %d] Compaction for level: %d DONE" && len(a) > 0:
		w.k.done(number[int](a[0]), nil)
	}
	w.logger.Debugf(f, a...)
}

func (w watch) Warningf(f string, a ...any) {
	w.logger.Warningf(f, a...)
	if f == "[Compactor: %d] LOG Compact FAILED with error: %+v: %+v" && len(a) > 1 {
		w.k.done(number[int](a[0]), failed(a[1]))
	}
}

func (w watch) Errorf(f string, a ...any) {
	w.logger.Errorf(f, a...)
	switch {
	case f == "Received err: %v. Cleaning up...": // Open fails, and waits for compactions
		w.k.mu.Lock()
		w.k.closing = true
		w.k.changed.Broadcast()
		w.k.mu.Unlock()
	case f == "error flushing memtable to disk: %v, retrying" && len(a) > 0:
		// Else MANIFEST may name a table that Badger has removed.
		if err := failed(a[0]); !strings.Contains(err.Error(), "error while creating table") {
			w.k.mu.Lock()
			w.k.broken = true
			w.k.mu.Unlock()
			w.k.fail(err)
		}
	}
}

// failed is the error in a message.
func failed(v any) error {
	if err, ok := v.(error); ok {
		return fmt.Errorf("the MANIFEST of Badger could not be written: %w", err)
	}
	return errors.New("the MANIFEST of Badger could not be written")
}

// number is an argument of a message, 0 if it is of another type.
func number[T int | uint64](v any) T {
	n, _ := v.(T)
	return n
}
