//go:build unix

package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/store"
)

// TestDeadlines gives each call inputs of 4 MB that are hard to cut, to count or to compare, and little time. It ends
// within 50 ms after that, or 150 ms on a busy machine, whatever it is at. The short form makes some of the calls with
// 200 ms. The long form makes all, with four deadlines, also on a database that holds such documents. Packages
// serve/httpapi and serve/mcp have such a test of their own.
func TestDeadlines(t *testing.T) {
	const size, goal = 4 << 20, 50 * time.Millisecond
	most, deadlines := time.Second, []time.Duration{200 * time.Millisecond} // other tests run in this process
	if trial.Long() {
		most, deadlines = 150*time.Millisecond, []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 600 * time.Millisecond}
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
	texts := trial.HardTexts(size)
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
	if trial.Long() {
		held := open(t, t.TempDir(), engine.Options{NoSync: true})
		for kind, text := range texts {
			if kind == "of one letter" || kind == "of new lines" || kind == "of ideographs" { // many chunks, which take long to store
				text = text[:size/8]
			}
			if _, err := held.Upsert(t.Context(), []engine.Document{{ID: kind, Text: text, Metadata: map[string]any{"g": "x", "s": "y"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := held.Upsert(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		if err := held.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, call := range storedCalls(t, held) {
			calls["of stored: "+name] = call
		}
	}
	n := 0
	for name, call := range calls { // in an order of chance
		if n++; n > 8 && !trial.Long() {
			break
		}
		t.Run(name, func(t *testing.T) {
			for _, deadline := range deadlines {
				begin := time.Now()
				late, err := trial.Overrun(t, deadline, goal, call)
				t.Logf("%v after a deadline of %v, %v", late.Round(time.Millisecond), deadline, err)
				if late > most {
					t.Error("too late")
				}
				if err == nil && time.Since(begin) < deadline {
					break // it ends by itself
				}
			}
		})
	}
}

// storedCalls are the calls that read or rewrite what e holds.
func storedCalls(t *testing.T, e *engine.Engine) map[string]func(ctx context.Context) error {
	dir, tries := t.TempDir(), 0
	var backup, exported bytes.Buffer
	if _, err := e.BackupTo(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Export(t.Context(), &exported, archive.ExportOptions{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	var records []store.Document
	for r, err := range e.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r.Document)
	}
	walk := func(seq func(func(engine.Document, error) bool)) (err error) {
		for _, err = range seq {
			if err != nil {
				return err
			}
		}
		return nil
	}
	ids := []string{"of marks", "of long words", "of quotes", "without a blank"}
	calls := map[string]func(ctx context.Context) error{
		"backup": func(ctx context.Context) error {
			tries++
			_, err := e.Backup(ctx, filepath.Join(dir, fmt.Sprint(tries)))
			return err
		},
		"backup to": func(ctx context.Context) error { _, err := e.BackupTo(ctx, io.Discard); return err },
		"restore": func(ctx context.Context) error {
			tries++
			_, err := archive.Restore(ctx, filepath.Join(dir, fmt.Sprint(tries)), bytes.NewReader(backup.Bytes()), archive.RestoreOptions{})
			return err
		},
		"export": func(ctx context.Context) error {
			_, err := e.Export(ctx, io.Discard, archive.ExportOptions{Vectors: true})
			return err
		},
		"import": func(ctx context.Context) error {
			x, err := archive.NewExported(bytes.NewReader(exported.Bytes()))
			if err == nil {
				_, err = e.Import(ctx, x)
			}
			return err
		},
		"compact":  func(ctx context.Context) error { return e.Compact(ctx) },
		"flush":    func(ctx context.Context) error { return e.Flush(ctx) },
		"stats":    func(ctx context.Context) error { _, err := e.Stats(ctx); return err },
		"verify":   func(ctx context.Context) error { _, err := e.Verify(ctx, nil); return err },
		"writable": func(ctx context.Context) error { return e.Writable(ctx) },
		"all":      func(ctx context.Context) error { return walk(e.All(ctx, engine.Filter{})) },
		"list":     func(ctx context.Context) error { return walk(e.List(ctx, engine.Filter{}, "d1")) },
		"records": func(ctx context.Context) error {
			for _, err := range e.Records(ctx, 0) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"facets": func(ctx context.Context) error { _, err := e.Facets(ctx, engine.Filter{}, "s", 10); return err },
		"count":  func(ctx context.Context) error { _, err := e.Count(ctx, filter.Eq("s", "y")); return err },
		"get":    func(ctx context.Context) error { _, err := e.Get(ctx, "of distinct words"); return err },
		"fit": func(ctx context.Context) error {
			_, err := e.Fit(ctx, engine.FitOptions{})
			return err
		},
		"keep token states": func(ctx context.Context) error { _, err := e.KeepTokenStates(ctx); return err },
		"patch": func(ctx context.Context) error {
			tries++
			var patches []engine.Patch
			for _, id := range ids {
				patches = append(patches, engine.Patch{ID: id, Metadata: map[string]any{"n": tries}})
			}
			_, err := e.Patch(ctx, patches)
			return err
		},
		"put records": func(ctx context.Context) error {
			_, err := e.PutRecords(ctx, records)
			return err
		},
	}
	for name, q := range map[string]engine.Query{
		"search dense": {Text: "apples", Mode: engine.ModeDense}, "search hybrid": {Text: "apples a x w7 q"}, "search lexical": {Text: "a w5 x", Mode: engine.ModeLexical},
		"search spans": {Text: "a w77 w5", Spans: true}, "search chunks": {Text: "a x apples", PerChunk: true, K: 10_000}, "search collapse": {Text: "a x apples", Collapse: true, K: 1000},
		"places": {Text: "w77", Places: true}, "places of a": {Text: "+a", Places: true, K: 100}, "phrase": {Text: `"x x x x x"`}, "prefix": {Text: "w*"},
		"similar": {Like: []string{"of marks"}, Unlike: []string{"of distinct words"}}, "boost": {Text: "apples", Boost: "field(n, 100)"}, "sort": {Text: "apples a", Sort: "n desc"},
		"groups": {Text: "a apples", GroupBy: "s"}, "local": {Text: "apples a", Variant: engine.VariantLocal, Mode: engine.ModeDense},
	} {
		calls[name] = func(ctx context.Context) error { _, err := e.Search(ctx, q); return err }
		calls["batch of "+name] = func(ctx context.Context) error {
			qs := make([]engine.Query, 16)
			for i := range qs {
				qs[i] = q
			}
			_, err := e.SearchBatch(ctx, qs)
			return err
		}
		for _, id := range []string{"of distinct words", "of quotes"} {
			calls["explain "+name+" "+id] = func(ctx context.Context) error { _, err := e.Explain(ctx, q, id); return err }
		}
	}
	return calls
}
