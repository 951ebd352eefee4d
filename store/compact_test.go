package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestCompact(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1), doc("b", 1)) // 1, 2
	add(t, s, doc("a", 2))              // 3
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	b := begin(t, s)
	if _, _, err := b.Delete(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	add(t, s, doc("a", 3)) // 4
	if err := s.Compact(ctx, 9); !errors.Is(err, errAhead) {
		t.Errorf("beyond the last: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Compact(cancelled, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := s.Compact(ctx, 3); err != nil {
		t.Fatal(err)
	}
	for ord, there := range map[uint64]bool{1: false, 2: false, 3: true, 4: true} {
		if _, err := s.Get(t.Context(), ord); there != (err == nil) || !there && !errors.Is(err, ErrNotFound) {
			t.Errorf("version %d: %v", ord, err)
		}
	}
	nothing := func(uint64, Change) error { return nil }
	if err := s.Log(ctx, 2, nothing); !errors.Is(err, ErrTrimmed) {
		t.Errorf("log after 2: %v", err)
	}
	if err := s.Log(ctx, 5, nothing); !errors.Is(err, errAhead) {
		t.Errorf("log after 5: %v", err)
	}
	if err := s.Log(ctx, 3, nothing); err != nil {
		t.Errorf("log after 3: %v", err)
	}
	// The view is as it was.
	if d, err := v.Get(t.Context(), 2); err != nil || !reflect.DeepEqual(d, doc("b", 1)) {
		t.Errorf("version 2 in the old view: %v %v", d, err)
	}
	if ord, ok, err := v.Lookup("b"); err != nil || !ok || ord != 2 || v.Len() != 2 || v.Seq() != 2 {
		t.Errorf("b in the old view: %d %v %v", ord, ok, err)
	}
	if err := v.Log(ctx, 0, nothing); err != nil {
		t.Errorf("log of the old view: %v", err)
	}
	if r, err := s.Verify(ctx, nil); err != nil || r.Dead != 1 || r.LogEntries != 1 {
		t.Errorf("verify: %+v %v", r, err)
	}
	if n := len(dump(t, s)); n != 2*2+1+1+1+1+1 { // d, v of two; i, x, l, c, m
		t.Errorf("%d records are left", n)
	}
}

// TestSpace rewrites all documents ten times and looks at the disk.
func TestSpace(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with -short: the disk space of documents rewritten ten times (20 MB); run without -short")
	}
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	r := rand.New(rand.NewPCG(1, 2))
	const n, textBytes = 1000, 2000
	live := int64(0)
	for round := range 10 {
		b := begin(t, s)
		live = 0
		for i := range n {
			d := doc(fmt.Sprint(i), round)
			text := make([]byte, textBytes)
			for k := range text {
				text[k] = byte(r.IntN(256))
			}
			d.Text = string(text)
			live += int64(len(encodeDocument(nil, d)) + len(encodedRows(d.Rows)))
			put(t, b, d)
		}
		if _, err := b.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(ctx, s.Seq()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, small)
	disk, err := diskBytes(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("live %d KiB, on disk %d KiB (%.2f times)", live>>10, disk>>10, float64(disk)/float64(live))
	if disk > 2*live+reclaimSlack {
		t.Errorf("%d bytes on disk for %d live ones", disk, live)
	}
}

// TestFlushWritesLittle: a flush needs a full memtable, whose fillers take next to no table.
func TestFlushWritesLittle(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	add(t, s, doc("a", 1))
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if most := uint64(small.memtableBytes() / 8); s.tableBytes() == 0 || s.tableBytes() > most {
		t.Errorf("tables of %d bytes, at most %d", s.tableBytes(), most)
	}
}

// TestFlushesInVain: where tables cannot be made, a second flush has less patience, as one call may need several of
// them, and flushes that can be made are waited for again.
func TestFlushesInVain(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	add(t, s, doc("a", 1))
	var inTheWay []string
	for n := range 40 {
		name := filepath.Join(s.records(), fmt.Sprintf("%06d.sst", n+1))
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		inTheWay = append(inTheWay, name)
	}
	for _, long := range []time.Duration{patient, polite} {
		if err := s.Flush(ctx); !errors.Is(err, errImpatient) || !s.stuck || !strings.HasSuffix(err.Error(), ", "+long.String()) {
			t.Errorf("stuck %v: %v; want one that waited %v", s.stuck, err, long)
		}
	}
	for _, name := range inTheWay {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(ctx); err != nil || s.stuck {
		t.Errorf("stuck %v: %v", s.stuck, err)
	}
}

// TestReclaimBesideCompaction: where a compaction takes all tables while an old view is open, Reclaim leaves nothing of
// what it wrote itself.
func TestReclaimBesideCompaction(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	defer s.Close()
	add(t, s, doc("a", 1))
	before, calls := s.version(), 0
	var v *View
	err := s.Reclaim(ctx, func() (err error) {
		if calls++; v != nil {
			if calls == 2 { // what Badger does by itself, were the flush a little later
				if err := s.db.Flatten(1); err != nil {
					return err
				}
			}
			v.Close()
		}
		v, err = s.Snapshot()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if calls != 3 || s.writtenFrom(before+1) {
		t.Errorf("after %d renewals, %d bytes of tables hold what the flushes wrote", calls, s.tableBytes())
	}
}

// TestReclaimLeavesLittle: what a flush adds by itself takes next to no space after Close.
func TestReclaimLeavesLittle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, Options{})
	add(t, s, doc("a", 1))
	if err := s.Reclaim(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	defer s.Close()
	if n := s.tableBytes(); n > 8<<10 {
		t.Errorf("a database of one document has %d bytes of tables", n)
	}
}

// TestReclaim rewrites large documents ten times beside a view, which keeps what
// it sees; then the space is given back at once, with nothing closed.
func TestReclaim(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	var v *View
	large := func(i, round int) *Document {
		d := doc(fmt.Sprint(i), round)
		d.Text = strings.Repeat(fmt.Sprint(i, " of ", round, ", "), 100_000)
		d.Rows = d.Rows[:1]
		d.Rows[0].Start, d.Rows[0].End = 0, len(d.Text)
		return d
	}
	var live uint64
	for round := range 10 {
		live = 0
		for i := range 3 {
			d := large(i, round)
			live += uint64(len(encodeDocument(nil, d)) + len(encodedRows(d.Rows)))
			add(t, s, d)
		}
		if round == 0 {
			var err error
			if v, err = s.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Compact(ctx, s.Seq()); err != nil {
		t.Fatal(err)
	}
	if d, err := v.Get(t.Context(), 1); err != nil || !reflect.DeepEqual(d, large(0, 0)) {
		t.Errorf("the view: %v", err)
	}
	for range 3 { // what one writes the next one removes
		err := s.Reclaim(ctx, func() (err error) {
			for l := s.db.Levels()[0]; l.NumTables >= levelZeroTables; l = s.db.Levels()[0] {
				time.Sleep(time.Millisecond) // Badger compacts beside the old view
			}
			v.Close()
			v, err = s.Snapshot()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		disk, err := diskBytes(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.1f MiB live, %.1f MiB on disk", mib(live), mib(uint64(disk)))
		if uint64(disk) > 2*live+reclaimSlack {
			t.Errorf("%d bytes on disk, %d live", disk, live)
		}
	}
	if r, err := s.Verify(ctx, nil); err != nil || r.Documents != 3 || r.Dead != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, small)
	if d := find(t, s, "2"); !reflect.DeepEqual(d, large(2, 9)) {
		t.Error("another document after opening again")
	}
	// A few small documents, in new tables alone, opened again each time.
	dir = t.TempDir()
	for i := range 3 {
		s := open(t, dir, small)
		if i > 0 {
			add(t, s, doc("a", i))
		}
		if err := s.Reclaim(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		// Closed: Badger's log of an open database may take more blocks than it holds bytes.
		disk, err := diskBytes(dir)
		if err != nil || disk > 256<<10 {
			t.Errorf("%d bytes on disk, %v", disk, err)
		}
	}
}

// TestCompactBehindCompaction: where Badger compacts all tables beside an old view, what was removed lies in one level
// with its tombstones. The next Compact frees it.
func TestCompactBehindCompaction(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	defer s.Close()
	large := doc("a", 1)
	for range 10 { // versions, of which one is live
		large.Text += strings.Repeat("some text of a document ", 100_000)
		add(t, s, large)
	}
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	commitDeletes(t, s, "a")
	if err := errors.Join(s.Compact(ctx, s.Seq()), s.Flush(ctx), s.db.Flatten(1)); err != nil {
		t.Fatal(err)
	}
	before := s.tableBytes()
	v.Close()
	if err := s.Compact(ctx, s.Seq()); err != nil {
		t.Fatal(err)
	}
	if after := s.tableBytes(); before < 50<<20 || after > reclaimSlack {
		t.Errorf("%d bytes of tables before, %d after", before, after)
	}
}

func diskBytes(dir string) (int64, error) {
	parts, err := Folder(dir).DiskSpace()
	return parts.Sum(), err
}
