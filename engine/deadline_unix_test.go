//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// worked is the time that processors have spent on this process.
func worked(t *testing.T) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Error(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestDeadlines gives each call inputs of 4 MB that are hard to cut, to count or to compare, and 200 ms. It ends by then
// or fails, whatever it is at. The short form makes some of the calls. The long form bounds what processors do after the deadline, which other processes on
// the machine do not change; the short one bounds the time, and allows for a busy machine.
func TestDeadlines(t *testing.T) {
	const size = 4 << 20
	const deadline, over = 200 * time.Millisecond, 3 * time.Second
	work := func(name string) time.Duration {
		if strings.Contains(name, " title ") { // an encoder tokenizes its text as a whole, and chunks have no part of a title
			return 2 * time.Second
		}
		return 250 * time.Millisecond
	}
	if !trial.Long() {
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
	worst, which, n := time.Duration(0), "", 0
	for name, call := range calls { // in an order of chance
		if n++; n > 8 && !trial.Long() {
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		begin, before := time.Now(), make(chan time.Duration, 1)
		stop := context.AfterFunc(ctx, func() { before <- worked(t) })
		err := call(ctx)
		late, busy := time.Since(begin)-deadline, time.Duration(0)
		if !stop() {
			busy = worked(t) - <-before
		}
		cancel()
		if late > over || trial.Long() && busy > work(name) {
			t.Errorf("%s: %v after the deadline, %v of work, %v", name, late.Round(time.Millisecond), busy.Round(time.Millisecond), err)
		}
		if busy > worst {
			worst, which = busy, name
		}
	}
	t.Logf("%d calls; most work after its deadline had, with %v, %s", n, worst.Round(time.Millisecond), which)
}
