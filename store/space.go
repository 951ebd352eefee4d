package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
)

// DiskParts is the disk space of a database by part, in bytes: "tables" and "log" have the records, "files" are other
// files of the store, "reserve" is space that Close frees, "derived/NAME" is a snapshot, and the others are folders.
type DiskParts map[string]int64

// reservePart is the name of the part for the reserve.
const reservePart = "reserve"

// Sum adds up the parts, without the reserve.
func (p DiskParts) Sum() (sum int64) {
	for part, n := range p {
		if part != reservePart {
			sum += n
		}
	}
	return sum
}

// DiskSpace returns DiskSpace of the store's folder.
func (s *Store) DiskSpace() (DiskParts, error) { return Folder(s.dir).DiskSpace() }

// DiskSpace returns the disk space of the files of the database. It leaves out collections, and unreadable
// folders, since they are not part of the database. While the database is open, Badger's log may count some
// megabytes more than its content.
func (f Folder) DiskSpace() (DiskParts, error) {
	parts := DiskParts{}
	dir, err := filepath.EvalSymlinks(string(f)) // a walk does not enter a link
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // compaction removes tables meanwhile
		}
		if path != dir && errors.Is(err, fs.ErrPermission) {
			return fs.SkipDir
		}
		if err == nil && d.IsDir() && path == Folder(dir).Collections() { // they count for themselves
			return fs.SkipDir
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
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		parts[partOf(filepath.ToSlash(name))] += fileBytes(info)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return parts, nil
}

// partOf is the part that a file belongs to.
func partOf(name string) string {
	folder, file, inside := strings.Cut(name, "/")
	switch {
	case name == reserveName:
		return reservePart
	case !inside:
		return "files"
	case folder == derivedName && !temporary.MatchString(file):
		return folder + "/" + strings.TrimSuffix(file, ".snap")
	case folder != recordsName:
		return folder
	case isNumbered(trimSpare(file), ".sst"):
		return "tables"
	case isNumbered(trimSpare(file), ".mem"):
		return "log"
	}
	return "files"
}

// Space returns sizes in bytes: the records of live documents; the records of dead versions that Compact has
// not passed; and the tables on disk. Tables include removed records that are not yet reclaimed, but not
// records that are only in Badger's logs.
func (v *View) Space() (live, dead, disk uint64, err error) {
	err = v.use(func(p *pin) error {
		live, dead, disk = p.st.liveBytes, p.st.deadBytes, p.s.tableBytes()
		return nil
	})
	return live, dead, disk, err
}

// checkSpace refuses writes if the disk could fill up before Badger has flushed and compacted its memory.
// Badger writes through memory maps of files with holes, so a full disk would end the process with a fault
// instead of an error. The check cannot foresee what other programs write.
func (s *Store) checkSpace() error {
	if s.o.InMemory {
		return nil
	}
	return checkSpace(s.dir, s.writeRoom())
}

// free is the free space on the disk, in bytes; the maximum for a database in memory.
func (s *Store) free() (uint64, error) {
	if s.o.InMemory {
		return math.MaxUint64, nil
	}
	return freeBytes(s.dir)
}

// tableBytes is the size of all tables.
func (s *Store) tableBytes() (sum uint64) {
	for _, l := range s.db.Levels() {
		sum += uint64(l.Size)
	}
	return sum
}

// checkSpace returns ErrNoSpace if fewer bytes are free.
func checkSpace(dir string, need uint64) error {
	free, err := freeBytes(dir)
	if err != nil || free >= need {
		return err
	}
	return fmt.Errorf("%w: %d MiB are free below %s, %d MiB are needed", ErrNoSpace, free>>20, dir, (need+1<<20-1)>>20)
}

// openRoom is the space to open a database with n tables, of a process that was killed: it writes its logs into tables,
// and removes an unfinished batch. Then documents can be removed, and the database closed. Badger also compacts at
// once if its tables may be too many or too large for their levels.
func openRoom(o Options, tables uint64, n int, logs uint64) uint64 {
	room := 2*fixedRoom + 2*logs
	if n+4 >= levelZeroTables || tables+logs > baseTables*uint64(o.memtableBytes()) {
		room += tables + logs
	}
	return min(room, writeRoom(o, tables))
}

// writeRoom is the space for all memtables and their logs, and for two compactions, which write new tables before they
// remove the old: at most the size of all tables, and of the files of a few levels.
func writeRoom(o Options, tables uint64) uint64 {
	return flushRoom(o) + min(2*tables, compactionRoom(o))
}

func (s *Store) writeRoom() uint64 { return writeRoom(s.o, s.tableBytes()) }

// compactionRoom is more than all concurrent compactions write. A compaction of all tables at level 0, at
// most 20, includes the level below if that is less than twice its size. At the same time another one takes a
// table and the ten or so that it overlaps.
func compactionRoom(o Options) uint64 { return 40 * uint64(o.memtableBytes()) }

// tablesIn is the size and number of all tables of a closed database.
func tablesIn(dir string) (sum uint64, n int, err error) {
	entries, err := entriesOf(filepath.Join(dir, recordsName))
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".sst" {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return 0, 0, err
		}
		sum, n = sum+uint64(info.Size()), n+1
	}
	return sum, n, nil
}
