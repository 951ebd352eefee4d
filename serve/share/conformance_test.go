package share_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/problems"
	"github.com/lexsem/lexsem/serve/share"
)

const dim = 48

// opened opens a database that the test closes.
func opened(t *testing.T, dir string, enc encoder.Encoder, o engine.Options) *engine.Engine {
	t.Helper()
	o.NoSync, o.MemoryMiB = true, 64 // the least: opening clears it
	e, err := engine.Open(t.Context(), dir, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// shared shares a database until the test ends.
func shared(t *testing.T, db engine.Database, dir string, o share.Options) *share.Shared {
	t.Helper()
	s, err := share.Share(db, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// asked calls a shared database.
func asked(t *testing.T, dir string) *share.Joined {
	t.Helper()
	c, err := share.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// documents are n made ones, of which some are long.
func documents(n int) []engine.Document {
	docs := make([]engine.Document, n)
	for i := range docs {
		var b strings.Builder
		for s := range 1 + i%5*30 {
			fmt.Fprintf(&b, "Unit w%d speaks of x%d and the keys of y%d. ", (i*7+s)%40, (i+s*s)%300, i)
		}
		docs[i] = engine.Document{ID: fmt.Sprint("d", i), Title: fmt.Sprint("about ", i), Text: b.String(),
			Metadata: map[string]any{"n": i, "f": float64(i) / 3, "lang": []any{"de", "en"}[i%2], "deep": map[string]any{"x": nil}}}
	}
	return docs
}

// step is one thing that is done with a database; what it returns is compared.
type step struct {
	name string
	do   func(ctx context.Context, db engine.Database) (any, error)
}

func steps(t *testing.T) []step {
	docs := documents(60)
	unit := make([]float32, dim)
	unit[3] = 1
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	var exported, vectors bytes.Buffer
	search := func(q engine.Query) func(context.Context, engine.Database) (any, error) {
		return func(ctx context.Context, db engine.Database) (any, error) { return db.Search(ctx, q) }
	}
	upsert := func(docs ...engine.Document) func(context.Context, engine.Database) (any, error) {
		return func(ctx context.Context, db engine.Database) (any, error) { return db.Upsert(ctx, docs) }
	}
	add := func(docs ...engine.Document) func(context.Context, engine.Database) (any, error) {
		return func(ctx context.Context, db engine.Database) (any, error) { return db.Add(ctx, docs) }
	}
	ended := func(do func(context.Context, engine.Database) (any, error)) func(context.Context, engine.Database) (any, error) {
		return func(ctx context.Context, db engine.Database) (any, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return do(ctx, db)
		}
	}
	return []step{
		{"add", add(docs...)},
		{"add again", add(docs[3])},
		{"add twice", add(engine.Document{ID: "x", Text: "a b"}, engine.Document{ID: "x", Text: "c d"})},
		{"no id", add(engine.Document{Text: "words"})},
		{"blank", add(engine.Document{ID: "y", Text: " \n"})},
		{"wrong vector", add(engine.Document{ID: "y", Vector: []float32{1}})},
		{"NaN", add(engine.Document{ID: "y", Vector: append(make([]float32, dim-1), float32(math.NaN()))})},
		{"empty vector", add(engine.Document{ID: "y", Text: "words", Vector: []float32{}})},
		{"metadata of no kind", add(engine.Document{ID: "z", Text: "words"}, engine.Document{ID: "y", Text: "words", Metadata: map[string]any{"c": make(chan int)}})},
		{"metadata that is not UTF-8", upsert(engine.Document{ID: "y", Text: "words", Metadata: map[string]any{"c": "\xff"}})},
		{"bytes", upsert(engine.Document{ID: "\xff\x00", Title: "\xfe", Text: "keys \xfd of unit w3", Vector: unit, Metadata: map[string]any{"s": "<&\u2028\ufffd", "f": 3.0, "big": uint64(math.MaxUint64), "e": 1e300}})},
		{"times", upsert(
			engine.Document{ID: "t1", Text: "time", Metadata: map[string]any{"when": noon}},
			engine.Document{ID: "t2", Text: "time", Metadata: map[string]any{"when": "Fri, 02 Jan 2026 13:00:00 +0100"}},
			engine.Document{ID: "t3", Text: "time", Metadata: map[string]any{"when": "2026-01-02T12:00:00.5Z"}},
			engine.Document{ID: "t4", Text: "time", Metadata: map[string]any{"when": "2026-01-02"}})},
		{"at a time", listed(filter.Eq("when", noon), "", 0)},
		{"before a time", listed(filter.Lt("when", noon.In(time.FixedZone("", -3600))), "", 0)},
		{"after a time", listed(filter.Gt("when", noon), "", 0)},
		{"among times", listed(filter.In("when", noon, "x"), "", 0)},
		{"some days ago", func(ctx context.Context, db engine.Database) (any, error) {
			f, err := filter.Parse(`when < now-7d and when > "2025-01-01"`)
			if err != nil {
				return nil, err
			}
			return db.Count(ctx, f)
		}},
		{"delete times", func(ctx context.Context, db engine.Database) (any, error) {
			return db.DeleteWhere(ctx, filter.Ge("when", noon.AddDate(-1, 0, 0)))
		}},
		{"nothing", upsert()},
		{"upsert", upsert(docs[:5]...)},
		{"upsert changed", upsert(engine.Document{ID: "d1", Text: "other words about keys"})},
		{"breaks", upsert(engine.Document{ID: "b", Text: strings.Repeat("Some words. ", 200), Breaks: []int{120, 1200}})},
		{"bad breaks", upsert(engine.Document{ID: "b", Text: "words", Breaks: []int{-1}})},
		{"patch", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Patch(ctx, []engine.Patch{{ID: "d2", Metadata: map[string]any{"lang": nil, "new": map[string]any{"a": 1, "b": nil}}}, {ID: "\xff\x00", Metadata: map[string]any{"p": 1.5}}})
		}},
		{"patch of nothing", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Patch(ctx, []engine.Patch{{ID: "none", Metadata: map[string]any{"a": 1}}})
		}},
		{"patch of no kind", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Patch(ctx, []engine.Patch{{ID: "d2"}, {ID: "d3", Metadata: map[string]any{"a": func() {}}}})
		}},
		{"get", func(ctx context.Context, db engine.Database) (any, error) { return db.Get(ctx, "\xff\x00") }},
		{"get patched", func(ctx context.Context, db engine.Database) (any, error) { return db.Get(ctx, "d2") }},
		{"get none", func(ctx context.Context, db engine.Database) (any, error) { return db.Get(ctx, "none\xff") }},
		{"all", all(engine.Filter{}, 0)},
		{"some", all(filter.And(filter.Eq("lang", "de"), filter.Lt("n", 20)), 0)},
		{"first three", all(engine.Filter{}, 3)},
		{"list", listed(engine.Filter{}, "", 0)},
		{"list after", listed(filter.Prefix("id", "d"), "d1\xff", 7)},
		{"list to the end", listed(engine.Filter{}, "\xfe", 0)},
		{"list of an invalid filter", listed(filter.Eq("a", struct{}{}), "", 0)},
		{"all of an invalid filter", all(filter.Eq("a", struct{}{}), 0)},
		{"count", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Count(ctx, filter.Not(filter.Exists("n")))
		}},
		{"count of an invalid filter", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Count(ctx, filter.Eq("a", struct{}{}))
		}},
		{"facets", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Facets(ctx, filter.Exists("n"), "lang", 2)
		}},
		{"facets of numbers", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Facets(ctx, engine.Filter{}, "n", 0)
		}},
		{"facets of nothing", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Facets(ctx, engine.Filter{}, "nope", 0)
		}},
		{"facets of ids", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Facets(ctx, engine.Filter{}, "id", 0)
		}},
		{"facets by an invalid filter", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Facets(ctx, filter.Eq("a", struct{}{}), "n", 0)
		}},
		{"search", search(engine.Query{Text: "keys of y7 unit w3"})},
		{"search offset", search(engine.Query{Text: "keys of y7 unit w3", K: 4, Offset: 3, MinScore: 0.01})},
		{"search lexical", search(engine.Query{Text: "keys y7", Mode: engine.ModeLexical, PerChunk: true, K: 30})},
		{"search dense", search(engine.Query{Text: "keys y7", Mode: engine.ModeDense, Variant: engine.VariantNone, Filter: filter.In("lang", "de", "fr")})},
		{"search spans", search(engine.Query{Text: "unit w3 speaks of x7", Spans: true})},
		{"search vector", search(engine.Query{Vector: unit, Collapse: true})},
		{"search nothing", search(engine.Query{Text: "zzz", Mode: engine.ModeLexical})},
		{"search mistyped", search(engine.Query{Text: "speeks of y7"})},
		{"search places", search(engine.Query{Text: "w3", Places: true, K: 5})},
		{"search mistyped exactly", search(engine.Query{Text: "speeks of y7", Exact: true})},
		{"search operators", search(engine.Query{Text: `"keys of" -y9 +unit title:about sp*`, K: 30})},
		{"search only operators", search(engine.Query{Text: "-keys -unit", Mode: engine.ModeLexical, K: 30})},
		{"search an unmet phrase", search(engine.Query{Text: `"never said" keys`})},
		{"search plain", search(engine.Query{Text: "keys -unit", Plain: true})},
		{"words as they are typed", upsert(engine.Document{ID: "typed", Text: "猫が寝ている 🚀. CO₂ rose in the Straße. The Who played."})},
		{"search one character", search(engine.Query{Text: "猫", Mode: engine.ModeLexical})},
		{"search signs and accents", search(engine.Query{Text: "🚀 co2 strasse"})},
		{"search function words", search(engine.Query{Text: "the who", Mode: engine.ModeLexical})},
		{"search alike", search(engine.Query{Like: []string{"d7", "d3:1"}, Unlike: []string{"d5"}, K: 4})},
		{"search boosted", search(engine.Query{Text: "keys of y7", Boost: "0.5*field(n, 7)", GroupBy: "lang", PerGroup: 2})},
		{"search sorted", search(engine.Query{Text: "keys of y7", Sort: "n desc", K: 20})},
		{"search badly boosted", search(engine.Query{Text: "keys", Boost: "field(n)"})},
		{"search like nothing", search(engine.Query{Like: []string{"nope"}})},
		{"search blank", search(engine.Query{Text: "  "})},
		{"search too many", search(engine.Query{Text: "a", K: engine.MaxK + 1})},
		{"search unknown", search(engine.Query{Text: "a", Variant: "what"})},
		{"search not fitted", search(engine.Query{Text: "a", Variant: "slr"})},
		{"search by an invalid filter", search(engine.Query{Text: "a", Filter: filter.Eq("a", struct{}{})})},
		{"search ended", ended(search(engine.Query{Text: "a"}))},
		{"search batch", func(ctx context.Context, db engine.Database) (any, error) {
			return db.SearchBatch(ctx, []engine.Query{{Text: "keys"}, {Text: "speeks"}, {Vector: unit, K: 3}, {Text: "w3", Mode: engine.ModeLexical}})
		}},
		{"search no batch", func(ctx context.Context, db engine.Database) (any, error) { return db.SearchBatch(ctx, nil) }},
		{"search bad batch", func(ctx context.Context, db engine.Database) (any, error) {
			return db.SearchBatch(ctx, []engine.Query{{Text: "keys"}, {}})
		}},
		{"search batch by an invalid filter", func(ctx context.Context, db engine.Database) (any, error) {
			return db.SearchBatch(ctx, []engine.Query{{Text: "keys"}, {Text: "keys", Filter: filter.Eq("a", struct{}{})}})
		}},
		{"explain", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Explain(ctx, engine.Query{Text: "keys of y7 unit w3"}, "d7")
		}},
		{"explain mistyped", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Explain(ctx, engine.Query{Text: "speeks of y7"}, "d7")
		}},
		{"explain operators", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Explain(ctx, engine.Query{Text: "keys -y9 +unit"}, "d7")
		}},
		{"explain what operators exclude", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Explain(ctx, engine.Query{Text: "keys -unit"}, "d7")
		}},
		{"explain none", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Explain(ctx, engine.Query{Text: "keys"}, "none")
		}},
		{"vector", func(ctx context.Context, db engine.Database) (any, error) {
			v, trace, err := db.Vector(ctx, engine.Query{Text: "keys of y7"})
			return []any{v, trace}, err
		}},
		{"default", func(_ context.Context, db engine.Database) (any, error) { return db.Default(), nil }},
		{"delete", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Delete(ctx, []string{"d3", "none", "d4"})
		}},
		{"delete where", func(ctx context.Context, db engine.Database) (any, error) {
			return db.DeleteWhere(ctx, filter.Gt("n", 55))
		}},
		{"delete everything", func(ctx context.Context, db engine.Database) (any, error) {
			return db.DeleteWhere(ctx, engine.Filter{})
		}},
		{"flush", func(ctx context.Context, db engine.Database) (any, error) { return nil, db.Flush(ctx) }},
		{"writable", func(ctx context.Context, db engine.Database) (any, error) { return nil, db.Writable(ctx) }},
		{"fit", func(ctx context.Context, db engine.Database) (any, error) {
			heard := false
			r, err := db.Fit(ctx, engine.FitOptions{Variant: "slr", QueriesPerPassage: 2, Epochs: 1, Progress: func(p engine.Progress) { heard = heard || p.Stage != "" }})
			if err == nil && !heard {
				err = errors.New("no progress was heard of")
			}
			return r, err
		}},
		{"fit badly", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Fit(ctx, engine.FitOptions{Variant: "what"})
		}},
		{"search fitted", search(engine.Query{Text: "keys of y7 unit w3", Variant: "slr"})},
		{"stats", func(ctx context.Context, db engine.Database) (any, error) {
			s, err := db.Stats(ctx)
			if err != nil {
				return s, err
			}
			lacks := []problems.Problem{{State: problems.Stale, Path: "a.md", Line: 2, Documents: 1, Reason: "why", Time: "2026-01-02T03:04:05Z"}}
			left := problems.LeftOut{Other: 1, Kinds: []problems.Extension{{Extension: ".docx", Files: 1, Example: "b.docx"}}}
			if err := problems.Write(s.Dir, "/notes", left, lacks); err != nil {
				return s, err
			}
			if s, err = db.Stats(ctx); err == nil && (s.Problems.Stale != 1 || len(s.Problems.First) != 1) {
				err = fmt.Errorf("problems %+v", s.Problems)
			}
			s.Dir, s.DiskBytes, s.Disk, s.LiveBytes, s.DeadBytes, s.Reclaimable, s.Memory, s.Maintenance = "", 0, nil, 0, 0, 0, engine.Memory{}, engine.Maintenance{}
			return s, err
		}},
		{"verify", func(ctx context.Context, db engine.Database) (any, error) {
			heard := false
			r, err := db.Verify(ctx, func(engine.Progress) { heard = true })
			if err == nil && !heard {
				err = errors.New("no progress was heard of")
			}
			return r, err
		}},
		{"verify in silence", func(ctx context.Context, db engine.Database) (any, error) { return db.Verify(ctx, nil) }},
		{"export", func(ctx context.Context, db engine.Database) (any, error) {
			exported.Reset()
			n, err := db.Export(ctx, &exported, archive.ExportOptions{})
			return []any{n, exported.String()}, err
		}},
		{"export vectors", func(ctx context.Context, db engine.Database) (any, error) {
			vectors.Reset()
			n, err := db.Export(ctx, &vectors, archive.ExportOptions{Vectors: true, Filter: filter.Eq("lang", "en")})
			return []any{n, vectors.String()}, err
		}},
		{"delete some", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Delete(ctx, []string{"d10", "d11"})
		}},
		{"import", func(ctx context.Context, db engine.Database) (any, error) {
			x, err := archive.NewExported(bytes.NewReader(exported.Bytes()))
			if err != nil {
				return nil, err
			}
			return db.Import(ctx, x)
		}},
		{"import vectors", func(ctx context.Context, db engine.Database) (any, error) {
			x, err := archive.NewExported(bytes.NewReader(vectors.Bytes()))
			if err != nil {
				return nil, err
			}
			return db.Import(ctx, x)
		}},
		{"import a bad line", func(ctx context.Context, db engine.Database) (any, error) {
			x, err := archive.NewExported(strings.NewReader("\n" + `{"_id":"i1","text":"imported words"}` + "\n\n" + `{"_id":"i2"` + "\n"))
			if err != nil {
				return nil, err
			}
			return db.Import(ctx, x)
		}},
		{"import what breaks", func(ctx context.Context, db engine.Database) (any, error) {
			x, err := archive.NewExported(io.MultiReader(strings.NewReader(`{"_id":"i3","text":"imported words"}`+"\n"), &failing{}))
			if err != nil {
				return nil, err
			}
			return db.Import(ctx, x)
		}},
		{"backup", func(ctx context.Context, db engine.Database) (any, error) {
			r, err := db.Backup(ctx, filepath.Join(t.TempDir(), "b"))
			r.Bytes = 0
			return r, err
		}},
		{"backup of a backup that is none", func(ctx context.Context, db engine.Database) (any, error) {
			return db.Backup(ctx, "conformance_test.go")
		}},
		{"backup to", func(ctx context.Context, db engine.Database) (any, error) {
			var b bytes.Buffer
			r, err := db.BackupTo(ctx, &b)
			if err != nil || int64(b.Len()) != r.Bytes {
				return nil, fmt.Errorf("%d bytes, %d written: %w", b.Len(), r.Bytes, err)
			}
			dir := filepath.Join(t.TempDir(), "again")
			rr, err := archive.Restore(ctx, dir, &b, archive.RestoreOptions{})
			return rr.Documents, err
		}},
		{"keep token states", func(ctx context.Context, db engine.Database) (any, error) { return db.KeepTokenStates(ctx) }},
		{"compact", func(ctx context.Context, db engine.Database) (any, error) { return nil, db.Compact(ctx) }},
		{"the end", all(engine.Filter{}, 0)},
		{"close", func(ctx context.Context, db engine.Database) (any, error) { return nil, db.Close() }},
		{"search closed", search(engine.Query{Text: "keys"})},
		{"default closed", func(_ context.Context, db engine.Database) (any, error) { return db.Default(), nil }},
	}
}

