package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Options shape Open. The zero value is a good default.
type Options struct {
	// NoSync leaves it to the operating system when writes reach the disk.
	// Many small batches get much faster; a loss of power may then lose the
	// last ones. The end of the process still loses nothing, and Close makes
	// everything durable. Derived state must not be written from such a store
	// before its Close: after a loss of power it could be ahead of it.
	NoSync bool
	// ReadOnly opens without the right to write. Several readers may have a
	// database open at once, but not beside a writer.
	ReadOnly bool
	// MemoryMiB is about the memory that buffers and compactions keep, in MiB,
	// not counting memory-mapped files; 0 means 128, less than 64 counts as 64.
	// Under Go's default settings the heap grows to about twice what is kept.
	MemoryMiB int
	// Logger gets warnings and, at its debug level, what Badger is doing; nil
	// means none.
	Logger *slog.Logger
}

func (o Options) memoryMiB() int {
	if o.MemoryMiB == 0 {
		return 128
	}
	return max(o.MemoryMiB, 64)
}

// memtableBytes is the nominal size of one of Badger's memtables.
func (o Options) memtableBytes() int64 {
	return min(int64(o.memoryMiB())<<20/16, 64<<20)
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	dir  string
	o    Options
	lock *os.File
	head *head // nil if read-only
	db   *badger.DB

	writer chan struct{} // holds one token; who has it may write
	failed atomic.Pointer[error]

	mu       sync.Mutex // guards what follows
	idle     sync.Cond  // signals active == 0
	active   int        // calls in progress
	closed   bool
	closeErr error
	stop     chan struct{} // closed when Close begins
	done     chan struct{} // closed when Close has finished
	manifest Manifest
	batch    *Batch            // in progress
	last     *pin              // of the last commit
	pins     map[*pin]struct{} // not yet given back
}

// failpoint, if not nil, is called at named moments. Tests set it.
var failpoint func(name string)

func hit(name string) {
	if failpoint != nil {
		failpoint(name)
	}
}

