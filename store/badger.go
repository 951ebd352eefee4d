package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// recordsName is the folder, in the folder of the database, that only Badger uses.
const recordsName = "records"

// Badger's defaults guarantee less than this package: no sync, no checksums, and memory for 5 memtables of 64
// MiB and a cache of 256 MiB. So these options are set:
//   - every commit is synced unless NoSync is set;
//   - all values stay in the tree (partBytes is below ValueThreshold), so the value log is empty, needs no
//     collection and gets the smallest possible file: the kernel clears pages of it at each opening, more for
//     a large one;
//   - nothing is compressed (vectors do not shrink), so blocks are read from
//     the memory map without a cache, their checksums verified each time;
//   - a memtable gets 1/16 of the memory granted: one is filled while up to two
//     are flushed, each an arena of 1.3 times its nominal size, and the builders
//     of tables, which Badger keeps in a pool, take three times as much again;
//   - where Badger locks by itself, on Windows, it refuses to read only, so a
//     reader bypasses its lock and takes that of the database only;
//   - a compaction takes twelve tables at once: each rewrites the whole level
//     below, since every table of a memtable spans all kinds of keys.
func badgerOptions(dir string, o Options) badger.Options {
	folder := filepath.Join(dir, recordsName)
	if o.InMemory {
		folder = ""
	}
	return badger.DefaultOptions(folder).
		WithInMemory(o.InMemory).
		WithSyncWrites(!o.NoSync).
		WithReadOnly(o.ReadOnly).
		WithLogger(logger{o.logger()}).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithIndexCacheSize(0).
		WithMemTableSize(o.memtableBytes()).
		WithNumMemtables(2).
		WithBaseTableSize(max(o.memtableBytes()/4, 1<<20)). // each is an open file
		WithBaseLevelSize(baseTables * o.memtableBytes()).
		WithNumLevelZeroTables(levelZeroTables).
		WithNumLevelZeroTablesStall(20).
		WithNumCompactors(2).
		WithCompactL0OnClose(false).
		WithValueThreshold(valueThreshold).
		WithValueLogFileSize(1 << 20).
		WithVerifyValueChecksum(true).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithDetectConflicts(false). // one writer at a time
		WithBypassLockGuard(!badgerLocks || o.ReadOnly).
		WithMetricsEnabled(false).
		WithNumGoroutines(2)
}

// baseTables is how many memtables the first level below holds.
const baseTables = 5

// levelZeroTables is how many tables one compaction takes. Tests of compactions set it.
var levelZeroTables = 12

const (
	// valueThreshold is the size from which Badger would put a value into its value log. It must be smaller than the
	// largest transaction: 15 % of a memtable, which has 2 MiB or more.
	valueThreshold = 300 << 10
	// partBytes is the payload of one part of a large record.
	partBytes = 128 << 10
)

// openBadger checks the files, as far as k allows, and opens them. Every failure of Badger on damaged files,
// including a panic, becomes a *CorruptError. If it may write, it sets aside tables that Badger does not list, and
// logs whose content is in tables. It calls ready before it opens them.
func openBadger(dir string, o Options, k *tableChecksums, ready func() error, keep func() *keeper) (db *badger.DB, t *tables, kept *keeper, err error) {
	records := filepath.Join(dir, recordsName)
	logs := 0
	if o.ReadOnly {
		if err := checkLogs(records); err != nil {
			return nil, nil, nil, err
		}
	}
	t, err = openTables(dir, k)
	if err != nil {
		return nil, nil, nil, err
	}
	stray, err := strayTables(records, t.listed)
	if err != nil {
		return nil, nil, nil, err
	}
	flushed, err := flushedLogs(records, t.lastVersion())
	if err != nil {
		return nil, nil, nil, err
	}
	spare := append(stray, flushed...)
	if o.ReadOnly {
		// Badger removes tables that it does not list, even when it is opened read-only.
		if len(spare) > 0 {
			return nil, nil, nil, ErrUnclean
		}
	} else {
		if err := setAside(spare); err != nil {
			return nil, nil, nil, err
		}
		numbers, err := logsIn(records)
		if err != nil {
			return nil, nil, nil, err
		}
		if logs = len(numbers); t.compactionDue(o, logs) {
			if err := t.checkAll(func() error { return nil }); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	if err := k.hold(t.listed); err != nil {
		return nil, nil, nil, t.damaged(badger.ManifestFilename, err)
	}
	if err := fence(records, o, len(t.listed)); err != nil {
		return nil, nil, nil, err
	}
	if err := ready(); err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			if sys := systemError(firstLine(r)); sys != nil {
				db, err = nil, fmt.Errorf("opening database %s: %w", dir, sys)
				return
			}
			db, err = nil, &CorruptError{Dir: dir, What: "Badger cannot open its files", Err: firstLine(r)}
		}
	}()
	open := func() (*badger.DB, error) {
		opt := badgerOptions(dir, o)
		if !o.ReadOnly {
			kept = keep()
			opt = opt.WithLogger(watch{logger{o.logger()}, kept}).
				WithNumLevelZeroTablesStall(opt.NumLevelZeroTablesStall + logs) // compactions begin after it
		}
		return badger.Open(opt)
	}
	if db, err = survive(open); err != nil && systemError(err) == nil {
		// Badger says the same of a MANIFEST that is damaged and of one that the
		// disk refused to give; damage stays.
		db, err = survive(open)
	}
	switch {
	case err == nil:
		return db, t, kept, nil
	case o.ReadOnly && strings.Contains(err.Error(), badger.ErrTruncateNeeded.Error()):
		return nil, nil, nil, ErrUnclean
	case strings.Contains(err.Error(), "Another process is using this Badger database"):
		return nil, nil, nil, &LockedError{Dir: dir} // our own lock was removed
	case systemError(err) != nil:
		return nil, nil, nil, fmt.Errorf("opening database %s: %w", dir, systemError(err))
	}
	return nil, nil, nil, &CorruptError{Dir: dir, What: "Badger cannot open its files", Err: firstLine(err)}
}

