package engine_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/repair"
)

// wreck makes a database of 200 documents, with a fitted bridge if asked to, and
// returns its tables.
func wreck(t *testing.T, fit bool) (dir string, tables []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	e := open(t, dir, engine.Options{MemoryMiB: 64, ChunkTokens: -1})
	var ds []engine.Document
	for i := range 200 {
		ds = append(ds, engine.Document{ID: fmt.Sprintf("d%d", i), Text: text(i) + strings.Repeat(fmt.Sprintf(" %d", i), 1000), Metadata: map[string]any{"n": i, "fill": noise(i, 32_000)}})
	}
	add(t, e, ds)
	if _, err := e.Delete(t.Context(), []string{"d3", "d100"}); err != nil {
		t.Fatal(err)
	}
	if fit {
		if _, err := e.Fit(t.Context(), engine.FitOptions{Variant: "slr", Epochs: 1, QueriesPerPassage: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "records", "*.sst"))
	if err != nil || len(tables) < 2 {
		t.Fatal(tables, err)
	}
	return dir, tables
}

// TestRepair makes a database whole: in its place where only derived state is wrong,
// and beside it where records are.
func TestRepairDatabase(t *testing.T) {
	t.Parallel()
	dir, tables := wreck(t, true)
	to := dir + ".salvaged"
	rep, err := repair.Run(t.Context(), dir, to, nil, engine.Options{})
	if err != nil || rep.Dir != dir || rep.Salvaged || rep.Rebuilt || len(rep.Damage)+len(rep.Problems) > 0 {
		t.Fatalf("sound: %+v, %v", rep, err)
	}
	snap := filepath.Join(dir, "derived", "words.snap")
	raw, err := os.ReadFile(snap)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)*3/4] ^= 1
	if err := os.WriteFile(snap, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	rep, err = repair.Run(t.Context(), dir, to, nil, engine.Options{})
	if err != nil || rep.Dir != dir || rep.Salvaged || !rep.Rebuilt || len(rep.Damage) == 0 || len(rep.Problems) > 0 {
		t.Fatalf("derived: %+v, %v", rep, err)
	}
	// The first table holds the manifest, the last one vectors.
	last := tables[len(tables)-1]
	raw, err = os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(raw)
	bad[len(bad)/2] ^= 1
	bad[len(bad)-1] ^= 1
	if err := os.WriteFile(last, bad, 0o644); err != nil {
		t.Fatal(err)
	}
	rep, err = repair.Run(t.Context(), dir, to, nil, engine.Options{})
	if err != nil || rep.Dir != to || !rep.Salvaged || rep.Saved < 196 || rep.Saved+rep.Lost != 198 || rep.Uncertain || len(rep.Damage) == 0 || len(rep.Problems) > 0 {
		t.Fatalf("records: %+v, %v", rep, err)
	}
	if again, err := os.ReadFile(last); err != nil || !bytes.Equal(again, bad) {
		t.Error("the damaged database was changed")
	}
	e := open(t, to, engine.Options{MustExist: true})
	s, err := e.Stats(t.Context())
	if err != nil || s.Documents != rep.Saved || len(s.Bridges) != 1 || s.Bridges[0].Unfitted != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, gone := range []string{"d3", "d100"} {
		if _, err := e.Get(t.Context(), gone); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s, which was deleted: %v", gone, err)
		}
	}
	r, err := e.Search(t.Context(), engine.Query{Text: text(77), K: 3, Variant: "slr"})
	if err != nil || len(r.Hits) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := repair.Run(t.Context(), dir, to, nil, engine.Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a database: %v", err)
	}
	if _, err := repair.Run(t.Context(), to, to+"2", nil, engine.Options{}); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("of an open database: %v", err)
	}
	if _, err := repair.Run(t.Context(), dir+"-no", to, nil, engine.Options{}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("of none: %v", err)
	}
}

// TestRepairWithoutManifest: what names the encoder is lost with the table that holds
// it; with the encoder the rest comes back, with another one nothing is made.
func TestRepairWithoutManifest(t *testing.T) {
	t.Parallel()
	dir, _ := wreck(t, false)
	unnamed(t, dir)
	to := dir + ".salvaged"
	if rep, err := repair.Run(t.Context(), dir, to, nil, engine.Options{}); !errors.Is(err, engine.ErrNoEncoder) {
		t.Fatalf("%+v, %v", rep, err)
	}
	if _, err := repair.Run(t.Context(), dir, to, encoder.NewHash(16), engine.Options{}); err == nil {
		t.Fatal("an encoder of another dimension will do")
	}
	rep, err := repair.Run(t.Context(), dir, to, hash(t), engine.Options{})
	if err != nil || !rep.Salvaged || rep.Saved != 198 || rep.Lost != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	e := open(t, to, engine.Options{MustExist: true})
	if d, err := e.Get(t.Context(), "d77"); err != nil || !strings.HasPrefix(d.Text, text(77)) {
		t.Errorf("%v", err)
	}
}

// TestRepairVectorsWithoutManifest: of a database of vectors alone their length is
// enough to bring it back, and another length makes nothing.
func TestRepairVectorsWithoutManifest(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	e, err := engine.Open(t.Context(), dir, nil, engine.Options{Dim: dim, MemoryMiB: 64})
	if err != nil {
		t.Fatal(err)
	}
	ds := own(t, 0, 100)
	for i := range ds {
		ds[i].Metadata = map[string]any{"fill": noise(i, 8000)}
	}
	add(t, e, ds)
	closeIt(t, e)
	unnamed(t, dir)
	to := dir + ".salvaged"
	if rep, err := repair.Run(t.Context(), dir, to, nil, engine.Options{}); !errors.Is(err, engine.ErrNoEncoder) {
		t.Fatalf("%+v, %v", rep, err)
	}
	if rep, err := repair.Run(t.Context(), dir, to, nil, engine.Options{Dim: dim + 1}); err == nil {
		t.Fatalf("with another length: %+v", rep)
	}
	rep, err := repair.Run(t.Context(), dir, to, nil, engine.Options{Dim: dim})
	if err != nil || !rep.Salvaged || rep.Saved != 100 || rep.Lost != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	e = openWith(t, to, nil, engine.Options{MustExist: true})
	for _, q := range []engine.Query{{Vector: ds[7].Vector}, {Text: ds[7].Text, Mode: engine.ModeLexical}} {
		if r := search(t, e, q); r.Hits[0].ID != ds[7].ID {
			t.Errorf("%+v: %v", q, ids(r))
		}
	}
}

// unnamed damages the records that name the encoder of a database.
func unnamed(t *testing.T, dir string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "records", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		raw, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(table, bytes.ReplaceAll(raw, []byte(`"encoder":`), []byte(`"uncoder":`)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// noise is a text that does not compress.
func noise(seed, n int) string {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(b) // documented never to fail
	return base64.StdEncoding.EncodeToString(b)
}
