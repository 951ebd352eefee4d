package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/internal/smaps"
)

// tablesResident is how many bytes of a database's tables are in this process's memory.
func tablesResident(t *testing.T, dir string) int {
	t.Helper()
	in, err := smaps.Resident(func(path string) bool {
		return strings.HasPrefix(path, filepath.Join(dir, recordsName)) && strings.HasSuffix(path, ".sst")
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(in)
}

// TestForgetTables: what was written or read is given back to the system once it is enough, and read as before; beside
// writers, readers and compactions as well. No test runs beside it, which would have files in memory, too.
func TestForgetTables(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	write := func(from, n int) {
		var docs []*Document
		for i := range n {
			d := doc(fmt.Sprint("d", from+i), i)
			d.Text = strings.Repeat(fmt.Sprint(from+i, " "), 20_000)
			if docs = append(docs, d); len(docs) == 10 {
				add(t, s, docs...)
				docs = nil
			}
		}
	}
	forget := func(least uint64) {
		t.Helper()
		if err := s.ForgetTables(least); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 150)
	if err := s.Flush(t.Context()); err != nil { // into tables
		t.Fatal(err)
	}
	before := tablesResident(t, dir)
	if forget(1 << 40); tablesResident(t, dir) < before/2 || before < 4<<20 {
		t.Fatalf("%d of %d bytes are resident though there are few", tablesResident(t, dir), before)
	}
	if forget(0); tablesResident(t, dir) > before/4 {
		t.Fatalf("%d of %d bytes are resident", tablesResident(t, dir), before)
	}
	read := func(i int) {
		ord, ok, err := s.Lookup(fmt.Sprint("d", i))
		if err != nil || !ok {
			t.Fatalf("document %d: %v, %v", i, ok, err)
		}
		if d, err := s.Get(t.Context(), ord); err != nil || !strings.HasPrefix(d.Text, fmt.Sprint(i, " ", i)) {
			t.Fatalf("document %d: %v", i, err)
		}
	}
	for i := range 150 {
		read(i)
	}
	again := tablesResident(t, dir)
	if forget(1 << 40); again < 1<<20 || tablesResident(t, dir) < again/2 {
		t.Errorf("%d of %d bytes of tables that were read are resident, though that is little", tablesResident(t, dir), again)
	}
	if forget(0); tablesResident(t, dir) > again/4 {
		t.Errorf("%d of %d bytes of tables that were read are resident", tablesResident(t, dir), again)
	}
	read(0)
	if few := tablesResident(t, dir); few == 0 {
		t.Error("nothing was read from tables")
	} else if forget(uint64(few)); tablesResident(t, dir) < few/2 {
		t.Error("tables are taken out again for a little that was read since")
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			if err := s.ForgetTables(0); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for round := range 3 {
		write(200+100*round, 80)
		for i := range 150 {
			read(i)
		}
	}
	stop.Store(true)
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.ForgetTables(0) == nil {
		t.Error("a store that is closed forgets tables")
	}
}