// checkLogs returns ErrUnclean if a log has not even a head, as a process leaves
// it that dies while Badger makes or removes one: Badger wants to size it, which
// a reader may not. On Windows it does so for every log: one that Badger refuses to
// cut for a reader stays in its memory, and no later opening could cut it. A clean end leaves none.
func checkLogs(records string) error {
	entries, err := entriesOf(records)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !isNumbered(e.Name(), ".mem") && !isNumbered(e.Name(), ".vlog") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() < logHead || badgerLocks && isNumbered(e.Name(), ".mem") {
			return ErrUnclean
		}
	}
	return nil
}

// refusals are errors of the operating system that do not mean damage. The text of ENFILE begins with that of
// EMFILE.
var refusals = []error{syscall.ENOSPC, syscall.ENFILE, syscall.EMFILE, syscall.EACCES, syscall.EPERM,
	syscall.EROFS, syscall.ENOMEM, syscall.EIO, syscall.EFBIG}

// systemError returns err, if the operating system refused something, as an error that wraps the cause, and
// also ErrNoSpace for a full disk; else nil. It compares texts, since most errors of Badger do not wrap their cause.
func systemError(err error) error {
	for _, e := range refusals {
		if !errors.Is(err, e) && !strings.Contains(err.Error(), e.Error()) {
			continue
		}
		if e == syscall.ENOSPC {
			return &causedError{err, []error{ErrNoSpace, e}}
		}
		return &causedError{err, []error{e}}
	}
	return nil
}

// causedError is an error with additional causes that its text does not show.
type causedError struct {
	error
	causes []error
}

// Unwrap returns the causes, for errors.Is.
func (e *causedError) Unwrap() []error {
	return append(e.causes[:len(e.causes):len(e.causes)], e.error)
}

// tidy removes files without content that Badger cannot open: logs without a header, which a process leaves
// that dies while Badger creates or deletes one; value logs without entries, since all values are in the
// tree; and a damaged registry of keys that is too short for a key, since nothing is encrypted. If damage
// made a log empty, HEAD and the count of records show it.
func tidy(records string, log *slog.Logger) error {
	entries, err := entriesOf(records)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(records, e.Name())
		info, err := e.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		var remove bool
		switch {
		case isNumbered(e.Name(), ".mem"):
			remove = info.Size() < logHead
		case isNumbered(e.Name(), ".vlog"):
			if remove, err = holdsNoValues(path); err != nil {
				return err
			}
		case e.Name() == badger.KeyRegistryFileName && info.Size() <= registryBytes:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if remove = len(b) < registryBytes || string(b[registrySalt:]) != "Hello Badger"; remove {
				log.Warn("the registry of encryption keys is damaged; nothing is encrypted, so it is made anew", "file", path)
			}
		}
		if !remove {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// A registry without keys is a salt and a text of twelve bytes, unencrypted if nothing is encrypted.
const (
	registrySalt  = 16
	registryBytes = registrySalt + 12
)

// logHead is the size of the head of Badger's logs.
const logHead = 20

// isNumbered reports whether a file of Badger's has a name of digits and ext.
func isNumbered(name, ext string) bool {
	digits, ok := strings.CutSuffix(name, ext)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// holdsNoValues reports whether a value log has nothing after its header, where its first entry would be. A
// log with entries is not from this package.
func holdsNoValues(path string) (bool, error) {
	const entry = 64 // bytes, not all zero, that an entry begins with
	b, _, err := beginning(path, logHead, entry)
	return strings.Trim(string(b), "\x00") == "", err
}

// logger passes Badger's messages on. Badger logs routine events at its info level; here they are debug
// messages.
type logger struct{ l *slog.Logger }

func (l logger) log(level slog.Level, format string, args []any) {
	if l.l.Enabled(context.Background(), level) {
		l.l.Log(context.Background(), level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

func (l logger) Errorf(f string, a ...any)   { l.log(slog.LevelError, f, a) }
func (l logger) Warningf(f string, a ...any) { l.log(slog.LevelWarn, f, a) }
func (l logger) Infof(f string, a ...any)    { l.log(slog.LevelDebug, f, a) }
func (l logger) Debugf(f string, a ...any)   { l.log(slog.LevelDebug, f, a) }