type failing struct{}

var errFailing = errors.New("the disk is gone")

func (*failing) Read([]byte) (int, error) { return 0, errFailing }

func all(f engine.Filter, most int) func(context.Context, engine.Database) (any, error) {
	return func(ctx context.Context, db engine.Database) (any, error) { return first(db.All(ctx, f), most) }
}

func listed(f engine.Filter, after string, most int) func(context.Context, engine.Database) (any, error) {
	return func(ctx context.Context, db engine.Database) (any, error) { return first(db.List(ctx, f, after), most) }
}

// first are so many documents of a walk, or all of them for 0.
func first(walk iter.Seq2[engine.Document, error], most int) (docs []engine.Document, err error) {
	for d, err := range walk {
		if err != nil {
			return docs, err
		}
		if docs = append(docs, d); len(docs) == most {
			break
		}
	}
	return docs, nil
}

// took is what differs from call to call.
var took = regexp.MustCompile(`Took:[^}]*}|Seconds:[0-9.e-]+|File:"[^"]*"|File:[^ }]*|/\S*/\d{3}`)

func printed(v any) string { return took.ReplaceAllString(fmt.Sprintf("%#v", v), "") }

// TestConformance: each call of engine.Database returns the same, whether this process or another has the
// database open.
func TestConformance(t *testing.T) {
	answered, reset := share.Answered()
	t.Cleanup(reset)
	plain := opened(t, t.TempDir(), encoder.NewHash(dim), engine.Options{ChunkTokens: 64})
	dir := t.TempDir()
	behind := opened(t, dir, encoder.NewHash(dim), engine.Options{ChunkTokens: 64})
	shared(t, behind, dir, share.Options{})
	c := asked(t, dir)
	for _, s := range steps(t) {
		for _, db := range []*engine.Engine{plain, behind} { // what is made in the background would change last bits of one of them
			if err := db.Flush(t.Context()); err != nil && !errors.Is(err, engine.ErrClosed) {
				t.Fatal(err)
			}
		}
		want, wantErr := s.do(t.Context(), plain)
		got, gotErr := s.do(t.Context(), c)
		if printed(got) != printed(want) {
			t.Errorf("%s: %s\nwant %s", s.name, printed(got), printed(want))
		}
		if (gotErr == nil) != (wantErr == nil) || gotErr != nil && took.ReplaceAllString(gotErr.Error(), "") != took.ReplaceAllString(wantErr.Error(), "") {
			t.Errorf("%s: error %v, want %v", s.name, gotErr, wantErr)
		}
		for name, e := range map[string]error{"ErrInvalid": engine.ErrInvalid, "ErrNotFound": engine.ErrNotFound, "ErrExists": engine.ErrExists,
			"Canceled": context.Canceled, "ErrClosed": engine.ErrClosed, "ErrNotFitted": engine.ErrNotFitted, "ErrBackup": engine.ErrBackup, "failing": errFailing} {
			if errors.Is(gotErr, e) != errors.Is(wantErr, e) {
				t.Errorf("%s: %v is %s: %v", s.name, gotErr, name, errors.Is(gotErr, e))
			}
		}
		if g, w := fmt.Sprintf("%T", gotErr), fmt.Sprintf("%T", wantErr); strings.HasPrefix(w, "*engine.") && g != w {
			t.Errorf("%s: error of type %s, want %s", s.name, g, w)
		}
	}
	for i := range reflect.TypeFor[engine.Database]().NumMethod() {
		if m := reflect.TypeFor[engine.Database]().Method(i).Name; m != "Close" && answered[m] == 0 {
			t.Errorf("no step calls %s", m)
		}
	}
	if want := reflect.TypeFor[engine.Database]().NumMethod(); len(answered) != want {
		t.Errorf("%d calls cross, want %d: those of engine.Database without Close, and ShareCollection", len(answered), want)
	}
}

