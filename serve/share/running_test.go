package share_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/serve/share"
)

// slow is an encoder that does not end before it is let go, or its context has.
type slow struct {
	encoder.Encoder
	begun   chan struct{} // a value for each Encode
	goOn    chan struct{}
	stopped atomic.Int64 // Encodes that their context ended
}

func newSlow() *slow {
	return &slow{Encoder: encoder.NewHash(dim), begun: make(chan struct{}, 100), goOn: make(chan struct{})}
}

func (s *slow) Encode(ctx context.Context, role encoder.Role, texts []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	s.begun <- struct{}{}
	select {
	case <-s.goOn:
	case <-ctx.Done():
		s.stopped.Add(1)
		return nil, ctx.Err()
	}
	return s.Encoder.Encode(ctx, role, texts, need)
}

// lapsing is a context whose time is up when done is closed.
type lapsing struct {
	context.Context
	done chan struct{}
}

func (l lapsing) Done() <-chan struct{} { return l.done }

func (l lapsing) Err() error {
	select {
	case <-l.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestCancel: a call that its caller gives up ends at the holder, soon, and leaves nothing.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	enc := newSlow()
	e := opened(t, dir, enc, engine.Options{})
	shared(t, e, dir, share.Options{Drain: -1})
	c := asked(t, dir)
	calls := map[string]func(ctx context.Context) error{
		"upsert": func(ctx context.Context) error { _, err := c.Upsert(ctx, documents(3)); return err },
		"search": func(ctx context.Context) error {
			_, err := c.Search(ctx, engine.Query{Text: "keys"})
			return err
		},
		"import": func(ctx context.Context) error {
			x, err := archive.NewExported(strings.NewReader(`{"_id":"i","text":"words"}`))
			if err != nil {
				return err
			}
			_, err = c.Import(ctx, x)
			return err
		},
	}
	for name, call := range calls {
		for _, how := range []struct {
			end  func(context.Context) (context.Context, context.CancelFunc)
			want error
		}{
			{context.WithCancel, context.Canceled},
			{func(ctx context.Context) (context.Context, context.CancelFunc) {
				l := lapsing{ctx, make(chan struct{})}
				return l, func() { close(l.done) }
			}, context.DeadlineExceeded},
		} {
			before := enc.stopped.Load()
			ctx, cancel := how.end(t.Context())
			done := make(chan error, 1)
			go func() { done <- call(ctx) }()
			<-enc.begun
			cancel()
			begin := time.Now()
			if err := <-done; !errors.Is(err, how.want) {
				t.Errorf("%s: %v, want %v", name, err, how.want)
			}
			for enc.stopped.Load() == before {
				if time.Since(begin) > 5*time.Second {
					t.Fatalf("%s: the holder does not end", name)
				}
				time.Sleep(time.Millisecond)
			}
			t.Logf("%s: ended %v after", name, time.Since(begin))
		}
	}
	if n, err := c.Count(t.Context(), engine.Filter{}); n != 0 || err != nil {
		t.Errorf("%d documents are left, %v", n, err)
	}
}

// TestCallerDies: the call of a caller that is gone ends.
func TestCallerDies(t *testing.T) {
	dir := t.TempDir()
	enc := newSlow()
	shared(t, opened(t, dir, enc, engine.Options{}), dir, share.Options{})
	c := asked(t, dir)
	done := make(chan error, 1)
	go func() { _, err := c.Upsert(t.Context(), documents(3)); done <- err }()
	<-enc.begun
	c.Close()
	if err := <-done; !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
	for begin := time.Now(); enc.stopped.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 5*time.Second {
			t.Fatal("the holder does not end")
		}
	}
	if _, err := c.Count(t.Context(), engine.Filter{}); !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
}

// TestDrain: Close waits for what runs, then gives it up, and says that it was not done.
func TestDrain(t *testing.T) {
	for _, patient := range []bool{true, false} {
		dir := t.TempDir()
		enc := newSlow()
		o := share.Options{Drain: time.Minute}
		if !patient {
			o.Drain = 20 * time.Millisecond
		}
		e := opened(t, dir, enc, engine.Options{})
		s := shared(t, e, dir, o)
		c := asked(t, dir)
		done := make(chan error, 1)
		go func() { _, err := c.Upsert(t.Context(), documents(3)); done <- err }()
		<-enc.begun
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		for { // no new call is taken
			if _, err := share.Open(t.Context(), dir); errors.Is(err, share.ErrNoHolder) {
				break
			}
		}
		if patient {
			select {
			case err := <-closed:
				t.Fatalf("Close did not wait: %v", err)
			case <-time.After(50 * time.Millisecond):
			}
			close(enc.goOn)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		err := <-done
		var lost *share.LostError
		if patient && err != nil || !patient && (!errors.As(err, &lost) || lost.Begun) {
			t.Errorf("patient %v: %v", patient, err)
		}
		if n, err := e.Count(t.Context(), engine.Filter{}); err != nil || n != map[bool]int{true: 3}[patient] {
			t.Errorf("patient %v: %d documents, %v", patient, n, err)
		}
		if _, err := c.Count(t.Context(), engine.Filter{}); !errors.As(err, &lost) || lost.Begun || !errors.Is(err, share.ErrLost) {
			t.Error(err)
		}
	}
}

// TestManyClients: a hundred at once, each in its own connection, beside a writer.
func TestManyClients(t *testing.T) {
	dir := t.TempDir()
	e := filledShare(t, dir, 50)
	shared(t, e, dir, share.Options{})
	var all sync.WaitGroup
	clients := 100
	if testing.Short() { // under the race detector on a busy machine 100 wait for more than 5 s
		clients = 25
	}
	for i := range clients {
		all.Go(func() {
			c, err := share.Open(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for range 5 {
				if i%10 == 0 {
					_, err = c.Upsert(t.Context(), documents(50)[i%50:][:1])
				} else {
					var r engine.Result
					if r, err = c.Search(t.Context(), engine.Query{Text: "keys of y7", K: 5}); err == nil && len(r.Hits) != 5 {
						err = fmt.Errorf("%d hits", len(r.Hits))
					}
				}
				if err != nil {
					t.Error(i, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestLoopMayEnd: a loop over documents that ends early, or calls the database, ends well
// at the holder, too.
func TestLoopMayEnd(t *testing.T) {
	dir := t.TempDir()
	e := filledShare(t, dir, 40)
	s := shared(t, e, dir, share.Options{})
	c := asked(t, dir)
	n := 0
	for d, err := range c.All(t.Context(), engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), d.ID); err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range c.All(ctx, engine.Filter{}) {
		cancel()
		last = err
	}
	if last != nil && !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
	begin := time.Now()
	if err := s.Close(); err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}
