package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	// last ones. The end of the process still loses nothing.
	NoSync bool
	// ReadOnly opens without the right to write. Several readers may have a
	// database open at once, but not beside a writer.
	ReadOnly bool
	// MemoryMiB is the memory that buffers and compactions may take, in MiB,
	// not counting memory-mapped files; 0 means 128, less than 32 counts as 32.
	MemoryMiB int
	// Logger gets warnings and, at its debug level, what Badger is doing; nil
	// means none.
	Logger *slog.Logger
}

func (o Options) memoryMiB() int {
	if o.MemoryMiB == 0 {
		return 128
	}
	return max(o.MemoryMiB, 32)
}

// memtableBytes is the nominal size of one of Badger's memtables.
func (o Options) memtableBytes() int64 {
	return min(max(int64(o.memoryMiB())<<20/8, 4<<20), 64<<20)
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
			err = errors.Join(err, s.release())
		}
	}()
	m, slot, marked, present, err := readHead(dir)
	if err != nil {
		return nil, err
	}
	if marked && m.major > FormatMajor {
		return nil, &VersionError{Dir: dir, Major: m.major, Supported: FormatMajor}
	}
	fresh, err := s.isFresh(present)
	if err != nil {
		return nil, err
	}
	if fresh && o.ReadOnly {
		return nil, ErrNoDatabase
	}
	if !o.ReadOnly {
		if err := removeTemporaries(dir); err != nil {
			return nil, err
		}
	}
	if !o.ReadOnly {
		if err := checkSpace(dir, o); err != nil {
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
	return s, nil
}

// isFresh says whether the folder holds no database yet: neither HEAD nor
// Badger's files.
func (s *Store) isFresh(head bool) (bool, error) {
	if head {
		return false, nil
	}
	_, err := os.Stat(filepath.Join(s.dir, recordsName))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
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

// writeManifest writes manifest and state in one transaction.
func (s *Store) writeManifest(st state, m Manifest) error {
	p, err := encodeManifest(st.gen, m)
	if err != nil {
		return err
	}
	txn := s.db.NewTransaction(true)
	defer txn.Discard()
	if err := errors.Join(set(txn, keyManifest, p), set(txn, keyState, st.encode())); err != nil {
		return err
	}
	return txn.Commit()
}

func encodeManifest(gen uint64, m Manifest) ([]byte, error) {
	p, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if len(p) > MaxManifestBytes {
		return nil, fmt.Errorf("manifest has %d bytes, at most %d are allowed: %w", len(p), MaxManifestBytes, ErrTooLarge)
	}
	return append(appendNumbers(nil, gen), p...), nil
}

func decodeManifest(p []byte) (gen uint64, m Manifest, err error) {
	if len(p) < 8 {
		return 0, m, fmt.Errorf("%w: ends early", errRecord)
	}
	if err := decodeNumbers(p[:8], &gen); err != nil {
		return 0, m, err
	}
	return gen, m, json.Unmarshal(p[8:], &m)
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

// enter admits a call; leave must follow it. Calls within calls are fine.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.active++
	return nil
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 {
		s.idle.Broadcast()
	}
}

// startWriting waits for the writer's slot; stopWriting must follow.
func (s *Store) startWriting(ctx context.Context) error {
	if s.o.ReadOnly {
		return ErrReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.writer:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stop:
		return ErrClosed
	}
	if cause := s.failed.Load(); cause != nil {
		s.stopWriting()
		return fmt.Errorf("%w: %w", ErrFailed, *cause)
	}
	return nil
}

func (s *Store) stopWriting() { s.writer <- struct{}{} }

// fail refuses all further writes: what err left on disk is not known.
func (s *Store) fail(err error) { s.failed.CompareAndSwap(nil, &err) }

// finish makes a durable write visible: the mark, then the readers' pin.
func (s *Store) finish(st state) error {
	if !s.o.NoSync {
		if err := s.head.write(s.mark(st, false)); err != nil {
			s.fail(err)
			return err
		}
	}
	s.setPin(s.newPin(st))
	return nil
}

// Manifest returns a copy of the manifest.
func (s *Store) Manifest() Manifest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.manifest.clone()
}

// SetManifest lets change edit a copy of the manifest and writes it in one
// synced transaction. An error of change leaves everything as it is. It waits
// for a batch in progress; do not call it between Begin and Commit of the same
// goroutine.
func (s *Store) SetManifest(ctx context.Context, change func(*Manifest) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.startWriting(ctx); err != nil {
		return err
	}
	defer s.stopWriting()
	old := s.Manifest()
	m := old.clone()
	if err := change(&m); err != nil {
		return err
	}
	st := s.current()
	if err := m.checkChange(old, st.live); err != nil {
		return err
	}
	if err := s.checkSpace(); err != nil {
		return err
	}
	st.gen++
	st.manifestGen = st.gen
	if err := s.writeManifest(st, m); err != nil {
		if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrManifest) {
			s.fail(err)
		}
		return err
	}
	s.mu.Lock()
	s.manifest = m.clone()
	s.mu.Unlock()
	return s.finish(st)
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

// DiskBytes returns what all files below the folder take on disk.
func (s *Store) DiskBytes() (int64, error) {
	var sum int64
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // compaction removes tables meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		sum += fileBytes(info)
		return nil
	})
	return sum, err
}

// checkSpace refuses writes while the disk could fill up before Badger has
// flushed what it holds: it writes through memory maps of files with holes,
// and a full disk would then end the process with a fault instead of an error.
func (s *Store) checkSpace() error { return checkSpace(s.dir, s.o) }

func checkSpace(dir string, o Options) error {
	free, err := freeBytes(dir)
	if err != nil {
		return err
	}
	if need := 6 * uint64(o.memtableBytes()); free < need {
		return fmt.Errorf("%w: %d MiB are free below %s, %d MiB are needed", ErrNoSpace, free>>20, dir, need>>20)
	}
	return nil
}

// corrupt makes a *CorruptError.
func (s *Store) corrupt(what string, err error) error {
	return &CorruptError{Dir: s.dir, What: what, Err: err}
}
