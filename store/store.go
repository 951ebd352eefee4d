package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/filelock"
)

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	dir         string
	o           Options
	lock        *os.File
	recordsLock *os.File // Badger's, or nil (lockBadger)
	head        *head    // nil if read-only
	db          *badger.DB

	tight       tight
	keep        *keeper // of tables, while Badger compacts; nil if read-only
	tables      *tables // that were there at Open
	seed        uint32  // of the values' checksums
	broughtOver bool    // from format 1: values of that time have no seed

	writer    chan struct{} // holds one token; who has it may write
	written   atomic.Int64  // bytes since Open
	unflushed atomic.Int64  // the same, since the last flush
	replayed  atomic.Int64  // bytes in logs at Open, which Badger writes into tables from then on
	stuck     bool          // the last flush was waited for in vain; who has the writer's slot may use it
	failed    atomic.Pointer[error]

	created *trace // what was in the folder before this opening made a database there
	wipes   *trace // the same, if release removes that database again

	forgotten forgotten
	probe     probe
	reserved  atomic.Int64 // bytes of the reserve; -1 when it was given up, or cannot be made

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

// failpoint, if not nil, is called at named points. Tests set it.
var failpoint func(name string)

func hit(name string) {
	if failpoint != nil {
		failpoint(name)
	}
}

// Open opens the database in dir, or creates it unless o.ReadOnly is set. It repairs the remains of a
// dead process: uncommitted batches are removed, and an interrupted Compact or HandOver is finished.
// After an unclean end it counts the records written since the last opening. Unless o.ReadOnly is set,
// a database of format 1 is converted. A folder with other files is refused and not changed.
//
// Cost: it reads footers and indexes of the tables, not their contents. Contents are checked when they
// are first read, before Badger's first compaction, and by Verify. The call that meets damage returns
// the error.
//
// Errors: *foreignError, *LockedError, *CorruptError, *VersionError, ErrUnclean and ErrNoDatabase
// (read-only), or those of the operating system.
func Open(dir string, o Options) (_ *Store, err error) {
	if o.InMemory {
		return openInMemory(dir, o)
	}
	exists, err := Folder(dir).Exists()
	if err != nil {
		return nil, err
	}
	if !exists && o.ReadOnly {
		return nil, ErrNoDatabase
	}
	var before *trace
	if !o.ReadOnly {
		if !exists {
			if before, err = newTrace(dir); err != nil {
				return nil, err
			}
		}
		if err := claim(dir); err != nil {
			return nil, err
		}
	}
	s := newStore(dir, o)
	defer func() {
		if errors.Is(err, syscall.ENOSPC) {
			err = systemError(err)
		}
		if errors.Is(err, ErrNoSpace) && exists && !o.ReadOnly {
			err = fmt.Errorf("%w; a program that opens it read-only (serve --read-only) can search meanwhile", err)
		}
	}()
	if s.lock, err = lockDir(dir, o.ReadOnly); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(s.keepSpares(err), s.release())
		}
	}()
	s.tighten(ours)
	if handed, err := decided(dir); err != nil {
		return nil, err
	} else if handed && o.ReadOnly {
		return nil, fmt.Errorf("%w (another database takes its place)", ErrUnclean)
	}
	if err := takeOver(dir); err != nil {
		return nil, err
	}
	m, slot, marked, present, err := readHead(dir)
	if err != nil {
		return nil, err
	}
	if marked && m.major > formatMajor {
		return nil, &VersionError{Dir: dir, Major: m.major, Supported: formatMajor}
	}
	if exists, err = Folder(dir).Exists(); err != nil { // the lock is held now
		return nil, err
	}
	fresh := !exists
	if fresh && o.ReadOnly {
		return nil, ErrNoDatabase
	}
	if fresh {
		s.wipes = before
	}
	var logs int64
	if o.logged, logs, err = logRoom(s.records()); err != nil {
		return nil, err
	}
	s.replayed.Store(logs)
	s.o = o
	if !o.ReadOnly {
		if err := removeTemporaries(dir); err != nil {
			return nil, err
		}
		if err := s.releaseReserve(); err != nil { // of a process that died
			return nil, err
		}
		tables, n, err := tablesIn(dir)
		if err != nil {
			return nil, err
		}
		room := writeRoom(o, tables)
		if !fresh && marked && m.major >= formatHistory { // nothing is to be brought over
			room = openRoom(o, tables, n, uint64(logs))
		}
		if err := checkSpace(dir, room); err != nil {
			return nil, err
		}
	}
	if s.recordsLock, err = lockBadger(dir, o.ReadOnly); err != nil {
		return nil, err
	}
	known, err := readChecksums(dir, m, o)
	if err != nil {
		return nil, err
	}
	missing := false
	if !o.ReadOnly {
		if missing, err = mend(s.records(), marked && m.clean, o.logger()); err != nil {
			return nil, err
		}
	}
	keep := func() *keeper { return newKeeper(s.records(), o.logger(), s.hold, s.fail) }
	if s.db, s.tables, s.keep, err = openBadger(dir, o, known, func() error { return s.openHead(m, slot) }, keep); err != nil {
		if o.ReadOnly && !(marked && m.clean) && errors.Is(err, ErrCorrupt) {
			return nil, fmt.Errorf("%w (%v)", ErrUnclean, err) // a writer tells what is damage
		}
		return nil, err
	}
	s.setPin(s.newPin(state{}))
	if s.keep != nil {
		s.keep.opened(s.db)
	}
	st, err := s.load(m, marked)
	if err != nil {
		return nil, err
	}
	if marked {
		p := &pin{s: s, st: st, txn: s.db.NewTransaction(false)}
		err := p.checkHistory(m)
		p.discard()
		if err != nil {
			return nil, err
		}
	}
	if !marked { // nothing tells what lay in tables
		st.safeOrd, st.safeSeq, st.newLive = 1, 0, st.live
	}
	clean := fresh || marked && m.clean && m.gen == st.gen
	if clean {
		st.safeOrd, st.safeSeq, st.newLive = st.nextOrd, st.seq, 0
	} else {
		st.trimmed = 0 // what was removed may be there again
	}
	if present && !marked {
		o.logger().Warn("the mark of acknowledged writes is damaged; writing it anew", "file", filepath.Join(dir, headName))
	}
	if !o.ReadOnly {
		if err := s.head.writeAll(s.mark(st, false)); err != nil {
			return nil, err
		}
		if st, err = s.recover(st); err != nil {
			return nil, err
		}
		if err := atomicfile.SyncDir(dir); err != nil {
			return nil, err
		}
	}
	s.setPin(s.newPin(st))
	if !clean {
		if err := s.last.countNew(); err != nil {
			return nil, err
		}
	}
	if missing {
		if _, err := s.last.count(context.Background()); err != nil {
			return nil, err
		}
	}
	if !o.ReadOnly {
		if err := removeSpares(s.records()); err != nil {
			return nil, err
		}
		s.keepReserve() // as nobody writes yet, it has the writer's slot
	}
	s.tightenNew()
	s.created, s.wipes = s.wipes, nil
	return s, nil
}

