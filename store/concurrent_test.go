package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestConcurrent runs writers, readers of every kind, compaction and manifest
// changes at once, and closes the store under them. Each batch replaces the
// same group of documents by one version, so a state that mixes versions
// would be seen.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	const group = 8
	write := func(w, version int) error {
		b, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		for i := range group {
			if _, err := b.Put(ctx, doc(fmt.Sprintf("w%d-%d", w, i), version)); err != nil {
				return errors.Join(err, b.Discard())
			}
			if i == group/2 && version%4 == 0 {
				if err := b.w.flush(); err != nil {
					return errors.Join(err, b.Discard())
				}
			}
		}
		if version%5 == 3 {
			return b.Discard()
		}
		_, err = b.Commit(ctx)
		return err
	}
	var writes, reads atomic.Int64
	var wg sync.WaitGroup
	run := func(counter *atomic.Int64, step func(n int) error) {
		wg.Go(func() {
			for n := 1; ; n++ {
				switch err := step(n); {
				case errors.Is(err, ErrClosed):
					return
				case err != nil:
					t.Error(err)
					return
				}
				counter.Add(1)
			}
		})
	}
	for w := range 3 {
		run(&writes, func(n int) error { return write(w, n) })
	}
	for w := range 3 {
		run(&reads, func(int) error {
			v, err := s.Snapshot()
			if err != nil {
				return err
			}
			defer v.Close()
			var version string
			for i := range group {
				ord, ok, err := v.Lookup(fmt.Sprintf("w%d-%d", w, i))
				if err != nil {
					return err
				}
				if !ok {
					if version != "" {
						return fmt.Errorf("document %d of group %d is missing", i, w)
					}
					return nil
				}
				d, err := v.Get(t.Context(), ord)
				if err != nil {
					return err
				}
				if i > 0 && string(d.Metadata) != version {
					return fmt.Errorf("group %d mixes %s and %s", w, version, d.Metadata)
				}
				version = string(d.Metadata)
			}
			return nil
		})
	}
	run(&reads, func(int) error {
		v, err := s.Snapshot()
		if err != nil {
			return err
		}
		defer v.Close()
		n := 0
		err = v.Scan(ctx, 0, func(uint64, []Row) error { n++; return nil })
		if err == nil && n != v.Len() {
			err = fmt.Errorf("scan met %d of %d", n, v.Len())
		}
		return err
	})
	run(&reads, func(n int) error {
		if seq := s.Seq(); seq > 5 {
			if err := s.Compact(ctx, seq-5); err != nil {
				return err
			}
		}
		err := s.Log(ctx, s.Seq(), func(uint64, Change) error { return nil })
		if errors.Is(err, ErrTrimmed) {
			err = nil
		}
		return errors.Join(err, s.SetManifest(ctx, func(m *Manifest) error { m.Default = fmt.Sprint(n); return nil }))
	})
	run(&reads, func(int) error {
		_, err := s.Verify(ctx, nil)
		return err
	})
	for start := time.Now(); time.Since(start) < time.Second || writes.Load() < 30 || reads.Load() < 30; {
		if time.Since(start) > time.Minute || t.Failed() {
			t.Errorf("only %d writes and %d reads", writes.Load(), reads.Load())
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	seq, length := s.Seq(), s.Len()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	t.Logf("%d writes, %d reads, sequence %d, %d documents", writes.Load(), reads.Load(), seq, length)
	s = open(t, dir, small)
	if _, err := s.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
	if s.Seq() < seq || s.Len() < length {
		t.Errorf("sequence %d, %d documents after reopening", s.Seq(), s.Len())
	}
}

func TestBeginWaitsForItsContext(t *testing.T) {
	s := open(t, t.TempDir(), small)
	b := begin(t, s)
	timeout, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := s.Begin(timeout); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("begin: %v", err)
	}
	if err := s.Compact(timeout, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("compact: %v", err)
	}
	done := make(chan error)
	go func() {
		b, err := s.Begin(ctx)
		if err == nil {
			err = b.Discard()
		}
		done <- err
	}()
	put(t, b, doc("a", 1))
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	// A Begin that waits when the store closes is told so.
	begin(t, s)
	go func() {
		_, err := s.Begin(ctx)
		done <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("waiting begin: %v", err)
	}
}

// lookedAt is a context that is cancelled once it was asked left times.
type lookedAt struct {
	context.Context
	left int
}

func (c *lookedAt) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestVerifyLooksAtItsContext: on each of its walks Verify asks every few hundred
// records, and ends when it is told.
func TestVerifyLooksAtItsContext(t *testing.T) {
	t.Parallel()
	const n = 10 * checkEvery
	s := open(t, t.TempDir(), small)
	b := begin(t, s)
	for i := range n {
		put(t, b, doc(fmt.Sprint("d", i), 1))
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	all := &lookedAt{ctx, 1 << 30}
	if _, err := s.Verify(all, nil); err != nil {
		t.Fatal(err)
	}
	looks := 1<<30 - all.left
	if least := 7 * n / checkEvery; looks < least { // rows and texts counted, versions, ids and the log twice
		t.Errorf("Verify looked %d times, want %d at least", looks, least)
	}
	for left := range looks {
		if r, err := s.Verify(&lookedAt{ctx, left}, nil); !errors.Is(err, context.Canceled) || len(r.Problems) > 0 {
			t.Fatalf("cancelled at look %d of %d: %+v, %v", left, looks, r, err)
		}
	}
}

// TestFailedWriteStopsWriting makes a commit fail, that of a batch or of a part that
// is staged before, and looks at what follows.
func TestFailedWriteStopsWriting(t *testing.T) {
	for point, commit := range map[string]func(b *Batch) error{
		"before-commit": func(b *Batch) error { _, err := b.Commit(ctx); return err },
		"flush":         func(b *Batch) error { return b.w.flush() },
	} {
		t.Run(point, func(t *testing.T) { failedWrite(t, point, commit) })
	}
}

func failedWrite(t *testing.T, point string, commit func(b *Batch) error) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	b := begin(t, s)
	put(t, b, doc("a", 2))
	failpoint = func(name string) {
		if name == point {
			b.w.txn.Discard() // Badger's Commit then refuses
		}
	}
	err := commit(b)
	failpoint = nil
	if err == nil {
		t.Fatal("the commit did not fail")
	}
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(ctx); !errors.Is(err, ErrFailed) {
		t.Errorf("begin: %v", err)
	}
	if got := find(t, s, "a"); !reflect.DeepEqual(got, doc("a", 1)) {
		t.Errorf("reading: %+v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, small)
	if got := find(t, s, "a"); !reflect.DeepEqual(got, doc("a", 1)) {
		t.Errorf("reopened: %+v", got)
	}
	add(t, s, doc("a", 3))
}
