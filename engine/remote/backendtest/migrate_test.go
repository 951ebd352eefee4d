package backendtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

func opened(t *testing.T, dir string, enc encoder.Encoder) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), dir, enc, engine.Options{TokenStates: engine.TokenStatesOff, ChunkTokens: 24, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// filled is a database of n documents, some in chunks and some with vectors of their own.
func filled(t *testing.T, n int) *engine.Engine {
	t.Helper()
	e := opened(t, t.TempDir(), encoder.NewHash(16))
	docs := make([]engine.Document, n)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprintf("id %d\x00\n", i), Title: "Title", Text: fmt.Sprintf("text number %d\r\n of \u2028many", i), Metadata: map[string]any{"n": i}}
		switch i % 4 {
		case 1:
			docs[i].Text = strings.Repeat(fmt.Sprintf("A sentence of document %d that goes on. ", i), 12)
		case 2:
			docs[i].Vector = make([]float32, 16)
			docs[i].Vector[i%16] = 0.3
		case 3:
			docs[i].Metadata = nil
			docs[i].Text += "\xff not UTF-8"
		}
	}
	if _, err := e.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestMigrate: there and back a database is what it was.
func TestMigrate(t *testing.T) {
	e := filled(t, 1200)
	m := &backendtest.Memory{}
	mark := filepath.Join(t.TempDir(), "mark")
	to, err := remote.MigrateTo(t.Context(), e, m, remote.MigrateOptions{Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	st, err := e.Stats(t.Context())
	if err != nil || to.Documents != 1200 || to.Passages != st.Chunks || st.Chunks <= 1500 || to.Copied != 1200 || to.Mended+to.Removed != 0 || len(to.Digest) != 32 {
		t.Fatalf("%+v, %v; the database has %d chunks", to, err, st.Chunks)
	}
	dir := filepath.Join(t.TempDir(), "back")
	if err := remote.CreateFor(t.Context(), dir, m); err != nil {
		t.Fatal(err)
	}
	back := opened(t, dir, nil)
	from, err := remote.MigrateFrom(t.Context(), m, back, remote.MigrateOptions{Mark: mark})
	if err != nil || from != to {
		t.Fatalf("%+v, %v; want %+v", from, err, to)
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a mark is left: %v", err)
	}
	for d, err := range e.All(t.Context(), engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got, err := back.Get(t.Context(), d.ID); err != nil || fmt.Sprintf("%q", fmt.Sprint(got)) != fmt.Sprintf("%q", fmt.Sprint(d)) {
			t.Fatalf("%+v comes back as %+v, %v", d, got, err)
		}
	}
	// Everything a search needs came with it: sums of tokens, too.
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
	back = opened(t, dir, encoder.NewHash(16))
	for _, variant := range []string{"none", "rlr"} {
		for _, x := range []*engine.Engine{e, back} {
			if err := x.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		q := engine.Query{Text: "text number 77", Variant: variant}
		a, err := e.Search(t.Context(), q)
		b, berr := back.Search(t.Context(), q)
		if err != nil || berr != nil || a.Hits[0].ID != b.Hits[0].ID || a.Trace.Turned-b.Trace.Turned > 1e-5 || b.Trace.Turned-a.Trace.Turned > 1e-5 {
			t.Errorf("%s: %+v, %v\n%+v, %v", variant, a.Hits[0], err, b.Hits[0], berr)
		}
	}
}

// TestMigrateGoesOn: after a failure at any batch the same call goes on, and what changed
// in the source meanwhile is there in the end.
func TestMigrateGoesOn(t *testing.T) {
	e := filled(t, 2100)
	mark := filepath.Join(t.TempDir(), "mark")
	down := errors.New("nobody is there")
	puts := 0
	m := &backendtest.Memory{Hook: func(_ context.Context, call string) error {
		if call == "Put" {
			if puts++; puts == 1234 {
				return down
			}
		}
		return nil
	}}
	first, err := remote.MigrateTo(t.Context(), e, m, remote.MigrateOptions{Mark: mark})
	if !errors.Is(err, down) || first.Copied != 1000 {
		t.Fatalf("%+v, %v", first, err)
	}
	// A migration somewhere else must not go on from here.
	if _, err := remote.MigrateFrom(t.Context(), m, e, remote.MigrateOptions{Mark: mark}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("the mark of another migration: %v", err)
	}
	if _, err := e.Delete(t.Context(), []string{"id 3\x00\n", "id 1700\x00\n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Patch(t.Context(), []engine.Patch{{ID: "id 4\x00\n", Metadata: map[string]any{"new": true}}}); err != nil {
		t.Fatal(err)
	}
	second, err := remote.MigrateTo(t.Context(), e, m, remote.MigrateOptions{Mark: mark})
	if err != nil || second.Documents != 2098 || second.Copied >= 1300 || second.Removed != 1 {
		t.Fatalf("%+v, %v", second, err)
	}
	// A document that is other than here, and one that is not here, are mended.
	dir := filepath.Join(t.TempDir(), "back")
	if err := remote.CreateFor(t.Context(), dir, m); err != nil {
		t.Fatal(err)
	}
	back := opened(t, dir, nil)
	scans := 0
	m.Hook = func(_ context.Context, call string) error {
		if call == "Scan" {
			if scans++; scans == 2 { // copied, and not compared yet
				v := make([]float32, 16)
				v[0] = 1
				_, err := back.Upsert(t.Context(), []engine.Document{{ID: "nobody knows me", Vector: v}, {ID: "id 8\x00\n", Vector: v}})
				return err
			}
		}
		return nil
	}
	r, err := remote.MigrateFrom(t.Context(), m, back, remote.MigrateOptions{Mark: mark})
	if err != nil || r.Mended != 1 || r.Removed != 1 || r.Digest != second.Digest || r.Documents != 2098 {
		t.Fatalf("%+v, %v; want the digest of %+v", r, err, second)
	}
}

// TestMigrateMetric: what cannot be searched there is refused.
func TestMigrateMetric(t *testing.T) {
	e, err := engine.Open(t.Context(), t.TempDir(), nil, engine.Options{Dim: 3, Metric: "dot"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := remote.MigrateTo(t.Context(), e, &backendtest.Memory{}, remote.MigrateOptions{Mark: filepath.Join(t.TempDir(), "m")}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("metric dot: %v", err)
	}
}

// TestMigrateAgain: behind a migration that was complete, whose caller may have been killed
// before it knew, the same call compares both sides; where one holds anything else it is refused.
func TestMigrateAgain(t *testing.T) {
	e := filled(t, 40)
	o := remote.MigrateOptions{Mark: filepath.Join(t.TempDir(), "mark")}
	m := &backendtest.Memory{}
	back := opened(t, t.TempDir(), encoder.NewHash(16))
	to := func() (remote.MigrateReport, error) { return remote.MigrateTo(t.Context(), e, m, o) }
	from := func() (remote.MigrateReport, error) { return remote.MigrateFrom(t.Context(), m, back, o) }
	for _, way := range []func() (remote.MigrateReport, error){to, from} {
		first, err := way()
		if err != nil || first.Copied != 40 {
			t.Fatalf("%+v, %v", first, err)
		}
		again, err := way()
		if first.Copied = 0; err != nil || again != first {
			t.Fatalf("again %+v, %v; at first %+v", again, err, first)
		}
	}
	for name, change := range map[string]func() error{
		"another text": func() error {
			_, err := e.Upsert(t.Context(), []engine.Document{{ID: "id 0\x00\n", Text: "another"}})
			return err
		},
		"one document more": func() error {
			_, err := e.Add(t.Context(), []engine.Document{{ID: "more", Text: "more"}})
			return err
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if r, err := to(); !errors.Is(err, engine.ErrExists) || r.Copied != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if _, err := os.Stat(o.Mark); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a mark is left: %v", name, err)
		}
	}
	if _, err := back.Delete(t.Context(), []string{"id 5\x00\n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := from(); !errors.Is(err, engine.ErrExists) {
		t.Errorf("into a database without a document of those: %v", err)
	}
}
