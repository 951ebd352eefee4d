package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
)

// HEAD is a small file next to Badger that counts acknowledged durable writes. Badger
// cuts its write-ahead log at the first invalid entry, which is right for a torn end and
// wrong for damage. A database whose state is older than HEAD has lost acknowledged
// writes.
//
// Digests of the past are not known below the sequence that Compact has passed. So
// Compact syncs the mark first: HEAD is never older, and records beyond HEAD's sequence
// belong to another history.
//
// The file has two slots, written in turn, each in its own disk sector: a torn write
// spares the other. It is not synced with each commit: an old mark is a weaker check,
// never a wrong one. Without a valid slot the mark is recreated from the database.
const (
	headName     = "HEAD"
	headMagic    = "LXSMHEAD"
	headSlot     = 4096 // distance of the slots
	headOldSize  = 28   // magic 8, major 2, minor 2, clean 1, leads 1, exact 1, zero 1, gen 8, crc 4: all of a slot in format 1
	headSlotSize = 56   // and seq 8, history 16, crc of all before 4
	headMoreSize = 64   // and, if the tables are known, checksum of TABLES 4, CRC-32 (IEEE, which is not blind to the two before) of all before 4
)

// mark is the content of a slot of HEAD.
type mark struct {
	major, minor int
	clean        bool   // the database was closed cleanly after gen
	leads        bool   // seq is not below the state's base; false in format 1, and of writers that sync nothing or are older
	gen          uint64 // durable writes acknowledged
	seq          uint64 // of the last commit among them
	history      History
	hasChecksums bool // checksums is that of the file TABLES
	exact        bool // and there are no other tables
	checksums    uint32
}

func (m mark) encode() []byte {
	b := append(make([]byte, 0, headSlotSize), headMagic...)
	b = binary.LittleEndian.AppendUint16(b, uint16(m.major))
	b = binary.LittleEndian.AppendUint16(b, uint16(m.minor))
	b = append(b, bit(m.clean), bit(m.leads && m.major >= formatHistory), bit(m.exact && m.major >= formatHistory), 0)
	b = binary.LittleEndian.AppendUint64(b, m.gen)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if m.major < formatHistory {
		return b
	}
	b = binary.LittleEndian.AppendUint64(b, m.seq)
	b = append(b, m.history[:]...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if !m.hasChecksums {
		return b
	}
	b = binary.LittleEndian.AppendUint32(b, m.checksums)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// decodeMark decodes a slot, whose beginning is the same in all formats.
func decodeMark(b []byte) (mark, bool) {
	checks := func(n int) bool {
		return len(b) >= n && crc32.Checksum(b[:n-4], castagnoli) == binary.LittleEndian.Uint32(b[n-4:])
	}
	if !checks(headOldSize) || string(b[:8]) != headMagic {
		return mark{}, false
	}
	m := mark{
		major: int(binary.LittleEndian.Uint16(b[8:])),
		minor: int(binary.LittleEndian.Uint16(b[10:])),
		clean: b[12] == 1,
		gen:   binary.LittleEndian.Uint64(b[16:]),
	}
	if m.major >= formatHistory && m.major <= formatMajor {
		if !checks(headSlotSize) {
			return mark{}, false
		}
		m.seq = binary.LittleEndian.Uint64(b[headOldSize:])
		m.history = History(b[headOldSize+8:])
		m.leads = b[13] == 1
		if more := headMoreSize - 4; len(b) >= headMoreSize && crc32.ChecksumIEEE(b[:more]) == binary.LittleEndian.Uint32(b[more:]) {
			m.hasChecksums, m.exact = true, b[14] == 1
			m.checksums = binary.LittleEndian.Uint32(b[headSlotSize:])
		}
	}
	return m, true
}

// head writes HEAD.
type head struct {
	f    *os.File
	next int // slot of the next write
}

// readHead returns the newest valid mark of dir's HEAD. ok is false if there is none;
// present reports whether the file exists.
func readHead(dir string) (m mark, slot int, ok, present bool, err error) {
	path := filepath.Join(dir, headName)
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(path); there != nil {
			return mark{}, 0, false, false, nil
		}
		err = regular.ErrIrregular // a link to nothing
	}
	if err != nil {
		return mark{}, 0, false, false, misplaced(path, err)
	}
	defer f.Close()
	for i := range 2 {
		b := make([]byte, headMoreSize)
		got, err := f.ReadAt(b, int64(i)*headSlot)
		if err != nil && !errors.Is(err, io.EOF) {
			return mark{}, 0, false, true, err
		}
		// Equal generations: at opening, an unclean mark follows a clean one, so it is
		// the newer; a clean one that follows it has the same meaning as both. In the
		// same way, an inexact mark follows an exact one.
		if n, valid := decodeMark(b[:got]); valid && (!ok || n.gen > m.gen || n.gen == m.gen && (!n.clean || m.clean && !n.exact)) {
			m, slot, ok = n, i, true
		}
	}
	return m, slot, ok, true, nil
}

// openHead opens HEAD for writing; the next write spares the slot with the newest mark.
func openHead(dir string, newest int) (*head, error) {
	path := filepath.Join(dir, headName)
	f, err := regular.OpenOwn(path, os.O_RDWR|os.O_CREATE, private.File)
	if err != nil {
		return nil, misplaced(path, err)
	}
	return &head{f: f, next: 1 - newest}, nil
}

// write puts m into the older slot.
func (h *head) write(m mark) error {
	if _, err := h.f.WriteAt(m.encode(), int64(h.next)*headSlot); err != nil {
		return fmt.Errorf("writing %s: %w", headName, err)
	}
	h.next = 1 - h.next
	return nil
}

// writeAll puts m into both slots and syncs, at open and at close.
func (h *head) writeAll(m mark) error {
	return errors.Join(h.write(m), h.write(m), h.f.Sync())
}

func (h *head) close() error { return h.f.Close() }

// openHead opens HEAD, if the database is opened for writing. Badger may change its
// tables from then on, so HEAD must no longer say that there are no other tables. Its
// other content stays until the records are found to agree.
func (s *Store) openHead(m mark, slot int) (err error) {
	if s.o.ReadOnly {
		return nil
	}
	if s.head, err = openHead(s.dir, slot); err != nil || !m.exact {
		return err
	}
	m.exact = false
	return s.head.writeAll(m)
}

// mark returns the content of HEAD for a state.
func (s *Store) mark(st state, clean bool) mark {
	m := mark{
		major: s.manifest.Major, minor: s.manifest.Minor, clean: clean, leads: !s.o.NoSync,
		gen: st.gen, seq: st.seq, history: st.history,
	}
	if k := s.tables.checksums; k != nil {
		m.hasChecksums, m.exact, m.checksums = true, clean && k.exact, k.sum
	}
	return m
}
