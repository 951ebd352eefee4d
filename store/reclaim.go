package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Badger gives space back when a compaction meets a removed record together with
// its tombstone, and no transaction is open that could still see it. Three things
// are in the way: the tombstones are in memory, there is nothing above the tables
// that hold the removed records which a compaction could begin with, and views
// that were opened before the removal.

// Flush writes what Badger has in memory to tables, so that everything committed is durable, also with
// NoSync. To make Badger do this, it writes about one memtable of deletions of keys that never
// existed. Errors: ErrNoSpace, ErrReadOnly, and that of ctx.
func (s *Store) Flush(ctx context.Context) error {
	return s.writing(ctx, func() error { return s.flush(ctx) })
}

// Reclaim frees the disk space of records that Compact has removed: it flushes and rewrites the
// tables. A view that was opened before keeps the space of what it sees and of what the flush
// wrote. So Reclaim calls renew, if it is not nil, before and after the flush: the caller opens its views again there. renew must not write to
// the store. Cost: reads and writes all tables. Errors: those of Flush and renew.
func (s *Store) Reclaim(ctx context.Context, renew func() error) error {
	return s.writing(ctx, func() error { return s.rewrite(ctx, renew) })
}

// rewrite is Reclaim for who has the writer's slot.
func (s *Store) rewrite(ctx context.Context, renew func() error) error {
	if err := s.need(freeRoom(s.o)+2*s.tableBytes(), "compacting"); err != nil {
		return err
	}
	if err := s.tables.checkAll(s.stopped); err != nil {
		return err
	}
	// Badger may compact as soon as it is flushed: what a view sees then stays, and in one
	// level with its tombstone, which nothing begins with any more.
	if err := s.renew(ctx, renew); err != nil {
		return err
	}
	before := s.version()
	for range 2 {
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := s.renew(ctx, renew); err != nil { // or what settle wrote stays
			return err
		}
		if err := s.db.Flatten(1); err != nil {
			return err
		}
		// A compaction that Badger began before the views were opened again may have taken all tables, and left
		// what settle wrote in one level.
		if s.pinned() || !s.writtenFrom(before+1) {
			break
		}
	}
	s.shrinkReserve()
	return nil
}

// writtenFrom says that a table has a record of the transaction with the number first, or of a later one.
func (s *Store) writtenFrom(first uint64) bool {
	return slices.ContainsFunc(s.db.Tables(), func(t badger.TableInfo) bool { return t.MaxVersion >= first })
}

// renew calls what opens a caller's views anew, and waits for reads in progress, which end
// soon; a view that is kept only costs space.
func (s *Store) renew(ctx context.Context, views func() error) error {
	if views != nil {
		if err := views(); err != nil {
			return err
		}
	}
	err := s.poll(ctx, polite, func() (bool, error) { return !s.pinned(), nil })
	if errors.Is(err, errImpatient) {
		return nil
	}
	return err
}

// settle flushes once, and until there is something for a compaction to begin with.
func (s *Store) settle(ctx context.Context) error {
	for range 2 * s.db.Opts().NumLevelZeroTables {
		if err := s.flush(ctx); err != nil || !s.unsettled() {
			return err
		}
	}
	return nil
}

// unsettled says that all tables are new ones, which Badger leaves alone until
// there are enough of them.
func (s *Store) unsettled() bool {
	for _, l := range s.db.Levels() {
		if l.Level == 0 && l.NumTables > s.db.Opts().NumLevelZeroTables || l.Level > 0 && l.NumTables > 0 {
			return false
		}
	}
	return true
}

// pinned says that a view is open of before the last pin.
func (s *Store) pinned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pins) > 1
}

