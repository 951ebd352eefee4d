package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// silent is a context whose timer never fires, as none does in time beside work that
// keeps all processors busy.
type silent struct {
	context.Context
	deadline time.Time
}

func (s silent) Deadline() (time.Time, bool) { return s.deadline, true }

// TestDeadlineWithoutItsTimer: calls go by the clock, and end by their deadline though
// their context has not ended yet.
func TestDeadlineWithoutItsTimer(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	add(t, e, docs(0, 600))
	where, err := filter.Parse(`id != "x"`)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(context.Context) error{
		"search": func(ctx context.Context) error {
			_, err := e.Search(ctx, engine.Query{Text: text(1), K: 500})
			return err
		},
		"explain": func(ctx context.Context) error {
			_, err := e.Explain(ctx, engine.Query{Text: text(1)}, "d1")
			return err
		},
		"vector": func(ctx context.Context) error { _, _, err := e.Vector(ctx, engine.Query{Text: text(1)}); return err },
		"get":    func(ctx context.Context) error { _, err := e.Get(ctx, "d1"); return err },
		"count":  func(ctx context.Context) error { _, err := e.Count(ctx, where); return err },
		"stats":  func(ctx context.Context) error { _, err := e.Stats(ctx); return err },
		"verify": func(ctx context.Context) error { _, err := e.Verify(ctx, nil); return err },
		"add":    func(ctx context.Context) error { _, err := e.Add(ctx, docs(600, 610)); return err },
		"upsert": func(ctx context.Context) error { _, err := e.Upsert(ctx, docs(0, 10)); return err },
		"delete": func(ctx context.Context) error { _, err := e.Delete(ctx, []string{"d0"}); return err },
		"fit":    func(ctx context.Context) error { _, err := e.Fit(ctx, engine.FitOptions{}); return err },
		"all": func(ctx context.Context) error {
			for _, err := range e.All(ctx, engine.Filter{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	for name, call := range calls {
		if err := call(silent{t.Context(), time.Now()}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s, its time up: %v", name, err)
		}
	}
	if err := calls["verify"](silent{t.Context(), time.Now().Add(time.Millisecond)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a Verify of a millisecond: %v", err)
	}
	for name, call := range calls {
		if err := call(silent{t.Context(), time.Now().Add(time.Hour)}); err != nil {
			t.Errorf("%s in good time: %v", name, err)
		}
	}
}
