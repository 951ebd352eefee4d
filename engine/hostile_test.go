package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/store"
)

// TestHostileManifest opens small databases whose manifests claim more than they hold:
// memory goes with what is there, not with what is claimed.
func TestHostileManifest(t *testing.T) {
	const dim = 1 << 16
	for name, c := range map[string]struct {
		dim, vocab, docs, own int
		good                  bool
	}{
		"empty":          {dim, 1000, 0, dim, true},
		"few":            {dim, 1000, 3, dim, true},
		"many tokens":    {64, 1 << 22, 3, 64, true},
		"most tokens":    {64, math.MaxInt32, 3, 64, false},
		"endless tokens": {64, math.MaxInt64, 3, 64, false},
		"no tokens":      {64, -5, 3, 64, false},
		"other vectors":  {32, 1000, 50, 64, false},
		"no dimensions":  {0, 1000, 0, 0, false},
	} {
		dir := t.TempDir()
		st, err := store.Open(dir, store.Options{MemoryMiB: 64})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(encoder.Fingerprint{Model: "hostile", Dim: c.dim, VocabSize: c.vocab, MaxTokens: 1 << 40, Precision: "fp32", Pooling: "mean", Tokenizer: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.SetManifest(t.Context(), func(m *store.Manifest) error {
			m.Dim, m.Metric, m.Encoder = c.own, "cosine", raw
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		b, err := st.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.docs {
			v := make([]float32, c.own)
			v[i] = 1
			if _, err := b.Put(t.Context(), &store.Document{ID: fmt.Sprint(i), Text: "x", Rows: []store.Row{{End: 1, Vector: v, Tokens: []int32{int32(i + 5)}}}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		parts, err := st.DiskSpace()
		size := parts.Sum()
		if err := errors.Join(err, st.Close()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // without snapshots, and with them
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			e, err := engine.Open(t.Context(), dir, nil, engine.Options{MemoryMiB: 64, MustExist: true})
			if err == nil {
				err = e.Flush(t.Context())
			}
			runtime.ReadMemStats(&after)
			took := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s: %d KiB on disk, %d KiB in all, %v", name, size>>10, took>>10, err)
			if c.good && err != nil || !c.good && !errors.Is(err, engine.ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
			if took > 64<<20+2*uint64(size) {
				t.Errorf("%s: %d MiB were allocated for %d KiB", name, took>>20, size>>10)
			}
			if e == nil {
				continue
			}
			if err := e.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
