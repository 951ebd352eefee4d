package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
)

// reserveName is a file that reserves space on the disk while the database is open for writing, if the system
// can allocate it. So removals and Close have space even when others have filled the disk. Both free it when
// they need it. It grows with the database, so that a small one takes little.
const reserveName = "RESERVE"

// flushRoom is the space that Badger needs for its memtables, their logs and the tables made from them.
func flushRoom(o Options) uint64 { return 6 * uint64(o.memtableBytes()) }

// freeRoom is the space that Badger needs while documents are removed one transaction at a time: less than
// the reserve, so the reserve suffices for many.
func freeRoom(o Options) uint64 { return 3 * uint64(o.memtableBytes()) }

// fixedRoom is more than the size of MANIFEST, HEAD and the headers of tables and logs.
const fixedRoom = 128 << 10

// held is the size of tables and memtables.
func (s *Store) held() uint64 { return s.tableBytes() + uint64(s.unflushed.Load()) }

// removal is an upper bound of what removing all documents writes: some records without content for each, with keys as
// long as ids may be, and no more than is stored.
func (s *Store) removal() uint64 {
	st := s.current()
	return min(s.held(), 4096*st.live+st.deadBytes)
}

// removeRoom is freeRoom, or less for a small database: the space that removals write to the log, and to the table
// made from it.
func (s *Store) removeRoom() uint64 { return min(freeRoom(s.o), fixedRoom+3*s.removal()) }

// closeRoom is the space that Close needs to write tables from memtables of n bytes.
func (s *Store) closeRoom(n uint64) uint64 { return min(fixedRoom+2*n, freeRoom(s.o)+1<<20) }

// reserveRoom is the size of the reserve: enough to remove all documents and then to close.
func (s *Store) reserveRoom() uint64 {
	return min(flushRoom(s.o), 2*fixedRoom+2*uint64(s.unflushed.Load())+6*s.removal())
}

// keepReserve makes the reserve.
func (s *Store) keepReserve() {
	if err := s.releaseReserve(); err != nil { // of a process that died, of another size
		s.noReserve(err)
		return
	}
	s.reserved.Store(0)
	s.growReserve()
}

// growReserve extends the reserve to the size that the database now needs, if the disk has room for it in
// addition to the writers' needs. Without it the disk may be too full to delete from the database and to close
// it; the errors say so. A reserve that was freed is not created again. The caller must hold the writer's slot.
func (s *Store) growReserve() {
	has, needs := s.reserved.Load(), int64(s.reserveRoom())
	if has < 0 || needs <= has || s.o.InMemory {
		return
	}
	needs = min(max(needs, 2*has), int64(flushRoom(s.o))) // which makes few steps
	free, err := s.free()
	if err == nil && free < uint64(needs-has)+s.writeRoom() {
		return
	}
	var f *os.File
	if err == nil {
		f, err = regular.OpenOwn(filepath.Join(s.dir, reserveName), os.O_WRONLY|os.O_CREATE, private.File)
	}
	if err == nil {
		err = errors.Join(allocate(f, needs), f.Close())
	}
	if err != nil {
		s.noReserve(errors.Join(err, s.releaseReserve()))
		return
	}
	if !s.reserved.CompareAndSwap(has, needs) { // Close has given it up meanwhile
		s.noReserve(s.releaseReserve())
	}
}

// shrinkReserve reduces a reserve that has become too large. The caller must hold the writer's slot.
func (s *Store) shrinkReserve() {
	if s.reserved.Load() > int64(s.reserveRoom())*3/2 {
		s.keepReserve()
	}
}

// noReserve ends the attempts to make a reserve.
func (s *Store) noReserve(err error) {
	s.reserved.Store(-1)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		s.o.logger().Warn("no space could be reserved for a full disk", "file", filepath.Join(s.dir, reserveName), "error", err)
	}
}

// releaseReserve frees the space of the reserve.
func (s *Store) releaseReserve() error {
	s.reserved.Store(-1)
	path := filepath.Join(s.dir, reserveName)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() { // something else of that name stays
		return nil
	}
	return errors.Join(err, os.Remove(path))
}

// need returns ErrNoSpace if fewer than n bytes are free even without the reserve.
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

// checkSpaceToFree is checkSpace for removals of documents: it requires less, and may use the reserve.
func (s *Store) checkSpaceToFree() error {
	return s.need(s.removeRoom()+s.nextCompaction(), "removing documents")
}

// checkSpaceToFlush is checkSpaceToFree for Flush, which fills a memtable.
func (s *Store) checkSpaceToFlush() error {
	return s.need(freeRoom(s.o)+s.nextCompaction(), "compacting")
}

// checkSpaceToClose requires space for the flush of the memtables.
func (s *Store) checkSpaceToClose() error {
	n := uint64(s.unflushed.Load())
	if n == 0 {
		return nil
	}
	return s.need(s.closeRoom(n)+s.nextCompaction(), "closing the database")
}

// nextCompaction is the maximum that a compaction writes which begins before another memtable and that of
// Close are flushed: the size of the tables that it reads.
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
