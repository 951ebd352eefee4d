package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestSpaceFollowsBytes rewrites large documents ten times: after Compact what is
// on disk is at most twice what is live, while the database stays open and when it
// is opened again.
func TestSpaceFollowsBytes(t *testing.T) {
	t.Parallel()
	documents, size := 16, 128<<10
	if trial.Long() {
		documents, size = 10, 1<<20
	}
	for _, o := range []engine.Options{{MemoryMiB: 64}, {MemoryMiB: 64, NoSync: true}} {
		dir := t.TempDir()
		open := func(o engine.Options) *engine.Engine {
			e, err := engine.Open(t.Context(), dir, encoder.NewHash(64), o)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		stats := func(e *engine.Engine) engine.Stats {
			s, err := e.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		e := open(o)
		for round := range 10 {
			for i := range documents {
				text := fmt.Sprintf("%d in round %d. ", i, round) + strings.Repeat(" ", size)
				if _, err := e.Upsert(t.Context(), []engine.Document{{ID: fmt.Sprint(i), Text: text}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if s := stats(e); s.LiveBytes < 2<<20 || s.DeadBytes < 9*2<<20 || s.Reclaimable < s.DeadBytes {
			t.Errorf("before: %d live, %d dead, %d reclaimable", s.LiveBytes, s.DeadBytes, s.Reclaimable)
		}
		if err := e.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		check := func(s engine.Stats) {
			t.Helper()
			t.Logf("%.1f MiB live, %.1f MiB on disk, %.1f MiB reclaimable", float64(s.LiveBytes)/(1<<20), float64(s.DiskBytes)/(1<<20), float64(s.Reclaimable)/(1<<20))
			if s.DiskBytes > 2*s.LiveBytes || s.DeadBytes != 0 || s.Reclaimable > s.LiveBytes/4 {
				t.Errorf("%d live, %d dead, %d reclaimable, %d on disk", s.LiveBytes, s.DeadBytes, s.Reclaimable, s.DiskBytes)
			}
		}
		check(stats(e))
		if d, err := e.Get(t.Context(), "3"); err != nil || !strings.HasPrefix(d.Text, "3 in round 9. ") {
			t.Errorf("%.20q %v", d.Text, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open(engine.Options{ReadOnly: true})
		check(stats(e))
		if err := e.Compact(t.Context()); !errors.Is(err, engine.ErrReadOnly) {
			t.Errorf("compacting what is read-only: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
