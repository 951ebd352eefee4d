package store

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// checkNewTables reads the tables that Badger has written since Open, whose blocks are
// not otherwise checked before use. It leaves out a table that a compaction removes
// meanwhile: Badger takes it off its list, truncates it and removes it, in this order. It
// checks ctx between two tables.
func (p *pin) checkNewTables(ctx context.Context) error {
	if p.s.o.InMemory {
		return nil
	}
	t := p.s.tables
	for _, info := range p.s.db.Tables() {
		if _, old := t.listed[info.ID]; old {
			continue
		}
		if err := p.interrupted(ctx); err != nil {
			return err
		}
		f := t.file(info.ID, info.Level)
		err := f.open()
		if err == nil {
			err = f.check(nil, []byte{0xff})
		}
		if err == nil && len(f.bad) > 0 {
			err = f.bad[0].err
		}
		if err != nil && p.s.hasTable(info.ID) {
			return t.damaged(filepath.Base(f.path), err)
		}
	}
	return nil
}

// hasTable reports whether Badger still uses a table.
func (s *Store) hasTable(id uint64) bool {
	return slices.ContainsFunc(s.db.Tables(), func(t badger.TableInfo) bool { return t.ID == id })
}
