package state

import (
	"context"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/smaps"
)

// tablesBytes is the size of the store's tables that may stay in memory after writing. After reading it is twice
// that.
const tablesBytes = 8 << 20

// asideShare is how many times as long a search takes whose vectors all have to come into memory again, in large pages,
// as what it takes longer if it reads them aside: 1.4 ms and .3 ms for 400 vectors of 384 dimensions out of 100,000.
const asideShare = 5

// forgetVectors frees the memory of vectors that searches and commits read from a file, and of cached codes of token
// states, a second after the last of them. While commits go on, it frees the vectors when tablesBytes more of files are
// in memory than after the last time or, where that is not known, each second.
func (d *DB) forgetVectors(_ context.Context, s *State) (bool, error) {
	writing := d.committed.since() < rest
	if !d.touched.Swap(false) && !writing {
		return false, nil
	}
	m := &d.maintainer
	d.chooseAside(s.Seq)
	// A search that began before that has been counted, one that begins now marks it anew.
	if writing || d.searching.Load() > 0 || d.searched.since() < rest {
		d.touched.Store(true)
		m.later = true
		if !writing {
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
	m.searchedTables = true
	return false, nil
}

// asideLasts is how long searches read aside at least, and at most after the last commit. A second of searches that do not
// brings all vectors into memory.
const asideLasts = 5 * rest

// chooseAside says each second, or when asideLasts is over, whether searches read vectors aside: while commits go on, where
// vectors would be freed for each few searches.
func (d *DB) chooseAside(seq uint64) {
	m, lasts := &d.maintainer, rest
	if m.aside {
		lasts = asideLasts
	}
	if time.Since(m.asideSince) >= lasts {
		n := d.searches.Load()
		m.aside = !m.asideSince.IsZero() && n > m.asideSearches && asideShare*(seq-m.asideSeq) >= n-m.asideSearches
		m.asideSince, m.asideSeq, m.asideSearches = time.Now(), seq, n
	}
	d.readAside(m.aside && d.committed.since() < asideLasts)
}

func (d *DB) readAside(on bool) {
	for _, f := range d.rows {
		f.Aside(on)
	}
}

// forgetRows frees the memory of vectors that were read from files.
func (d *DB) forgetRows() {
	for _, f := range d.rows {
		index.ForgetRows(f)
	}
}

// forgetTables frees the memory of tables of the store that were written or read: while commits go on and for a while
// after, and after the last search.
func (d *DB) forgetTables(context.Context, *State) (bool, error) {
	m := &d.maintainer
	writing := d.committed.since() <= 5*rest // Badger goes on after the commits
	if d.o.ReadOnly || !writing && !m.searchedTables {
		return false, nil
	}
	m.later = m.later || writing
	if !writing {
		m.forgot = time.Time{}
	}
	m.searchedTables = false
	return false, d.lookAtTables()
}

// lookAtTables does that once a second, and sooner where much more of files is in memory than after the last time: a
// compaction of Badger reads and writes a hundred megabytes in a second.
func (d *DB) lookAtTables() error {
	m := &d.maintainer
	files, since := smaps.Files(), time.Since(m.forgot)
	m.filesThen = min(m.filesThen, files)
	if since < rest/4 || since < rest && files < m.filesThen+4*tablesBytes {
		return nil
	}
	err := d.st.ForgetTables(tablesBytes)
	m.forgot, m.filesThen = time.Now(), smaps.Files()
	return err
}
