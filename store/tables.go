package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"google.golang.org/protobuf/proto"
)

// checkTables verifies every block of every table that Badger's MANIFEST
// lists. Badger itself leaves out a table whose index does not check, ends an
// iteration early at a bad block, and ends the process at a bad footer. After
// this pass it meets no such table. The cost is one read of all tables. It
// returns what the MANIFEST lists.
func checkTables(dir string) (map[uint64]badger.TableManifest, error) {
	records := filepath.Join(dir, recordsName)
	damaged := func(name string, err error) error {
		if systemError(err) {
			return err
		}
		return &CorruptError{Dir: dir, What: "file " + filepath.Join(recordsName, name), Err: err}
	}
	f, err := os.Open(filepath.Join(records, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a new database; if it is not, HEAD tells
	}
	if err != nil {
		return nil, err
	}
	m, _, err := badger.ReplayManifestFile(f, 0, badger.Options{Logger: logger{slog.New(slog.DiscardHandler)}})
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, damaged(badger.ManifestFilename, firstLine(err))
	}
	for id := range m.Tables {
		name := table.IDToFilename(id)
		if err := checkTable(filepath.Join(records, name)); err != nil {
			return nil, damaged(name, err)
		}
	}
	return m.Tables, nil
}

// checkTable verifies one table file: blocks, index, length of the index,
// checksum of the index, length of that checksum.
func checkTable(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	data, unmap, err := mapFile(f, info.Size())
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil { // the index decoder trusts its input
			err = firstLine(r)
		}
		err = errors.Join(err, unmap())
	}()
	rest, sum, err := cutChecksum(data)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	rest, n, err := cutLength(rest)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	blocks, index := rest[:len(rest)-n], rest[len(rest)-n:]
	if err := verify(index, sum); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	ti := fb.GetRootAsTableIndex(index, 0)
	var at uint64
	for i := range ti.OffsetsLength() {
		var o fb.BlockOffset
		if !ti.Offsets(&o, i) || uint64(o.Offset()) != at || at+uint64(o.Len()) > uint64(len(blocks)) {
			return fmt.Errorf("block %d: not where the index says", i)
		}
		body, sum, err := cutChecksum(blocks[at : at+uint64(o.Len())])
		if err == nil {
			err = verify(body, sum)
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		at += uint64(o.Len())
	}
	if at != uint64(len(blocks)) {
		return fmt.Errorf("blocks end at byte %d, the index begins at %d", at, len(blocks))
	}
	return nil
}

// cutLength splits off the four bytes at the end that tell the length of what
// is before them.
func cutLength(b []byte) (rest []byte, n int, err error) {
	if len(b) < 4 {
		return nil, 0, errors.New("file is truncated")
	}
	rest = b[:len(b)-4]
	length := uint64(binary.BigEndian.Uint32(b[len(rest):]))
	if length > uint64(len(rest)) {
		return nil, 0, errors.New("impossible length")
	}
	return rest, int(length), nil
}

// cutChecksum splits off a checksum and the length behind it.
func cutChecksum(b []byte) (rest []byte, sum *pb.Checksum, err error) {
	b, n, err := cutLength(b)
	if err != nil {
		return nil, nil, err
	}
	sum = &pb.Checksum{}
	if err := proto.Unmarshal(b[len(b)-n:], sum); err != nil {
		return nil, nil, err
	}
	return b[:len(b)-n], sum, nil
}

func verify(b []byte, sum *pb.Checksum) error {
	if sum.Algo != pb.Checksum_CRC32C || uint64(crc32.Checksum(b, castagnoli)) != sum.Sum {
		return errors.New("checksum mismatch")
	}
	return nil
}

func firstLine(v any) error {
	s, _, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(v)), "\n")
	return errors.New(s)
}
