package store

import (
	"io"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/regular"
)

// flushedLogs finds the logs of memtables that are in tables already, of which the highest
// version is last. Badger (v4.9.6) removes a log behind the flush, and goes on where the disk refuses. A
// compaction may drop a record that was deleted since, and its tombstone. If Badger read the log again, the record would be back.
//
// A transaction lies in one memtable, memtables are written in the order of their versions,
// and behind the opening versions go on above those of the tables. So a log is in tables if its first
// record is of no later version than one in a table.
func flushedLogs(records string, last uint64) (paths []string, err error) {
	entries, err := entriesOf(records)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !isNumbered(e.Name(), ".mem") || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(records, e.Name())
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

// firstVersion is the version of the first record of a log; not ok where there is none that can be read.
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
