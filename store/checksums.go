package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/regular"
)

// A record's checksum identifies its database, not its history: a table of a copy that was
// changed separately is intact, and may have the same name. So Close writes a file with all
// tables and the checksums of their blocks, and HEAD has the checksum of that file. The
// tables are compared with it when they are next read.
//
// After an unclean end, or after a failed opening (Badger compacts as soon as it is open),
// there may be other tables, and a table that Badger's MANIFEST had lost may have a reused
// number. Then only tables with the same index are compared with the file. For a table from
// before an unclean end, the checksums of blocks are known once all blocks were read. Without
// the file, no checksums are known.
const (
	checksumsName  = "TABLES" // in the folder of the records
	checksumsMagic = "LXSMTABL"
	checksumsHead  = 8 + 4 + 4 // magic, version, tables
	checksumsTable = 8 + 8 + 4 + 4 + 4
	checksumsMajor = 1
)

// tableChecksum holds the checksums of a table.
type tableChecksum struct {
	level  uint32
	size   uint64
	index  uint32   // checksum of the index
	blocks []uint32 // CRC-32 (IEEE) of each block without its checksum, nil if they are not known
}

// tableChecksums holds those of all tables, by number.
type tableChecksums struct {
	tables map[uint64]tableChecksum
	sum    uint32 // of the file
	exact  bool   // Badger has not been opened for writing since: there are no other tables
}

// encodeChecksums makes the bytes of the file; the last four are the CRC of the others.
func encodeChecksums(tables map[uint64]tableChecksum) []byte {
	b := append(make([]byte, 0, checksumsHead+len(tables)*checksumsTable), checksumsMagic...)
	b = binary.LittleEndian.AppendUint32(b, checksumsMajor)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(tables)))
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		t := tables[id]
		b = binary.LittleEndian.AppendUint64(b, id)
		b = binary.LittleEndian.AppendUint64(b, t.size)
		b = binary.LittleEndian.AppendUint32(b, t.level)
		b = binary.LittleEndian.AppendUint32(b, t.index)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.blocks)))
		for _, c := range t.blocks {
			b = binary.LittleEndian.AppendUint32(b, c)
		}
	}
	return appendChecksum(b)
}

func appendChecksum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// checksumsSum is the checksum of the file in HEAD: the one at its end.
func checksumsSum(b []byte) uint32 { return binary.LittleEndian.Uint32(b[len(b)-4:]) }