const (
	// fillerBytes is the length of a filler's key: short enough that a block of a table
	// has many, which share what they begin with, and long enough that few fill a memtable.
	fillerBytes = 1000
	// patient is how long is waited for a flush, which a failing disk keeps from ending, and polite
	// for a flush behind one that did not end, and for reads in progress, which may go on. No
	// call waits in vain for more than one of each, so none hangs for ten seconds.
	patient, polite = 5 * time.Second, 2 * time.Second
)

var errImpatient = errors.New("waited too long")

// fill commits the tombstones of fillers: for each number from to to-1 a key of about size
// bytes below all others, and one above all others and below what checkAll takes for the last,
// so that a table that has them lies above all tables. Nobody ever sees them, and they go with
// the first compaction. Keys differ in their last bytes alone: a table writes out what the
// keys of a block begin with once.
func (s *Store) fill(from, to, size int) error {
	txn := s.db.NewTransaction(true)
	defer txn.Discard()
	for n := from; n < to; n++ {
		for _, first := range []byte{0, 0xfe} {
			key := make([]byte, 1+size, 1+size+20)
			key[0] = first
			key = strconv.AppendInt(key, int64(n), 10)
			s.written.Add(int64(len(key)))
			s.unflushed.Add(int64(len(key)))
			if err := txn.Delete(key); err != nil {
				return err
			}
		}
	}
	if err := txn.Commit(); err != nil {
		s.fail(err)
		return err
	}
	return nil
}

// flush is Flush for who has the writer's slot and stages nothing.
func (s *Store) flush(ctx context.Context) error {
	if s.o.InMemory {
		return ctx.Err()
	}
	if err := s.checkSpaceToFlush(); err != nil {
		return err
	}
	before, err := s.newestLog()
	if err != nil {
		return err
	}
	pairs := int(s.db.MaxBatchSize()) / (3 * fillerBytes) // of keys, in a transaction
	last := s.version()                                   // in the memtables that are to be written
	for n := 0; ; n += pairs {
		if err := errors.Join(ctx.Err(), s.stopped()); err != nil {
			return err
		}
		if err := s.fill(n, n+pairs, fillerBytes); err != nil {
			return err
		}
		if now, err := s.newestLog(); err != nil {
			return err
		} else if now > before {
			break
		}
		last = s.version()
		if int64(n)*fillerBytes > 2*s.o.memtableBytes() {
			return fmt.Errorf("flushing the memtables of %s: Badger begins no new one", s.dir)
		}
	}
	if err := s.fill(0, 1, 0); err != nil { // what is pinned lies behind the others
		return err
	}
	s.setPin(s.newPin(s.current()))
	long := patient
	if s.stuck {
		long = polite
	}
	err = s.poll(ctx, long, func() (bool, error) { // logs stay while a compaction holds them
		return s.writtenFrom(last), nil
	})
	s.stuck = errors.Is(err, errImpatient)
	if err != nil {
		return fmt.Errorf("flushing the memtables of %s: %w", s.dir, err)
	}
	s.unflushed.Store(2 * int64(pairs) * fillerBytes) // in the new memtable is at most the last transaction
	s.tightenNew()
	return nil
}

// version is Badger's number of the last transaction.
func (s *Store) version() uint64 {
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	return txn.ReadTs()
}

// poll waits until done, or errImpatient after so long.
func (s *Store) poll(ctx context.Context, long time.Duration, done func() (bool, error)) error {
	deadline := time.Now().Add(long)
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), s.stopped()); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w, %v", errImpatient, long)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// logs are the numbers of the memtables' logs, ascending.
func (s *Store) logs() ([]int, error) { return logsIn(s.records()) }

func logsIn(records string) (numbers []int, err error) {
	entries, err := entriesOf(records)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !isNumbered(e.Name(), ".mem") {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".mem"))
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers) // names are of five digits, but for those beyond
	return numbers, nil
}

func (s *Store) newestLog() (int, error) {
	numbers, err := s.logs()
	if err != nil || len(numbers) == 0 {
		return 0, err
	}
	return numbers[len(numbers)-1], nil
}
