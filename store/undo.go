package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"google.golang.org/protobuf/proto"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/regular"
)

// manifestHead is the length of the header of Badger's MANIFEST; changesHead is that of the header of each of
// its sets of changes: the length and the CRC-32C, big-endian.
const (
	manifestHead = 8
	changesHead  = 8
)

// mend prepares Badger's files for opening for writing: it removes logs without content, restores the names of
// set-aside tables, and after an unclean end calls undo.
func mend(records string, clean bool, log *slog.Logger) (missing bool, err error) {
	if err := tidy(records, log); err != nil {
		return false, err
	}
	if _, err := returnSpares(records); err != nil || clean {
		return false, err
	}
	return undo(records, log)
}

// undo repairs Badger's MANIFEST after an unclean end, before Badger opens. From the last compaction
// backwards, it undoes those whose old tables all exist. The keeper keeps the old tables of a failed
// compaction; undoing a good one does no harm. Then it removes missing tables of level 0 from the list. A
// failed sync of MANIFEST leaves their names; their content is in logs, or in the next table. missing reports
// that there was one, so that all records must be counted. Other mismatches are left to the code that reads
// the tables.
func undo(records string, log *slog.Logger) (missing bool, err error) {
	path := filepath.Join(records, badger.ManifestFilename)
	raw, err := regular.ReadFile(path, math.MaxInt32)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := manifestOf(path); err != nil {
		return false, systemError(err) // of damage who reads the tables tells
	}
	sets, err := changeSets(raw)
	if err != nil {
		return false, err
	}
	listed := map[uint64]*pb.ManifestChange{}
	for _, set := range sets {
		for _, c := range set.Changes {
			if delete(listed, c.Id); c.Op == pb.ManifestChange_CREATE {
				listed[c.Id] = c
			}
		}
	}
	undone := 0
	for i, set := range slices.Backward(sets) {
		old, compacts := deleted(sets[:i+1])
		if !compacts {
			continue
		}
		whole, err := takeBack(records, set, old, listed)
		if err != nil {
			return false, err
		}
		if !whole {
			break
		}
		undone++
	}
	for id, c := range listed {
		if c.Level > 0 {
			continue
		}
		_, err := os.Lstat(tablePath(records, id))
		if errors.Is(err, fs.ErrNotExist) {
			delete(listed, id)
			missing = true
		} else if err != nil {
			return false, err
		}
	}
	if undone == 0 && !missing {
		return false, nil
	}
	log.Warn("compactions that failed are undone", "dir", records, "compactions", undone, "lost names", missing)
	return missing, writeTableList(path, raw[:manifestHead], listed)
}

func tablePath(records string, id uint64) string {
	return filepath.Join(records, table.IDToFilename(id))
}

// changeSets reads the sets of a MANIFEST that Badger can read, up to an incomplete one.
func changeSets(raw []byte) (sets []*pb.ManifestChangeSet, err error) {
	for b := raw[manifestHead:]; len(b) >= changesHead; {
		n := int64(binary.BigEndian.Uint32(b))
		if b = b[changesHead:]; n > int64(len(b)) {
			break
		}
		set := &pb.ManifestChangeSet{}
		if err := proto.Unmarshal(b[:n], set); err != nil {
			return nil, err
		}
		sets, b = append(sets, set), b[n:]
	}
	return sets, nil
}

// deleted returns the changes that added the tables which the last set removes. compacts is false if the set
// removes no table, or one of unknown origin.
func deleted(sets []*pb.ManifestChangeSet) (old []*pb.ManifestChange, compacts bool) {
	last := len(sets) - 1
	for _, d := range sets[last].Changes {
		if d.Op != pb.ManifestChange_DELETE {
			continue
		}
		if compacts = true; !appendCreation(&old, sets[:last], d.Id) {
			return nil, true
		}
	}
	return old, compacts
}

func appendCreation(old *[]*pb.ManifestChange, sets []*pb.ManifestChangeSet, id uint64) bool {
	for _, set := range slices.Backward(sets) {
		for _, c := range set.Changes {
			if c.Id == id && c.Op == pb.ManifestChange_CREATE {
				*old = append(*old, c)
				return true
			}
		}
	}
	return false
}

// takeBack lists the old tables of a set instead of those that it has made, if all old ones exist and all new
// ones are listed. old is empty if the origin of the old tables is unknown.
func takeBack(records string, set *pb.ManifestChangeSet, old []*pb.ManifestChange, listed map[uint64]*pb.ManifestChange) (bool, error) {
	if len(old) == 0 {
		return false, nil
	}
	for _, c := range set.Changes {
		if listed[c.Id] == nil && c.Op == pb.ManifestChange_CREATE {
			return false, nil
		}
	}
	for _, c := range old {
		if whole, err := wholeTable(records, c.Id); err != nil || !whole {
			return false, err
		}
	}
	for _, c := range set.Changes {
		if c.Op == pb.ManifestChange_CREATE {
			delete(listed, c.Id)
		}
	}
	for _, c := range old {
		listed[c.Id] = c
	}
	return true, nil
}

// wholeTable reports whether a table can be opened; if only its copy can, it puts the copy in place.
func wholeTable(records string, id uint64) (bool, error) {
	path := tablePath(records, id)
	f := &tableFile{id: id, path: path}
	err := f.open()
	if err == nil {
		return true, nil
	}
	if systemError(err) != nil {
		return false, err
	}
	f = &tableFile{id: id, path: path + spareExt}
	if err := f.open(); err != nil {
		return false, systemError(err)
	}
	return true, os.Rename(f.path, path)
}

// writeTableList writes a MANIFEST with one set that creates the listed tables.
func writeTableList(path string, head []byte, listed map[uint64]*pb.ManifestChange) error {
	set := &pb.ManifestChangeSet{}
	for _, c := range listed {
		set.Changes = append(set.Changes, c)
	}
	b, err := proto.Marshal(set)
	if err != nil {
		return err
	}
	out := append([]byte{}, head...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(b, castagnoli))
	out = append(out, b...)
	return atomicfile.Write(path, func(f *os.File) error {
		_, err := f.Write(out)
		return err
	})
}
