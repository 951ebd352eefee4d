package store

import (
	"path/filepath"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/lexsem/lexsem/internal/smaps"
)

// Badger writes tables through memory maps and keeps them mapped, so a page that was once written or read
// counts for this process until the system reclaims it.

// forgotten records what ForgetTables has handled.
type forgotten struct {
	mu      sync.Mutex
	ids     map[uint64]bool
	files   uint64 // bytes of files in this process's memory when the tables were looked at last, or fewer since
	refused bool   // the system does not do it
}

// ForgetTables lets go of the buffers in which tables were built, and removes table pages from the resident memory of
// this process. They stay in the file cache of the system and can still be read. Two cases apply, with least in bytes:
//
//   - The tables that are new since the last call have least or more in total: they are removed.
//   - More than twice least, and more than a sixteenth of all tables, is resident: all are removed.
//
// Pages are removed only on Linux with /proc. Cost: some milliseconds for the list of mappings. If the tables have more
// than twice least and half of least is new in memory since the last look, add about 10 ms for 600 MB of memory. Errors:
// ErrClosed, ErrFailed, those of the operating system.
func (s *Store) ForgetTables(least uint64) error {
	if s.o.ReadOnly || s.o.InMemory {
		return nil
	}
	return s.read(func(p *pin) error {
		freeBuilders(s.db)
		if !forgets {
			return nil
		}
		f := &s.forgotten
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.refused {
			return nil
		}
		known, bytes, all := f.ids, uint64(0), uint64(0)
		before := map[uint64]bool{}
		for _, t := range s.db.Tables() {
			before[t.ID] = true
			if all += uint64(t.OnDiskSize); !known[t.ID] {
				bytes += uint64(t.OnDiskSize)
			}
		}
		resident := smaps.Files()
		f.files = min(f.files, resident)
		grown := resident-f.files > least/2 && all > 2*least // fewer bytes of tables cannot be too many in memory
		if bytes < least && !grown {
			return nil
		}
		records, err := filepath.EvalSymlinks(s.records())
		if err != nil {
			return err
		}
		if grown {
			f.files = resident
			in, err := smaps.Resident(func(path string) bool { return filepath.Dir(path) == records && filepath.Ext(path) == ".sst" })
			if in > max(2*least, all/16) && err == nil {
				known = nil
			} else if bytes < least {
				return nil
			}
		}
		return p.holdTables(func() error {
			fresh := map[string]bool{} // by path
			for _, t := range s.db.Tables() {
				// One that is there before and after tables were held is held: its place is that of no other memory.
				if before[t.ID] && !known[t.ID] {
					fresh[filepath.Join(records, table.IDToFilename(t.ID))] = true
				}
			}
			f.ids = before
			if err := forgetMapped(fresh); err != nil { // as without /proc: they stay
				f.refused = true
				s.o.logger().Debug("tables stay in memory", "dir", s.dir, "error", err)
			}
			f.files = min(f.files, smaps.Files())
			return nil
		})
	})
}

// holdTables calls f while no existing table can be removed.
func (p *pin) holdTables(f func() error) error {
	it, err := p.iterator(badger.IteratorOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	return f()
}

// hold protects all tables, and the logs of memtables, from removal until release. ok is false if there is
// nothing to hold them with: no commit yet, or no memtable.
func (s *Store) hold() (release func(), ok bool) {
	s.mu.Lock()
	p := s.last
	if p == nil {
		s.mu.Unlock()
		return nil, false
	}
	p.refs++
	s.mu.Unlock()
	drop := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(p)
	}
	it, err := p.iterator(badger.IteratorOptions{})
	if err != nil {
		drop()
		return nil, false
	}
	p.held.Add(1)
	return func() {
		it.Close()
		p.held.Add(-1)
		drop()
	}, true
}
