package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/store"
)

// sameHits holds the hits of one database to those of another: what is summed up
// in another order may differ in the last digits.
func sameHits(t *testing.T, a, b *Engine, variant string) {
	t.Helper()
	for _, q := range probing {
		if q.Variant == "" {
			q.Variant = variant
		}
		q.K = 50
		want, err := a.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(want.Hits) == 0 || len(got.Hits) != len(want.Hits) || got.Trace.Variant != want.Trace.Variant {
			t.Fatalf("%+v: %d hits by %s, want %d by %s", q, len(got.Hits), got.Trace.Variant, len(want.Hits), want.Trace.Variant)
		}
		for i, h := range got.Hits {
			w := want.Hits[i]
			if d := h.Score - w.Score; h.ID != w.ID || h.Text != w.Text || h.Chunk != w.Chunk || d > 1e-4 || d < -1e-4 {
				t.Fatalf("%+v: hit %d is %q/%d at %v, want %q/%d at %v", q, i, h.ID, h.Chunk, h.Score, w.ID, w.Chunk, w.Score)
			}
		}
	}
}

// A restored database finds what the one did that was backed up, also beside it.
func TestRestoredSearchesAlike(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	e := opened(t, dir, Options{Local: true}, autoHNSW)
	defer closed(t, e)
	r := rand.New(rand.NewPCG(3, 4))
	put(t, e, madeDocs(r, 0, 120)...)
	if _, err := e.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	put(t, e, madeDocs(r, 100, 160)...)
	removed(t, e, "d3", "d140")
	if _, err := e.Fit(t.Context(), FitOptions{Variant: "slr", QueriesPerPassage: 2, Epochs: 1}); err != nil {
		t.Fatal(err)
	}
	put(t, e, madeDocs(r, 160, 170)...)
	flushed(t, e)
	rep, err := e.Backup(t.Context(), file)
	if err != nil || rep.Part != 2 || rep.Written != 69 || rep.Documents != 168 {
		t.Fatalf("%+v, %v", rep, err)
	}
	var whole bytes.Buffer
	if _, err := e.BackupTo(t.Context(), &whole); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again")
	done := 0
	if _, err := archive.Restore(t.Context(), again, &whole, archive.RestoreOptions{Progress: func(n int) { done = n }}); err != nil {
		t.Fatal(err)
	}
	if done == 0 {
		t.Error("no progress")
	}
	c := opened(t, again, Options{Local: true}, autoHNSW)
	flushed(t, c)
	sameHits(t, e, c, "slr")
	before, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after, err := c.Stats(t.Context())
	if err != nil || len(after.Bridges) != 1 || after.Bridges[0].Unfitted != 10 || before.Bridges[0].Unfitted != 10 || after.Default != before.Default || after.Chunks != before.Chunks {
		t.Fatalf("%+v, want %+v (%v)", after, before, err)
	}
	// What is derived of the one is none of the other.
	closed(t, c)
	c = opened(t, again, Options{}, autoHNSW)
	defer closed(t, c)
	if a, b := e.st.Manifest().UUID, c.st.Manifest().UUID; a == b {
		t.Errorf("both are %v", a)
	}
	put(t, e, madeDocs(r, 170, 180)...)
	put(t, c, madeDocs(r, 180, 185)...)
	if _, err := c.Backup(t.Context(), file); !errors.Is(err, ErrOtherBackup) {
		t.Errorf("onto the backup of the other: %v", err)
	}
	if rep, err := e.Backup(t.Context(), file); err != nil || rep.Part != 3 || rep.Written != 10 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// Close cancels a backup.
func TestCloseCancelsBackup(t *testing.T) {
	var e *Engine
	stop := make(chan struct{})
	e = opened(t, t.TempDir(), Options{Progress: func(p Progress) {
		if p.Stage == "backup" {
			close(stop)
			<-e.calls.Root().Done()
		}
	}}, autoHNSW)
	put(t, e, madeDocs(rand.New(rand.NewPCG(1, 1)), 0, 200)...)
	ended := make(chan error)
	go func() { <-stop; ended <- e.Close() }()
	if _, err := e.Backup(context.Background(), filepath.Join(t.TempDir(), "b")); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := e.BackupTo(t.Context(), &bytes.Buffer{}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A backup with what no engine has stored is refused.
func TestRestoreAccepts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := opened(t, dir, Options{}, autoHNSW)
	put(t, e, Document{ID: "a", Text: "one"})
	closed(t, e)
	try := func(what string, change func(m *store.Manifest), d *store.Document, terms ...string) error {
		t.Helper()
		s, err := store.Open(t.TempDir(), store.Options{MemoryMiB: 64})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var b bytes.Buffer
		err = s.SetManifest(t.Context(), func(m *store.Manifest) error {
			m.Dim, m.Metric = madeDim, e.metric.String()
			m.Encoder, _ = json.Marshal(e.fp)
			if change != nil {
				change(m)
			}
			return nil
		})
		if err == nil && d != nil {
			var batch *store.Batch
			if batch, err = s.Begin(t.Context()); err == nil {
				_, err = batch.Put(t.Context(), d)
			}
			if err == nil {
				err = batch.AddTerms(t.Context(), 0, terms)
			}
			if err == nil {
				_, err = batch.Commit(t.Context())
			}
		}
		if err == nil {
			_, err = s.Backup(t.Context(), &b, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = archive.Restore(t.Context(), filepath.Join(t.TempDir(), "db"), &b, archive.RestoreOptions{})
		return err
	}
	row := func(x float32, tokens ...int32) *store.Document {
		v := make([]float32, madeDim)
		v[3] = x
		return &store.Document{ID: "a", Text: "a", Rows: []store.Row{{End: 1, Vector: v, Tokens: tokens}}}
	}
	if err := try("good", nil, row(1, 5)); err != nil {
		t.Fatal(err)
	}
	if err := try("zero by the dot product", func(m *store.Manifest) { m.Metric = "dot" }, row(0)); err != nil {
		t.Fatal(err)
	}
	wordless := func(m *store.Manifest) { m.Encoder, _ = json.Marshal(encoder.Fingerprint{Dim: madeDim}) }
	if err := try("good terms", wordless, row(1, 1, 0), "one", "two"); err != nil {
		t.Fatal(err)
	}
	if err := try("a term ahead", wordless, row(1, 2), "one", "two"); !errors.Is(err, ErrBackup) || !strings.Contains(err.Error(), "token 2 of a vocabulary of 2") {
		t.Errorf("a term ahead: %v", err)
	}
	if err := try("terms and tokens", nil, row(1, 1), "one", "two"); !errors.Is(err, ErrBackup) || !strings.Contains(err.Error(), "2 terms beside") {
		t.Errorf("terms and tokens: %v", err)
	}
	for what, c := range map[string]struct {
		change func(m *store.Manifest)
		d      *store.Document
		want   string
	}{
		"zero vector":   {nil, row(0), "zero vector"},
		"too long":      {func(m *store.Manifest) { m.Metric = "dot" }, row(1.1e18), "1e18"},
		"metric":        {func(m *store.Manifest) { m.Metric = "manhattan" }, nil, "manhattan"},
		"token":         {nil, row(1, int32(e.fp.VocabSize)), "of a vocabulary of"},
		"twice":         {nil, row(1, 7, 5, 7), "token 7 is there twice"},
		"negative":      {nil, row(1, -1), "token -1"},
		"language":      {func(m *store.Manifest) { m.Language = "klingon" }, nil, "klingon"},
		"encoder":       {func(m *store.Manifest) { m.Encoder = []byte(`[1]`) }, nil, "encoder fingerprint"},
		"its dimension": {func(m *store.Manifest) { m.Encoder = []byte(`{"dim":3}`) }, nil, "of 3 dimensions"},
	} {
		if err := try(what, c.change, c.d); !errors.Is(err, ErrBackup) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := archive.Restore(t.Context(), t.TempDir(), &bytes.Buffer{}, archive.RestoreOptions{Parts: -1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}
