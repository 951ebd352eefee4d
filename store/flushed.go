package store

import (
	"io"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/skl"

	"github.com/lexsem/lexsem/internal/regular"
)

// flushedLogs finds the logs of memtables whose content is already in tables; last is the highest version in tables.
// Badger (v4.9.6) removes a log after the flush, and continues if the disk refuses. A compaction may then drop a
// deleted record together with its tombstone. If Badger read the log again, the record would reappear.
//
// A transaction is in one memtable, memtables are flushed in the order of their versions, and after an
// opening versions continue above those of the tables. So the content of a log is in tables if the version of
// its first record is not above those in tables.
func flushedLogs(records string, last uint64) (paths []string, err error) {
	logs, err := logPaths(records)
	if err != nil {
		return nil, err
	}
	for _, path := range logs {
		first, ok, err := firstVersion(path)
		if err != nil {
			return nil, err
		}
		if ok && first <= last {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// logPaths returns the logs of memtables.
func logPaths(records string) (paths []string, err error) {
	entries, err := entriesOf(records)
	for _, e := range entries {
		if isNumbered(e.Name(), ".mem") && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(records, e.Name()))
		}
	}
	return paths, err
}

// firstVersion is the version of the first record of a log; ok is false if it cannot be read.
func firstVersion(path string) (version uint64, ok bool, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, logHead+longestEntry))
	if err != nil || len(data) < logHead {
		return 0, false, err
	}
	s, _, _, ok := logEntry(data, logHead)
	return s.ts, ok, nil
}

// logRoom is the size of a memtable with room for any of the logs. Badger (v4.9.6) reads each into a memtable of the present
// size, and ends if it does not fit: a process that was killed may have had more memory. bytes is the content of all logs.
func logRoom(records string) (most, bytes int64, err error) {
	logs, err := logPaths(records)
	if err != nil {
		return 0, 0, err
	}
	for _, path := range logs {
		room, n, err := roomOf(path)
		if err != nil {
			return 0, 0, err
		}
		most, bytes = max(most, room), bytes+n
	}
	return most, bytes, nil
}

// roomOf is at least the memory of the entries of a log in a memtable, and their size in the log.
func roomOf(path string) (room, bytes int64, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return 0, 0, err
	}
	for at := logHead; at < len(data); {
		_, _, n, ok := logEntry(data, at)
		if !ok { // Badger reads no further
			break
		}
		at += n
		room, bytes = room+int64(n+skl.MaxNodeSize), bytes+int64(n)
	}
	return room, bytes, nil
}