// decodeChecksums decodes checksums.
func decodeChecksums(b []byte) (map[uint64]tableChecksum, error) {
	if len(b) < checksumsHead+4 || string(b[:len(checksumsMagic)]) != checksumsMagic {
		return nil, errors.New("it does not begin as it should")
	}
	n := len(b) - 4
	if crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, errors.New("checksum mismatch")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != checksumsMajor {
		return nil, fmt.Errorf("version %d", v)
	}
	count := int(binary.LittleEndian.Uint32(b[12:]))
	b = b[checksumsHead:n]
	tables := map[uint64]tableChecksum{}
	for range count {
		if len(b) < checksumsTable {
			return nil, io.ErrUnexpectedEOF
		}
		id := binary.LittleEndian.Uint64(b)
		t := tableChecksum{size: binary.LittleEndian.Uint64(b[8:]), level: binary.LittleEndian.Uint32(b[16:]), index: binary.LittleEndian.Uint32(b[20:])}
		blocks := int(binary.LittleEndian.Uint32(b[24:]))
		if b = b[checksumsTable:]; blocks > len(b)/4 {
			return nil, io.ErrUnexpectedEOF
		}
		if blocks > 0 {
			t.blocks = make([]uint32, blocks)
		}
		for i := range t.blocks {
			t.blocks[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		b = b[4*blocks:]
		if _, twice := tables[id]; twice {
			return nil, fmt.Errorf("table %d is there twice", id)
		}
		tables[id] = t
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes too many", len(b))
	}
	return tables, nil
}

// readChecksums reads the file that HEAD names. It returns nil if the file does not exist or
// is damaged, since only a check is lost.
func readChecksums(dir string, m mark, o Options) (*tableChecksums, error) {
	if !m.hasChecksums {
		return nil, nil
	}
	name := filepath.Join(recordsName, checksumsName)
	b, err := regular.ReadFile(filepath.Join(dir, name), math.MaxInt32)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, regular.ErrTooLarge) || errors.Is(err, regular.ErrIrregular) {
		o.logger().Warn("the table checksums cannot be used", "dir", dir, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tables, err := decodeChecksums(b)
	if err != nil {
		o.logger().Warn("the table checksums cannot be used", "file", filepath.Join(dir, name), "error", err)
		return nil, nil
	}
	sum := checksumsSum(b)
	switch {
	case sum == m.checksums:
		return &tableChecksums{tables, sum, m.exact}, nil
	case m.clean:
		return nil, &CorruptError{Dir: dir, What: "file " + name + " is not the one that " + headName + " tells of: it has another history"}
	}
	return nil, nil // the process died after it had written the file, before HEAD
}

// hold checks that the tables in Badger's MANIFEST are those of the file.
func (k *tableChecksums) hold(listed map[uint64]badger.TableManifest) error {
	if k == nil || !k.exact {
		return nil
	}
	if len(listed) != len(k.tables) {
		return fmt.Errorf("it lists %d tables, there were %d when the database was closed", len(listed), len(k.tables))
	}
	for id, t := range listed {
		if old, ok := k.tables[id]; !ok || old.level != uint32(t.Level) {
			return fmt.Errorf("table %d is not where it was when the database was closed", id)
		}
	}
	return nil
}

// blocks returns the checksums of a table's blocks, or nil if they are unknown. If there may
// be other tables, only a table with the same index counts as the same.
func (k *tableChecksums) blocks(path string, data []byte) []uint32 {
	id, ok := table.ParseFileID(trimSpare(filepath.Base(path)))
	if k == nil || !ok {
		return nil
	}
	t := k.tables[id]
	if !k.exact {
		if _, sum, err := cutChecksum(data); err != nil || uint64(len(data)) != t.size || uint32(sum.Sum) != t.index {
			return nil
		}
	}
	return t.blocks
}

var errForeignTable = errors.New("it is not the table that was there when the database was closed: it has another history")

// hold compares a table, whose index was read, with its known checksums.
func (f *tableFile) hold(k *tableChecksums) error {
	if k == nil {
		return nil
	}
	t, ok := k.tables[f.id]
	if !ok || t.size != uint64(f.size) || t.index != f.indexSum || t.blocks != nil && len(t.blocks) != f.blocks {
		if k.exact {
			return errForeignTable
		}
		return nil
	}
	if t.blocks == nil {
		return nil
	}
	f.sums, f.known = t.blocks, true
	if f.lastSum != t.blocks[f.blocks-1] {
		return errForeignTable
	}
	return nil
}

// checksum returns the checksums of a table; it reads a table written since Open completely.
func (f *tableFile) checksum(now badger.TableManifest) tableChecksum {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := tableChecksum{level: uint32(now.Level), size: uint64(f.size), index: f.indexSum}
	if f.known || f.done.Load() && len(f.bad) == 0 {
		t.blocks = f.sums
	}
	return t
}

// writeChecksums writes the checksums of the existing tables, after Badger has closed. The
// database does not need them, so a failure, such as a lack of space, is only a warning.
func (s *Store) writeChecksums() *tableChecksums {
	k, err := s.writeTableChecksums()
	if err != nil {
		s.o.logger().Warn("the table checksums could not be written", "dir", s.dir, "error", err)
		return nil
	}
	return k
}

func (s *Store) writeTableChecksums() (*tableChecksums, error) {
	listed, err := listedTables(s.dir)
	if err != nil {
		return nil, err
	}
	old := map[uint64]*tableFile{}
	for _, files := range s.tables.levels {
		for _, f := range files {
			old[f.id] = f
		}
	}
	now := map[uint64]tableChecksum{}
	for id, t := range listed {
		f := old[id]
		if f == nil {
			f = s.tables.file(id, int(t.Level))
			if err := f.open(); err != nil {
				return nil, err
			}
			if err := f.check(nil, []byte{0xff}); err != nil {
				return nil, err
			}
		}
		now[id] = f.checksum(t)
	}
	if k := s.tables.checksums; k != nil && maps.EqualFunc(k.tables, now, tableChecksum.equal) {
		return &tableChecksums{now, k.sum, true}, nil
	}
	b := encodeChecksums(now)
	err = atomicfile.Write(filepath.Join(s.records(), checksumsName), func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
	return &tableChecksums{now, checksumsSum(b), true}, err
}

// equal compares tables of one number.
func (t tableChecksum) equal(u tableChecksum) bool {
	return t.level == u.level && t.size == u.size && t.index == u.index && slices.Equal(t.blocks, u.blocks)
}