// newStore returns a store without content.
func newStore(dir string, o Options) *Store {
	s := &Store{
		dir: dir, o: o, pins: map[*pin]struct{}{}, tables: &tables{dir: dir},
		writer: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), probe: probe{turn: make(chan struct{}, 1)},
	}
	s.idle.L = &s.mu
	s.writer <- struct{}{}
	return s
}

// openInMemory is Open for Options.InMemory.
func openInMemory(dir string, o Options) (_ *Store, err error) {
	if o.ReadOnly {
		return nil, fmt.Errorf("database in memory: %w, and there is nothing to read; open it for writing", ErrReadOnly)
	}
	o.NoSync = true // no HEAD is behind what is written
	s := newStore(dir, o)
	if s.db, err = badger.Open(badgerOptions("", o)); err != nil {
		return nil, fmt.Errorf("database in memory: %w", firstLine(err))
	}
	s.setPin(s.newPin(state{}))
	st, err := s.create()
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	st.safeOrd, st.safeSeq = st.nextOrd, st.seq
	s.setPin(s.newPin(st))
	return s, nil
}

// load reads manifest and state, or writes the first ones, and compares the state with the mark.
func (s *Store) load(m mark, marked bool) (st state, err error) {
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	p, err := s.get(txn, keyManifest)
	if errors.Is(err, ErrNotFound) {
		return s.loadNothing(txn, m, marked)
	}
	if err != nil {
		return st, err
	}
	gen, mf, err := decodeManifest(p)
	if err != nil {
		return st, s.corrupt("manifest", err)
	}
	if mf.Major > formatMajor {
		return st, &VersionError{Dir: s.dir, Major: mf.Major, Supported: formatMajor}
	}
	s.manifest = mf
	s.broughtOver = mf.From != 0 || mf.Major < formatHistory
	if mf.Major >= formatHistory {
		s.seed = mf.UUID.seed()
	}
	p, err = s.get(txn, keyState)
	if errors.Is(err, ErrNotFound) {
		return st, s.corrupt("the state record is missing", nil)
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
	if gen != st.manifestGen {
		return st, s.corrupt("an acknowledged change of the manifest is missing", nil)
	}
	return st, nil
}

// loadNothing is load without a manifest: there must be no other record, and no sign of one.
func (s *Store) loadNothing(txn *badger.Txn, m mark, marked bool) (st state, err error) {
	if marked && m.gen > 0 {
		return st, s.corrupt("all records are missing", nil)
	}
	if err := s.tables.checkAll(s.stopped); err != nil {
		return st, err
	}
	empty, err := isEmpty(txn)
	if err != nil {
		return st, err
	}
	if !empty {
		return st, s.corrupt("the manifest is missing", nil)
	}
	if s.o.ReadOnly {
		return st, ErrNoDatabase
	}
	if n, err := countSpares(s.records()); err != nil {
		return st, err
	} else if n > 0 {
		return st, s.corrupt("the manifest is missing", nil)
	}
	return s.create()
}

// create writes the first state and manifest.
func (s *Store) create() (state, error) {
	s.manifest = Manifest{
		Major: formatHistory, Minor: formatMinor,
		UUID: newUUID(), Created: time.Now().UTC().Truncate(time.Second),
	}
	s.seed = s.manifest.UUID.seed()
	st := state{gen: 1, nextOrd: 1, manifestGen: 1, safeOrd: 1, history: firstHistory(s.manifest.UUID)}
	st.baseHistory = st.history
	return st, s.writeManifest(st, s.manifest)
}

// Close waits for calls in progress, discards an open batch, makes everything durable, writes the
// table checksums (for which it reads tables written since Open), and releases the database. Further
// calls do nothing and return the same error. ErrNoSpace means that the disk is too full for the data
// in memory. Then nothing is closed, committed data is in the log, and Close can be called again when
// there is room.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return s.closeErr
	}
	if !s.o.ReadOnly && s.Replaced() == nil { // of a folder that is gone, nobody knows the space, and nothing is written
		if err := s.checkSpaceToClose(); err != nil {
			s.mu.Unlock()
			return err
		}
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
	if err := s.Replaced(); err != nil && s.failed.Load() == nil {
		s.db, s.wipes = nil, nil // Badger would write into the folder: it stays open, and ends with the process
		s.closeErr = errors.Join(err, s.release())
		close(s.done)
		return s.closeErr
	}
	err := s.closeBadger()
	if s.head != nil && err == nil {
		clean := s.failed.Load() == nil
		if clean {
			s.tables.checksums = s.writeChecksums()
		}
		err = s.head.writeAll(s.mark(st, clean))
	}
	if !s.o.ReadOnly {
		err = errors.Join(err, s.releaseReserve())
	}
	s.closeErr = errors.Join(err, s.release())
	close(s.done)
	return s.closeErr
}

