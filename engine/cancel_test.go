package engine_test

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// stuck is an encoder whose passages take until it is let go.
type stuck struct {
	encoder.Encoder
	on      atomic.Bool
	entered chan struct{}
	free    chan struct{}
}

func newStuck(t *testing.T) *stuck {
	s := &stuck{Encoder: hash(t), entered: make(chan struct{}, 8), free: make(chan struct{})}
	t.Cleanup(func() { close(s.free) })
	return s
}

func (s *stuck) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if s.on.Load() {
		s.entered <- struct{}{}
		<-s.free // whatever becomes of ctx
	}
	return s.Encoder.Encode(ctx, role, in, need)
}

// TestCloseLeavesTheEncoder: Close does not wait for an encoder. The Add is cancelled with
// ErrClosed and leaves nothing, and further calls get ErrClosed at once.
func TestCloseLeavesTheEncoder(t *testing.T) {
	dir, enc := t.TempDir(), newStuck(t)
	e, err := engine.Open(t.Context(), dir, enc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add(t, e, docs(0, 3))
	enc.on.Store(true)
	added := make(chan error, 1)
	go func() {
		_, err := e.Add(t.Context(), docs(3, 6))
		added <- err
	}()
	<-enc.entered
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-added; !errors.Is(err, engine.ErrClosed) {
		t.Fatalf("the Add that Close cancels: %v", err)
	}
	enc.on.Store(false)
	for name, call := range map[string]func() error{
		"search":  func() error { _, err := e.Search(t.Context(), engine.Query{Text: "x"}); return err },
		"explain": func() error { _, err := e.Explain(t.Context(), engine.Query{Text: "x"}, "d0"); return err },
		"vector":  func() error { _, _, err := e.Vector(t.Context(), engine.Query{Text: "x"}); return err },
		"get":     func() error { _, err := e.Get(t.Context(), "d0"); return err },
		"add":     func() error { _, err := e.Add(t.Context(), docs(7, 8)); return err },
		"delete":  func() error { _, err := e.Delete(t.Context(), []string{"d0"}); return err },
		"fit":     func() error { _, err := e.Fit(t.Context(), engine.FitOptions{}); return err },
		"stats":   func() error { _, err := e.Stats(t.Context()); return err },
		"verify":  func() error { _, err := e.Verify(t.Context(), nil); return err },
		"flush":   func() error { return e.Flush(t.Context()) },
	} {
		if err := call(); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	again := open(t, dir, engine.Options{})
	if s, err := again.Stats(t.Context()); err != nil || s.Documents != 3 {
		t.Fatalf("%d documents after reopening, %v", s.Documents, err)
	}
}

// TestCloseCancelsFit: a running fit is cancelled with ErrClosed, also one whose
// Progress calls the engine.
func TestCloseCancelsFit(t *testing.T) {
	e, err := engine.Open(t.Context(), t.TempDir(), hash(t), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add(t, e, docs(0, 200))
	began := make(chan struct{})
	var once atomic.Bool
	fitted := make(chan error, 1)
	go func() {
		_, err := e.Fit(t.Context(), engine.FitOptions{Epochs: 10_000, Progress: func(p engine.Progress) {
			if _, err := e.Stats(t.Context()); err != nil && !errors.Is(err, engine.ErrClosed) {
				t.Errorf("stats within a fit: %v", err)
			}
			if p.Stage == "fit" && !once.Swap(true) {
				close(began)
			}
		}})
		fitted <- err
	}()
	<-began
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-fitted; !errors.Is(err, engine.ErrClosed) {
		t.Fatalf("the fit that Close cancels: %v", err)
	}
}

// TestDeadlineDuringEncoding: a call whose time is up does not wait for the encoder.
func TestDeadlineDuringEncoding(t *testing.T) {
	enc := newStuck(t)
	e, err := engine.Open(t.Context(), t.TempDir(), enc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	add(t, e, docs(0, 3))
	enc.on.Store(true)
	for name, call := range map[string]func(context.Context) error{
		"search": func(ctx context.Context) error { _, err := e.Search(ctx, engine.Query{Text: "x"}); return err },
		"add":    func(ctx context.Context) error { _, err := e.Add(ctx, docs(3, 4)); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	enc.on.Store(false)
	if s, err := e.Stats(t.Context()); err != nil || s.Documents != 3 {
		t.Fatalf("%d documents, %v", s.Documents, err)
	}
}

// TestEveryCallObeysItsContext: a context that ends at any moment that a call looks
// at it makes the call return its error, and leaves nothing behind that a later search
// would take for its own.
func TestEveryCallObeysItsContext(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{Local: true})
	add(t, e, docs(0, 600))
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(context.Context) error{
		"vector": func(ctx context.Context) error { _, _, err := e.Vector(ctx, engine.Query{Text: text(1)}); return err },
		"explain": func(ctx context.Context) error {
			_, err := e.Explain(ctx, engine.Query{Text: text(1)}, "d1")
			return err
		},
		"verify": func(ctx context.Context) error { _, err := e.Verify(ctx, nil); return err },
		"get":    func(ctx context.Context) error { _, err := e.Get(ctx, "d1"); return err },
	}
	for name, q := range map[string]engine.Query{
		"dense": {Mode: engine.ModeDense}, "lexical": {Mode: engine.ModeLexical}, "hybrid": {}, "deep": {K: 500},
		"local": {Mode: engine.ModeDense, Variant: engine.VariantLocal}, "collapse": {Collapse: true, K: 300},
	} {
		q.Text = text(1)
		calls[name] = func(ctx context.Context) error { _, err := e.Search(ctx, q); return err }
	}
	after := []engine.Query{
		{Text: text(2), K: 3}, {Text: text(3), K: 3, Mode: engine.ModeDense, Variant: engine.VariantLocal},
		{Text: text(4), K: 3, Mode: engine.ModeLexical}, {Text: text(5), K: 3, Collapse: true},
	}
	answers := func() (all [][]engine.Hit) {
		for _, q := range after {
			r, err := e.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r.Hits)
		}
		return all
	}
	want := answers()
	for name, call := range calls {
		looks := 0
		for n := 0; ; n += 1 + n/8 {
			err := call(newCountdown(t.Context(), n))
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s cancelled at look %d: %v", name, n, err)
			}
			if got := answers(); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s cancelled at look %d: later searches find\n%+v, before\n%+v", name, n, got, want)
			}
			if looks = n + 1; n > 1_000_000 {
				t.Fatalf("%s never ends by itself", name)
			}
		}
		if looks == 0 {
			t.Errorf("%s never looks at its context", name)
		}
	}
}
