package store

import (
	"context"
	"fmt"
)

// enter admits a call; the caller must call leave. Nested calls are allowed.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.active++
	return nil
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 {
		s.idle.Broadcast()
	}
}

// stopped returns ErrClosed once Close has begun.
func (s *Store) stopped() error {
	select {
	case <-s.stop:
		return ErrClosed
	default:
		return nil
	}
}

// beforeWriting checks all tables before a write that is large enough to start a
// compaction in Badger. The caller must hold the writer's slot.
func (s *Store) beforeWriting(size int64) error {
	written := s.written.Add(size)
	s.unflushed.Add(size)
	if s.tables.checked() || written < s.o.memtableBytes()/8 {
		return nil
	}
	return s.tables.checkAll(s.stopped)
}

// startWriting waits for the writer's slot; the caller must call stopWriting.
func (s *Store) startWriting(ctx context.Context) error {
	if s.o.ReadOnly {
		return ErrReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.writer:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stop:
		return ErrClosed
	}
	if err := s.failure(); err != nil {
		s.stopWriting()
		return err
	}
	return nil
}

// failure is ErrFailed with the cause given to fail, ErrReplaced, or nil.
func (s *Store) failure() error {
	if cause := s.failed.Load(); cause != nil {
		return fmt.Errorf("%w: %w", ErrFailed, *cause)
	}
	return s.Replaced()
}

func (s *Store) stopWriting() { s.writer <- struct{}{} }

// writing runs do while the call has the writer's slot.
func (s *Store) writing(ctx context.Context, do func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.startWriting(ctx); err != nil {
		return err
	}
	defer s.stopWriting()
	return do()
}

// fail refuses all further writes, since the result of a failed write on disk is unknown.
func (s *Store) fail(err error) { s.failed.CompareAndSwap(nil, &err) }

// finish makes a durable write visible: the mark, then the readers' pin.
func (s *Store) finish(st state) error {
	if !s.o.NoSync {
		if err := s.head.write(s.mark(st, false)); err != nil {
			s.fail(err)
			return err
		}
	}
	s.setPin(s.newPin(st))
	s.growReserve()
	s.tightenNew()
	return nil
}
