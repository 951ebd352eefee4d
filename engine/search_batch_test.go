package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// watched counts calls and texts of an encoder, and refuses texts.
type watched struct {
	encoder.Encoder
	calls, texts atomic.Int64
	refuses      string
}

func (w *watched) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	w.calls.Add(1)
	w.texts.Add(int64(len(in)))
	for i := range in {
		if w.refuses != "" && in[i].Text == w.refuses {
			return nil, &encoder.TextError{Text: i, Err: errRefused}
		}
	}
	return w.Encoder.Encode(ctx, role, in, need)
}

var errRefused = errors.New("refused")

func watch(t *testing.T, o engine.Options) (*engine.Engine, *watched) {
	t.Helper()
	w := &watched{Encoder: hash(t)}
	e, err := engine.Open(t.Context(), t.TempDir(), w, o)
	if err == nil {
		err = e.Flush(t.Context()) // as open does
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, w
}

// untimed is a result without what differs from call to call.
func untimed(r engine.Result) engine.Result {
	r.Trace.Steps = nil
	return r
}

// TestSearchBatch: a batch gives what single searches give, in order, and encodes once.
func TestSearchBatch(t *testing.T) {
	t.Parallel()
	e, w := watch(t, engine.Options{ChunkTokens: 40})
	add(t, e, docs(0, 200))
	var qs []engine.Query
	for i := range 70 {
		q := engine.Query{Text: text(i), K: 1 + i%9, Offset: i % 3}
		switch i % 7 {
		case 1:
			q.Mode = engine.ModeDense
		case 2:
			q.Mode = engine.ModeLexical
		case 3:
			q.Filter = filter.Lt("n", 100)
		case 4:
			q.Variant = engine.VariantNone
		case 5:
			d, err := e.Get(t.Context(), fmt.Sprint("d", i))
			if err != nil {
				t.Fatal(err)
			}
			q.Vector = d.Vector
		case 6:
			q.MinScore = .3
		}
		qs = append(qs, q)
	}
	before := w.calls.Load()
	got, err := e.SearchBatch(t.Context(), qs)
	if err != nil || len(got) != len(qs) {
		t.Fatal(len(got), err)
	}
	if n := w.calls.Load() - before; n != 1 {
		t.Errorf("%d calls of the encoder", n)
	}
	for i, q := range qs {
		want := search(t, e, q)
		if len(want.Hits) == 0 || !reflect.DeepEqual(untimed(got[i]), untimed(want)) {
			t.Fatalf("query %d, %+v: %+v, a single search gives %+v", i, q, got[i], want)
		}
		for j, s := range got[i].Trace.Steps {
			if len(got[i].Trace.Steps) != len(want.Trace.Steps) || s.Name != want.Trace.Steps[j].Name || s.Took < 0 {
				t.Fatalf("query %d: steps %v, a single search has %v", i, got[i].Trace.Steps, want.Trace.Steps)
			}
		}
	}
	if got, err := e.SearchBatch(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("no query: %v, %v", got, err)
	}
	// More than are encoded at once.
	qs = nil
	for i := range 600 {
		qs = append(qs, engine.Query{Text: text(i % 200), K: 1})
	}
	before = w.calls.Load()
	got, err = e.SearchBatch(t.Context(), qs)
	if err != nil || w.calls.Load()-before != 3 {
		t.Fatal(w.calls.Load()-before, err)
	}
	for i, r := range got {
		if want := fmt.Sprint("d", i%200); len(r.Hits) != 1 || r.Hits[0].ID != want {
			t.Fatalf("query %d: %+v, want %s", i, r.Hits, want)
		}
	}
}

// TestSearchBatchErrors: an error names the query that it is of, and comes before
// anything is encoded where it can.
func TestSearchBatchErrors(t *testing.T) {
	e, w := watch(t, engine.Options{})
	add(t, e, docs(0, 20))
	good := engine.Query{Text: "topic3", K: 2}
	calls := w.calls.Load()
	for _, c := range []struct {
		bad  engine.Query
		want error
	}{
		{engine.Query{Text: "x", K: -1}, engine.ErrInvalid},
		{engine.Query{Text: "x", Mode: "mode"}, engine.ErrInvalid},
		{engine.Query{Mode: engine.ModeDense}, engine.ErrInvalid},
		{engine.Query{Vector: []float32{1}}, engine.ErrInvalid},
		{engine.Query{Text: "x", Variant: "slr"}, engine.ErrNotFitted},
	} {
		for _, at := range []int{0, 3, 299} {
			qs := make([]engine.Query, 300)
			for i := range qs {
				qs[i] = good
			}
			qs[at] = c.bad
			_, err := e.SearchBatch(t.Context(), qs)
			var one *engine.QueryError
			if !errors.Is(err, c.want) || !errors.As(err, &one) || one.Position != at {
				t.Errorf("%+v at %d: %v", c.bad, at, err)
			}
		}
	}
	if c := w.calls.Load() - calls; c > 12 { // a variant that is not fitted is met behind the encoder
		t.Errorf("%d calls of the encoder", c)
	}
	w.refuses = "bad text"
	qs := make([]engine.Query, 300)
	for i := range qs {
		qs[i] = good
	}
	qs[1].Mode, qs[270].Text = engine.ModeLexical, "bad text"
	_, err := e.SearchBatch(t.Context(), qs)
	var one *engine.QueryError
	if !errors.Is(err, errRefused) || !errors.As(err, &one) || one.Position != 270 {
		t.Errorf("a text that is refused: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.SearchBatch(ctx, qs); !errors.Is(err, context.Canceled) || errors.As(err, &one) {
		t.Errorf("cancelled: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SearchBatch(t.Context(), qs); err != engine.ErrClosed {
		t.Errorf("closed: %v", err)
	}
}

// TestSearchBatchSeesOneState: beside a writer who replaces two documents at once
// all queries of a batch see the same commit.
func TestSearchBatchSeesOneState(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	write := func(n int) {
		pair := []engine.Document{{ID: "a", Text: "apple", Metadata: map[string]any{"n": n}}, {ID: "b", Text: "berry", Metadata: map[string]any{"n": n}}}
		if _, err := e.Upsert(t.Context(), pair); err != nil {
			t.Error(err)
		}
	}
	write(0)
	wg.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
				write(n)
			}
		}
	})
	for range 100 {
		rs, err := e.SearchBatch(t.Context(), []engine.Query{{Text: "apple", K: 1}, {Text: "berry", K: 1}, {Text: "apple", K: 1, Mode: engine.ModeLexical}})
		if err != nil {
			t.Fatal(err)
		}
		a, b, c := rs[0].Hits[0], rs[1].Hits[0], rs[2].Hits[0]
		if a.ID != "a" || b.ID != "b" || !reflect.DeepEqual(a.Metadata, b.Metadata) || !reflect.DeepEqual(a.Metadata, c.Metadata) || rs[0].Trace.Seq != rs[1].Trace.Seq {
			t.Fatalf("%v, %v, %v", a.Metadata, b.Metadata, c.Metadata)
		}
	}
	close(stop)
	wg.Wait()
}
