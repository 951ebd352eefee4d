package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestDeadlines gives each call inputs of 4 MB that are hard to cut, to count or to compare, and 200 ms. It ends by then
// or fails, whatever it is at. The long form, for a quiet machine, allows 50 ms more; the short one allows for a busy one.
func TestDeadlines(t *testing.T) {
	const size = 4 << 20
	deadline, over := 200*time.Millisecond, 3*time.Second
	if trial.Long() {
		over = 50 * time.Millisecond
	} else {
		t.Parallel()
	}
	e, err := engine.Open(t.Context(), "", encoder.NewHash(64), engine.Options{InMemory: true, TokenStates: engine.TokenStatesOn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	docs := make([]engine.Document, 200)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprint("d", i), Text: fmt.Sprintf("apples and pears number %d of the long word%d", i, i%7), Metadata: map[string]any{"n": i, "s": strings.Repeat("x", 100)}}
	}
	if _, err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var distinct strings.Builder
	for i := 0; distinct.Len() < size; i++ {
		fmt.Fprintf(&distinct, "w%d ", i)
	}
	texts := map[string]string{
		"without a blank": repeat("a"), "of one letter": repeat("a "), "of new lines": repeat("x\n"), "of distinct words": distinct.String(),
		"of marks": repeat("a\u0301"), "of no letters": repeat("!?"), "of ideographs": repeat("漢字"), "of quotes": repeat(`"a" -b `), "of long words": repeat(strings.Repeat("q", 5000) + " "),
	}
	values := make([]any, size/20)
	for i := range values {
		values[i] = fmt.Sprintf("value of number %d", i)
	}
	in := filter.In("s", values...)
	deep := map[string]any{"x": 1}
	for range 5000 {
		deep = map[string]any{"deep": deep}
	}
	many := make([]engine.Document, size/40)
	ids := make([]string, len(many))
	patches := make([]engine.Patch, len(many))
	for i := range many {
		ids[i] = fmt.Sprint("many", i)
		many[i] = engine.Document{ID: ids[i], Text: "some words of many"}
		patches[i] = engine.Patch{ID: fmt.Sprint("d", i%len(docs)), Metadata: map[string]any{"n": i}}
	}
	calls := map[string]func(ctx context.Context) error{
		"upsert of many":           func(ctx context.Context) error { _, err := e.Upsert(ctx, many); return err },
		"patch of many":            func(ctx context.Context) error { _, err := e.Patch(ctx, patches); return err },
		"delete of many":           func(ctx context.Context) error { _, err := e.Delete(ctx, ids); return err },
		"count of many values":     func(ctx context.Context) error { _, err := e.Count(ctx, in); return err },
		"delete where many values": func(ctx context.Context) error { _, err := e.DeleteWhere(ctx, in); return err },
		"search by many values": func(ctx context.Context) error {
			_, err := e.Search(ctx, engine.Query{Text: "apples", Filter: in})
			return err
		},
		"upsert of deep metadata": func(ctx context.Context) error {
			_, err := e.Upsert(ctx, []engine.Document{{ID: "deep", Text: "x", Metadata: deep}})
			return err
		},
		"upsert of much metadata": func(ctx context.Context) error {
			_, err := e.Upsert(ctx, []engine.Document{{ID: "much", Text: "x", Metadata: map[string]any{"list": values}}})
			return err
		},
		"get of a long id": func(ctx context.Context) error { _, err := e.Get(ctx, texts["without a blank"]); return err },
	}
	for kind, text := range texts {
		calls["upsert of text "+kind] = func(ctx context.Context) error {
			_, err := e.Upsert(ctx, []engine.Document{{ID: kind, Text: text}})
			return err
		}
		calls["upsert of a title "+kind] = func(ctx context.Context) error {
			_, err := e.Upsert(ctx, []engine.Document{{ID: "title" + kind, Title: text, Text: "x"}})
			return err
		}
		for _, mode := range []string{engine.ModeLexical, engine.ModeHybrid} {
			calls[mode+" search "+kind] = func(ctx context.Context) error {
				_, err := e.Search(ctx, engine.Query{Text: text, Mode: mode, Spans: true})
				return err
			}
		}
		calls["explain "+kind] = func(ctx context.Context) error {
			_, err := e.Explain(ctx, engine.Query{Text: text}, "d1")
			return err
		}
		calls["vector "+kind] = func(ctx context.Context) error { _, _, err := e.Vector(ctx, engine.Query{Text: text}); return err }
	}
	worst, which := time.Duration(0), ""
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		begin := time.Now()
		err := call(ctx)
		late := time.Since(begin) - deadline
		cancel()
		if late > over {
			t.Errorf("%s: %v after the deadline, %v", name, late.Round(time.Millisecond), err)
		}
		if late > worst {
			worst, which = late, name
		}
	}
	t.Logf("%d calls; the latest was %v after its deadline: %s", len(calls), worst.Round(time.Millisecond), which)
}
