package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/private"
)

// reserveName is a file that holds space on the disk while the database is open
// for writing, where the system can allocate it: what writers that make room
// need, and Close, is there even when others have filled the disk. Both give it
// up when they need it.
const reserveName = "RESERVE"

// flushRoom is what Badger needs for its memtables, their logs and the tables
// that it makes of them.
func flushRoom(o Options) uint64 { return 6 * uint64(o.memtableBytes()) }

// freeRoom is what Badger needs while documents are removed a transaction at a
// time: less than the reserve, so that it serves for many.
func freeRoom(o Options) uint64 { return 3 * uint64(o.memtableBytes()) }

// keepReserve makes the reserve if there is room for it beside what writers need.
// Without it the disk may be too full to delete from the database and to close
// it; the errors say so.
func (s *Store) keepReserve() {
	path := filepath.Join(s.dir, reserveName)
	err := s.releaseReserve() // of a process that died, of another size
	if err == nil {
		var free uint64
		free, err = s.free()
		if err == nil && free < flushRoom(s.o)+s.writeRoom() {
			return
		}
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, private.File)
	}
	if err == nil {
		if err = allocate(f, int64(flushRoom(s.o))); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		s.o.logger().Warn("no space could be reserved for a full disk", "file", path, "error", err)
	}
}

// releaseReserve gives the space back.
func (s *Store) releaseReserve() error {
	err := os.Remove(filepath.Join(s.dir, reserveName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// need returns ErrNoSpace if less than n bytes are free, after it has given up the
// reserve.
func (s *Store) need(n uint64, what string) error {
	free, err := s.free()
	if err != nil || free >= n {
		return err
	}
	if err := s.releaseReserve(); err != nil {
		return err
	}
	if free, err = s.free(); err != nil || free >= n {
		return err
	}
	return fmt.Errorf("%s: %w: %.1f MiB are free below %s, %.1f MiB are needed", what, ErrNoSpace, mib(free), s.dir, mib(n))
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// checkSpaceToFree is checkSpace for what removes documents: it asks for less,
// and may use the reserve.
func (s *Store) checkSpaceToFree() error {
	return s.need(freeRoom(s.o)+s.nextCompaction(), "removing documents")
}

// checkSpaceToClose asks for room for the flush of what memtables hold.
func (s *Store) checkSpaceToClose() error {
	held := min(2*uint64(s.written.Load()), freeRoom(s.o))
	if s.replayed {
		held = freeRoom(s.o)
	}
	if held == 0 {
		return nil
	}
	return s.need(held+1<<20+s.nextCompaction(), "closing the database")
}

// nextCompaction is how much a compaction may write that begins before another
// memtable and the one of Close are flushed: no more than the tables that it
// reads.
func (s *Store) nextCompaction() (sum uint64) {
	levels := s.db.Levels()
	var above bool // a level that is due is above
	for _, l := range levels {
		due := l.Level == 0 && l.NumTables+2 >= s.db.Opts().NumLevelZeroTables || l.Level > 0 && l.Score >= 1
		if due || above {
			sum += uint64(l.Size)
		}
		above = due || above && l.Size == 0
	}
	return min(sum, compactionRoom(s.o))
}
