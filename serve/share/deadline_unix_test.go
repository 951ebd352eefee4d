//go:build unix

package share_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/serve/share"
)

// counting is a database that counts the calls that run.
type counting struct {
	*engine.Engine
	running atomic.Int32
}

func (e *counting) Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	e.running.Add(1)
	defer e.running.Add(-1)
	return e.Engine.Upsert(ctx, docs)
}

// TestDeadlines ends calls with 4 MB that are hard to send, to cut or to compare after 200 ms. The caller returns within
// 50 ms after that, or 150 ms on a busy machine, and so does the holder of the database.
func TestDeadlines(t *testing.T) {
	const size, deadline, goal = 4 << 20, 200 * time.Millisecond, 50 * time.Millisecond
	most := time.Second // other tests run in this process
	if trial.Long() {
		most = 150 * time.Millisecond
	} else {
		t.Parallel()
	}
	dir := t.TempDir()
	e := &counting{Engine: opened(t, dir, encoder.NewHash(64), engine.Options{TokenStates: engine.TokenStatesOn})}
	shared(t, e, dir, share.Options{})
	if _, err := e.Engine.Upsert(t.Context(), documents(100)); err != nil {
		t.Fatal(err)
	}
	db := asked(t, dir)
	many := make([]engine.Document, size/40)
	ids, patches, values := make([]string, len(many)), make([]engine.Patch, len(many)), make([]any, len(many))
	for i := range many {
		ids[i] = fmt.Sprint("many", i)
		values[i] = ids[i]
		many[i] = engine.Document{ID: ids[i], Text: "some words of many"}
		patches[i] = engine.Patch{ID: fmt.Sprint("d", i%100), Metadata: map[string]any{"n": i}}
	}
	in := filter.In("lang", values...)
	upsert := func(docs ...engine.Document) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := db.Upsert(ctx, docs)
			for e.running.Load() > 0 {
				time.Sleep(time.Millisecond)
			}
			return err
		}
	}
	calls := map[string]func(context.Context) error{
		"upsert of many": upsert(many...),
		"much metadata":  upsert(engine.Document{ID: "much", Text: "x", Metadata: map[string]any{"list": values}}),
		"patch of many":  func(ctx context.Context) error { _, err := db.Patch(ctx, patches); return err },
		"delete of many": func(ctx context.Context) error { _, err := db.Delete(ctx, ids); return err },
		"count":          func(ctx context.Context) error { _, err := db.Count(ctx, in); return err },
		"delete where":   func(ctx context.Context) error { _, err := db.DeleteWhere(ctx, in); return err },
		"search": func(ctx context.Context) error {
			_, err := db.Search(ctx, engine.Query{Text: "unit", Filter: in})
			return err
		},
	}
	for kind, text := range trial.HardTexts(size) {
		calls["upsert of text "+kind] = upsert(engine.Document{ID: kind, Text: text})
		calls["search of text "+kind] = func(ctx context.Context) error { _, err := db.Search(ctx, engine.Query{Text: text}); return err }
	}
	n := 0
	for name, call := range calls { // in an order of chance
		if n++; n > 8 && !trial.Long() {
			break
		}
		t.Run(name, func(t *testing.T) {
			late, err := trial.Overrun(t, deadline, goal, call)
			t.Logf("%v after the deadline, %v", late.Round(time.Millisecond), err)
			if late > most {
				t.Error("too late")
			}
		})
	}
}