// TestLengthsOverTheProtocol asks a database of dot products, whose vectors must arrive as
// long as they were sent, both ways.
func TestLengthsOverTheProtocol(t *testing.T) {
	dir := t.TempDir()
	shared(t, opened(t, dir, nil, engine.Options{Dim: 2, Metric: "dot"}), dir, share.Options{})
	c := asked(t, dir)
	docs := []engine.Document{
		{ID: "long", Text: "a", Vector: []float32{30, 40}},
		{ID: "short", Text: "b", Vector: []float32{1, 0}},
		{ID: "none", Text: "c", Vector: []float32{0, 0}},
	}
	if _, err := c.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	r, err := c.Search(t.Context(), engine.Query{Vector: []float32{2, 0}, Mode: engine.ModeDense})
	if err != nil || len(r.Hits) != 3 || r.Trace.Metric != "dot" || r.Trace.Variant != engine.VariantNone {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, want := range []struct {
		id     string
		score  float32
		cosine float64
	}{{"long", 60, .6}, {"short", 2, 1}, {"none", 0, 0}} {
		if h := r.Hits[i]; h.ID != want.id || h.Score != want.score || math.Abs(float64(h.Cosine)-want.cosine) > 1e-6 {
			t.Errorf("hit %d: %s, score %v, cosine %v; want %+v", i, h.ID, h.Score, h.Cosine, want)
		}
	}
	if d, err := c.Get(t.Context(), "long"); err != nil || !reflect.DeepEqual(d.Vector, docs[0].Vector) {
		t.Errorf("vector %v, %v", d.Vector, err)
	}
	if s, err := c.Stats(t.Context()); err != nil || s.Metric != "dot" {
		t.Errorf("metric %q, %v", s.Metric, err)
	}
	if _, err := c.Search(t.Context(), engine.Query{Text: "a", Vector: []float32{1, 1}, Variant: "rlr"}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("rlr: %v", err)
	}
}
