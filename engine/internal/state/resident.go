package state

import (
	"context"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/smaps"
)

// tablesBytes is the size of the store's tables that may stay in memory after writing. After reading it is twice
// that.
const tablesBytes = 16 << 20

// forgetVectors frees the memory of vectors that searches read from a file, and of cached codes of token states, a
// second after the last search. While commits go on, searches may never end for so long: then it frees the vectors when
// tablesBytes more of files are in memory than after the last time or, where that is not known, each second.
func (d *DB) forgetVectors(_ context.Context, s *State) (bool, error) {
	if !d.touched.Swap(false) {
		return false, nil
	}
	m := &d.maintainer
	// A search that began before that has been counted, one that begins now marks it anew.
	if d.searching.Load() > 0 || d.searched.since() < rest {
		d.touched.Store(true)
		m.later = true
		if d.committed.since() >= rest {
			return false, nil
		}
		files := smaps.Files()
		if m.files = min(m.files, files); files > m.files+tablesBytes || files == 0 && time.Since(m.forgotRows) >= rest {
			d.forgetRows()
			m.files, m.forgotRows = smaps.Files(), time.Now()
		}
		return false, nil
	}
	d.forgetRows()
	s.cached.Clear()
	return false, nil
}

// forgetRows frees the memory of vectors that were read from files.
func (d *DB) forgetRows() {
	for _, f := range d.rows {
		index.ForgetRows(f)
	}
}

// forgetTables frees the memory of tables of the store that were written or read, once a second while commits
// go on and for a while after.
func (d *DB) forgetTables(context.Context, *State) (bool, error) {
	m := &d.maintainer
	if d.o.ReadOnly || d.committed.since() > 5*rest {
		return false, nil
	}
	m.later = true // Badger goes on writing after the commits
	if time.Since(m.forgot) < rest {
		return false, nil
	}
	m.forgot = time.Now()
	return false, d.st.ForgetTables(tablesBytes)
}
