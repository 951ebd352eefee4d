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

// Badger frees space when a compaction meets a removed record together with its
// tombstone, and no transaction is open that could still see the record. Three things
// prevent this: the tombstones may be in memory; there may be no tables above those with
// the removed records, from which a compaction could start; and views may be open from
// before the removal.

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

// rewrite is Reclaim for a caller that holds the writer's slot.
func (s *Store) rewrite(ctx context.Context, renew func() error) error {
	if err := s.need(freeRoom(s.o)+2*s.tableBytes(), "compacting"); err != nil {
		return err
	}
	if err := s.tables.checkAll(s.stopped); err != nil {
		return err
	}
	// Badger may compact as soon as it is flushed. Data that a view still sees then stays,
	// in one level with its tombstone, from which no compaction starts any more.
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
		// A compaction that Badger began before the views were reopened may have taken all tables, and left the
		// records of settle in one level.
		if s.pinned() || !s.writtenFrom(before+1) {
			break
		}
	}
	s.shrinkReserve()
	return nil
}

// writtenFrom reports whether a table has a record of the transaction with the number first, or of a
// later one.
func (s *Store) writtenFrom(first uint64) bool {
	return slices.ContainsFunc(s.db.Tables(), func(t badger.TableInfo) bool { return t.MaxVersion >= first })
}

// renew calls the function that reopens a caller's views, and waits for reads in progress,
// which end soon; a view that stays open only costs space.
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

// settle flushes once, and then until a compaction has something to begin with.
func (s *Store) settle(ctx context.Context) error {
	for range 2 * s.db.Opts().NumLevelZeroTables {
		if err := s.flush(ctx); err != nil || !s.unsettled() {
			return err
		}
	}
	return nil
}

// unsettled reports whether all tables are new ones, which Badger leaves alone until
// there are enough of them.
func (s *Store) unsettled() bool {
	for _, l := range s.db.Levels() {
		if l.Level == 0 && l.NumTables > s.db.Opts().NumLevelZeroTables || l.Level > 0 && l.NumTables > 0 {
			return false
		}
	}
	return true
}

// pinned reports whether a view is open from before the last pin.
func (s *Store) pinned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pins) > 1
}

const (
	// fillerBytes is the length of a filler's key: short enough that a table's block has
	// many keys, which share their prefix, and long enough that few fill a memtable.
	fillerBytes = 1000
	// patient is the waiting time for a flush, which a failing disk may prevent from ending. polite
	// is that for a flush after one that did not end, and for reads in progress, which may
	// continue. No call waits in vain for more than one of each, so each call returns within ten
	// seconds.
	patient, polite = 5 * time.Second, 2 * time.Second
)

var errImpatient = errors.New("waited too long")

// fill commits the tombstones of fillers: for each number from from to to-1 a key of about
// size bytes below all others, and one above all others but below the last key of checkAll, so
// that a table with them lies above all tables. Nobody ever sees them, and the first
// compaction removes them. Keys differ only in their last bytes: a table stores the common
// prefix of a block's keys once.
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

// flush is Flush for a caller that holds the writer's slot and stages nothing.
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
	most := int(s.db.MaxBatchSize()) / (3 * fillerBytes) // pairs of keys in a transaction
	pairs, last := most, s.version()                     // last is in the memtables that are to be written
	// The transaction that finds the memtable full goes into the new one, and later into a table. A pair comes after each
	// large transaction, so that it is mostly a pair.
	for n := 0; ; n, pairs = n+pairs, most+1-pairs {
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
	s.replayed.Store(0)
	s.unflushed.Store(2 * int64(pairs) * fillerBytes) // in the new memtable is at most the last transaction
	s.tightenNew()
	return nil
}

// version is Badger's version of the last transaction.
func (s *Store) version() uint64 {
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	return txn.ReadTs()
}

// poll waits until done returns true, or returns errImpatient after that time.
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

// logs returns the numbers of the memtables' logs, ascending.
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