// Abandon is Close for an opening that failed: a database that it has made and that has no commit is removed again.
func (s *Store) Abandon() error {
	if s.created != nil && s.current().seq == 0 {
		s.wipes = s.created
	}
	return s.Close()
}

// closeBadger closes Badger, and releases what was held for undo.
func (s *Store) closeBadger() error {
	if s.keep != nil {
		s.keep.close(s.db)
	}
	s.mu.Lock() // a compaction that ends now gives its pin back
	for p := range s.pins {
		p.discard()
	}
	s.mu.Unlock()
	err := s.db.Close()
	s.db = nil
	s.tightenNew()
	if s.keep != nil && err == nil {
		err = s.keep.closed()
	}
	return err
}

// release closes what is open and releases the lock last.
func (s *Store) release() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.closeBadger())
	}
	if s.head != nil {
		errs = append(errs, s.head.close())
	}
	if s.recordsLock != nil {
		errs = append(errs, filelock.Release(s.recordsLock))
	}
	if s.wipes != nil && runtime.GOOS != "windows" { // where the lock could not be removed
		errs = append(errs, s.wipes.wipe(recordsName, derivedName, headName, reserveName))
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

// corrupt makes a *CorruptError, unless the operating system has refused something: that is not
// damage, and no reason to restore a backup.
func (s *Store) corrupt(what string, err error) error {
	if err != nil {
		if sys := systemError(err); sys != nil {
			return fmt.Errorf("database %s: %s: %w", s.dir, what, sys)
		}
	}
	return &CorruptError{Dir: s.dir, What: what, Err: err}
}
