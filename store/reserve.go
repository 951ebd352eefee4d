package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/private"
)

// reserveName is a file that holds space on the disk while the database is open
// for writing, where the system can allocate it: what removals need, and Close, is there even
// when others have filled the disk. Both give it up when they need it. It grows with the
// database, so that a small one takes little.
const reserveName = "RESERVE"

// flushRoom is what Badger needs for its memtables, their logs and the tables
// that it makes of them.
func flushRoom(o Options) uint64 { return 6 * uint64(o.memtableBytes()) }

// freeRoom is what Badger needs while documents are removed a transaction at a
// time: less than the reserve, so that it serves for many.
func freeRoom(o Options) uint64 { return 3 * uint64(o.memtableBytes()) }

// fixedRoom is more than what MANIFEST, HEAD and the heads of tables and logs take.
const fixedRoom = 128 << 10

// held is how much the tables and the memtables hold: without end where logs were replayed, of which that is not known.
func (s *Store) held() uint64 {
	if s.replayed {
		return math.MaxUint64 / 16
	}
	return s.tableBytes() + uint64(s.unflushed.Load())
}

// removal is more than what it writes to remove all documents: some records without contents for each, of keys as long as
// ids may be, and no more than what is held.
func (s *Store) removal() uint64 {
	st := s.current()
	return min(s.held(), 4096*st.live+st.deadBytes)
}

// removeRoom is freeRoom, or less for a small database: what removals write to the log, and to the table that follows.
func (s *Store) removeRoom() uint64 { return min(freeRoom(s.o), fixedRoom+3*s.removal()) }

// closeRoom is what Close needs to write tables of memtables of n bytes.
func (s *Store) closeRoom(n uint64) uint64 { return min(fixedRoom+2*n, freeRoom(s.o)+1<<20) }

// reserveRoom is the size of the reserve: room to remove all documents, and to close then.
func (s *Store) reserveRoom() uint64 {
	if s.replayed { // memtables may be full
		return flushRoom(s.o)
	}
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

// growReserve brings the reserve to the size that the database needs by now, if there is room for it beside what
// writers need. Without it the disk may be too full to delete from the database and to close
// it; the errors say so. A reserve that was given up is not made again. The caller has the writer's slot.
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
		f, err = os.OpenFile(filepath.Join(s.dir, reserveName), os.O_WRONLY|os.O_CREATE, private.File)
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

// shrinkReserve brings a reserve to its size that has become too large. The caller has the writer's slot.
func (s *Store) shrinkReserve() {
	if s.reserved.Load() > int64(s.reserveRoom())*3/2 {
		s.keepReserve()
	}
}

// noReserve ends the attempts to keep a reserve.
func (s *Store) noReserve(err error) {
	s.reserved.Store(-1)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		s.o.logger().Warn("no space could be reserved for a full disk", "file", filepath.Join(s.dir, reserveName), "error", err)
	}
}

// releaseReserve gives the space back.
func (s *Store) releaseReserve() error {
	s.reserved.Store(-1)
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
	return s.need(s.removeRoom()+s.nextCompaction(), "removing documents")
}

// checkSpaceToFlush is checkSpaceToFree for Flush, which fills a memtable.
func (s *Store) checkSpaceToFlush() error {
	return s.need(freeRoom(s.o)+s.nextCompaction(), "compacting")
}

// checkSpaceToClose asks for room for the flush of what memtables hold.
func (s *Store) checkSpaceToClose() error {
	n := uint64(s.unflushed.Load())
	if s.replayed {
		n = s.held()
	}
	if n == 0 {
		return nil
	}
	return s.need(s.closeRoom(n)+s.nextCompaction(), "closing the database")
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