// Open opens the database in dir, or creates it unless o.ReadOnly is set, and
// repairs what a process that died left behind: batches without commit are
// removed and an interrupted Compact is finished. It reads all tables once to
// verify their checksums, and after an unclean end counts the records.
//
// Errors: *LockedError, *CorruptError, *VersionError, ErrUnclean and
// ErrNoDatabase (read-only), or the operating system's.
func Open(dir string, o Options) (_ *Store, err error) {
	if _, err := Exists(dir); err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	s := &Store{
		dir: dir, o: o, pins: map[*pin]struct{}{},
		writer: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.idle.L = &s.mu
	s.writer <- struct{}{}
	if s.lock, err = lockDir(dir, o.ReadOnly); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			if s.last != nil {
				s.last.txn.Discard()
			}
			err = errors.Join(s.keepSpares(err), s.release())
		}
	}()
	m, slot, marked, present, err := readHead(dir)
	if err != nil {
		return nil, err
	}
	if marked && m.major > FormatMajor {
		return nil, &VersionError{Dir: dir, Major: m.major, Supported: FormatMajor}
	}
	exists, err := Exists(dir)
	if err != nil {
		return nil, err
	}
	fresh := !exists
	if fresh && o.ReadOnly {
		return nil, ErrNoDatabase
	}
	if !o.ReadOnly {
		if err := removeTemporaries(dir); err != nil {
			return nil, err
		}
	}
	if !o.ReadOnly {
		tables, err := tableBytesIn(dir)
		if err != nil {
			return nil, err
		}
		if err := checkSpace(dir, o, tables); err != nil {
			return nil, err
		}
	}
	if s.db, err = openBadger(dir, o); err != nil {
		return nil, err
	}
	st, err := s.load(m, marked, fresh)
	if err != nil {
		return nil, err
	}
	if present && !marked {
		o.logger().Warn("the mark of acknowledged writes is damaged; writing it anew", "file", filepath.Join(dir, headName))
	}
	if !o.ReadOnly {
		if s.head, err = openHead(dir, slot); err != nil {
			return nil, err
		}
		if err := s.head.writeAll(s.mark(st, false)); err != nil {
			return nil, err
		}
		if st, err = s.recover(st); err != nil {
			return nil, err
		}
		if err := syncDir(dir); err != nil {
			return nil, err
		}
	}
	s.last = s.newPin(st)
	if !fresh && !m.clean {
		if err := s.last.count(); err != nil {
			return nil, err
		}
	}
	if !o.ReadOnly {
		if err := removeSpares(s.records()); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// load reads state and manifest, or writes the first ones, and compares the
// state with the mark.
func (s *Store) load(m mark, marked, fresh bool) (st state, err error) {
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	p, err := s.get(txn, keyState)
	if errors.Is(err, ErrNotFound) {
		if marked && m.gen > 0 {
			return st, s.corrupt("all records are missing", nil)
		}
		empty, err := isEmpty(txn)
		if err != nil {
			return st, err
		}
		if !empty {
			return st, s.corrupt("the state record is missing", nil)
		}
		if s.o.ReadOnly {
			return st, ErrNoDatabase
		}
		if n, err := countSpares(s.records()); err != nil {
			return st, err
		} else if n > 0 {
			return st, s.corrupt("the state record is missing", nil)
		}
		return s.create()
	}
	if err != nil {
		return st, err
	}
	if st, err = decodeState(p); err != nil {
		return st, s.corrupt("state record", err)
	}
	if marked && st.gen < m.gen {
		return st, s.corrupt(fmt.Sprintf("%d acknowledged writes after number %d are missing", m.gen-st.gen, st.gen), nil)
	}
	if p, err = s.get(txn, keyManifest); err != nil {
		if errors.Is(err, ErrNotFound) {
			err = s.corrupt("the manifest is missing", nil)
		}
		return st, err
	}
	gen, mf, err := decodeManifest(p)
	if err != nil {
		return st, s.corrupt("manifest", err)
	}
	if mf.Major > FormatMajor {
		return st, &VersionError{Dir: s.dir, Major: mf.Major, Supported: FormatMajor}
	}
	if gen != st.manifestGen {
		return st, s.corrupt("an acknowledged change of the manifest is missing", nil)
	}
	s.manifest = mf
	return st, nil
}

// create writes the first state and manifest.
func (s *Store) create() (state, error) {
	st := state{gen: 1, nextOrd: 1, manifestGen: 1}
	s.manifest = Manifest{
		Major: FormatMajor, Minor: FormatMinor,
		UUID: newUUID(), Created: time.Now().UTC().Truncate(time.Second),
	}
	return st, s.writeManifest(st, s.manifest)
}

// mark is what HEAD says of a state.
func (s *Store) mark(st state, clean bool) mark {
	return mark{major: FormatMajor, minor: FormatMinor, clean: clean, gen: st.gen}
}

// Close waits for calls in progress, discards a batch in progress, makes
// everything durable and releases the database. Further calls of Close do
// nothing and return the same error.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return s.closeErr
	}
	s.closed = true
	close(s.stop)
	for s.active > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()

	if s.batch != nil {
		s.batch.w.txn.Discard()
	}
	st := s.last.st
	for p := range s.pins {
		p.txn.Discard()
	}
	err := s.db.Close()
	s.db = nil
	if s.head != nil && err == nil {
		err = s.head.writeAll(s.mark(st, s.failed.Load() == nil))
	}
	s.closeErr = errors.Join(err, s.release())
	close(s.done)
	return s.closeErr
}

// release closes what is open, in the order that keeps the lock to the last.
func (s *Store) release() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.head != nil {
		errs = append(errs, s.head.close())
	}
	return errors.Join(append(errs, unlockDir(s.lock, s.o.ReadOnly))...)
}

// current is the state of the last commit.
func (s *Store) current() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.st
}

// Seq returns the sequence number of the last commit, 0 if there is none.
func (s *Store) Seq() uint64 { return s.current().seq }

// Len returns the number of documents.
func (s *Store) Len() int { return int(s.current().live) }

// Dir returns the database's folder.
func (s *Store) Dir() string { return s.dir }

// corrupt makes a *CorruptError.
func (s *Store) corrupt(what string, err error) error {
	return &CorruptError{Dir: s.dir, What: what, Err: err}
}
