package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// A snapshot file holds derived state: a page of header, the data from byte
// 4096 on (so that it is aligned when mapped), one CRC32C per block of data, a
// trailer. Every byte is covered by one of the checksums.
//
//	header   magic "LEXSNAP1", version of the state (4), sequence (8), uuid
//	         (16), length of kind (2), kind, zeros up to 4092, CRC32C (4)
//	data
//	sums     CRC32C of each MiB of data (4 each)
//	trailer  magic "SNAPEND1", length of data (8), CRC32C of sums and of the
//	         trailer before it (4)
const (
	snapshotMagic   = "LEXSNAP1"
	snapshotEnd     = "SNAPEND1"
	snapshotPage    = 4096
	snapshotBlock   = 1 << 20
	snapshotTrailer = 20
	maxKind         = 64
)

// SnapshotHeader tells what a snapshot file holds.
type SnapshotHeader struct {
	Kind    string // what it is, for example "hnsw"; 1 to 64 bytes
	Version uint32 // of the layout of the data
	Seq     uint64 // the state of the store that it was derived from
	UUID    UUID   // of the database
}

// WriteSnapshot writes a snapshot file atomically: path holds the old file or
// the new one. write gets a buffered writer for the data.
func WriteSnapshot(path string, h SnapshotHeader, write func(io.Writer) error) error {
	if len(h.Kind) == 0 || len(h.Kind) > maxKind {
		return fmt.Errorf("kind of a snapshot has %d bytes; use 1 to %d", len(h.Kind), maxKind)
	}
	return writeAtomic(path, func(w io.Writer) error {
		if _, err := w.Write(h.encode()); err != nil {
			return err
		}
		sums := &blockSums{w: w}
		if err := write(sums); err != nil {
			return err
		}
		_, err := w.Write(sums.end())
		return err
	})
}

func (h SnapshotHeader) encode() []byte {
	b := append(make([]byte, 0, snapshotPage), snapshotMagic...)
	b = binary.LittleEndian.AppendUint32(b, h.Version)
	b = binary.LittleEndian.AppendUint64(b, h.Seq)
	b = append(b, h.UUID[:]...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(h.Kind)))
	b = append(b, h.Kind...)
	b = b[:snapshotPage-4]
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// blockSums passes data on and computes the checksum of each block.
type blockSums struct {
	w    io.Writer
	n    int64  // bytes passed on
	crc  uint32 // of the block in progress
	sums []byte
}

func (s *blockSums) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		k := min(len(p), snapshotBlock-int(s.n%snapshotBlock))
		n, err := s.w.Write(p[:k])
		s.crc = crc32.Update(s.crc, castagnoli, p[:n])
		s.n += int64(n)
		written += n
		if err != nil {
			return written, err
		}
		if s.n%snapshotBlock == 0 {
			s.close()
		}
		p = p[k:]
	}
	return written, nil
}

func (s *blockSums) close() {
	s.sums = binary.LittleEndian.AppendUint32(s.sums, s.crc)
	s.crc = 0
}

// end returns what follows the data.
func (s *blockSums) end() []byte {
	if s.n%snapshotBlock != 0 {
		s.close()
	}
	b := append(s.sums, snapshotEnd...)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.n))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Snapshot is an open snapshot file. Data is memory of its own (the file
// mapped privately where the system can), aligned to a page, valid until Close;
// what is written there does not reach the file. A file that is replaced
// by WriteSnapshot stays readable; one that somebody shortens in place does not.
type Snapshot struct {
	SnapshotHeader
	Data  []byte
	unmap func() error
}

// Close gives the memory back; Data must not be used afterwards. Closing twice
// does nothing.
func (s *Snapshot) Close() error {
	if s.unmap == nil {
		return nil
	}
	unmap := s.unmap
	s.Data, s.unmap = nil, nil
	return unmap()
}

// OpenSnapshot opens a snapshot file and verifies every byte of it. Errors:
// fs.ErrNotExist, ErrSnapshotDamaged, ErrSnapshotForeign (another database or
// kind), ErrSnapshotStale (another version), or the operating system's. Cost:
// one read of the file.
func OpenSnapshot(path, kind string, version uint32, uuid UUID) (_ *Snapshot, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, unmap, err := mapFile(f, info.Size())
	if err != nil {
		return nil, err
	}
	s := &Snapshot{unmap: unmap}
	if err := s.decode(file); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), unmap())
	}
	switch {
	case s.Kind != kind:
		err = fmt.Errorf("%s: kind %q, want %q: %w", path, s.Kind, kind, ErrSnapshotForeign)
	case s.UUID != uuid:
		err = fmt.Errorf("%s: of database %s, this is %s: %w", path, s.UUID, uuid, ErrSnapshotForeign)
	case s.Version != version:
		err = fmt.Errorf("%s: version %d, want %d: %w", path, s.Version, version, ErrSnapshotStale)
	}
	if err != nil {
		return nil, errors.Join(err, unmap())
	}
	return s, nil
}

// decode verifies a file and fills header and data.
func (s *Snapshot) decode(file []byte) error {
	damaged := func(what string) error { return fmt.Errorf("%s: %w", what, ErrSnapshotDamaged) }
	if len(file) < snapshotPage+snapshotTrailer {
		return damaged("file is truncated")
	}
	h := file[:snapshotPage-4]
	if string(h[:8]) != snapshotMagic || crc32.Checksum(h, castagnoli) != binary.LittleEndian.Uint32(file[len(h):]) {
		return damaged("header")
	}
	s.Version = binary.LittleEndian.Uint32(h[8:])
	s.Seq = binary.LittleEndian.Uint64(h[12:])
	s.UUID = UUID(h[20:36])
	n := int(binary.LittleEndian.Uint16(h[36:]))
	if n > maxKind {
		return damaged("header")
	}
	s.Kind = string(h[38 : 38+n])

	t := file[len(file)-snapshotTrailer:]
	length := binary.LittleEndian.Uint64(t[8:])
	room := uint64(len(file) - snapshotPage - snapshotTrailer)
	if string(t[:8]) != snapshotEnd || length > room || room-length != 4*((length+snapshotBlock-1)/snapshotBlock) {
		return damaged("trailer")
	}
	data, sums := file[snapshotPage:snapshotPage+length], file[snapshotPage+length:]
	if crc32.Checksum(sums[:len(sums)-4], castagnoli) != binary.LittleEndian.Uint32(sums[len(sums)-4:]) {
		return damaged("trailer")
	}
	for i := 0; i*snapshotBlock < len(data); i++ {
		block := data[i*snapshotBlock : min(len(data), (i+1)*snapshotBlock)]
		if crc32.Checksum(block, castagnoli) != binary.LittleEndian.Uint32(sums[4*i:]) {
			return damaged(fmt.Sprintf("block %d of the data", i))
		}
	}
	s.Data = data[:len(data):len(data)]
	return nil
}
