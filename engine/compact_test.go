package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestSpaceAtRest rewrites documents and deletes all of them: once nothing is written any more, the space comes back
// by itself, that of the reserve too.
func TestSpaceAtRest(t *testing.T) {
	engine.SetReclaimAfter(500 * time.Millisecond)
	e, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(64), engine.Options{MemoryMiB: 64})
	engine.SetReclaimAfter(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	defer e.Close()
	write := func(text string) {
		t.Helper()
		docs := make([]engine.Document, 12)
		for i := range docs {
			docs[i] = engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprint(i, " has ", len(text), " bytes. ", text)}
		}
		if _, err := e.Upsert(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
	}
	settles := func(what string, most int64) {
		t.Helper()
		var s engine.Stats
		for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(100 * time.Millisecond) {
			if s, err = e.Stats(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s.DeadBytes == 0 && s.Disk["tables"]+s.Disk["log"] < most && s.Disk["reserve"] < 8<<20+6*s.LiveBytes {
				return
			}
		}
		t.Fatalf("%s: %d live, %d dead, on disk %v", what, s.LiveBytes, s.DeadBytes, s.Disk)
	}
	text := blanks(1 << 20)
	write(text)
	write("") // all in one commit: where a slow machine rests before it, it rests again after it
	settles("after rewriting", 12<<20)
	write(text)
	if n, err := e.DeleteWhere(t.Context(), filter.Prefix("id", "")); n != 12 || err != nil {
		t.Fatalf("%d deleted, %v", n, err)
	}
	settles("after deleting", 12<<20)
}

// TestSpaceFollowsBytes rewrites large documents ten times: after Compact what is
// on disk is at most twice what is live, while the database stays open and when it
// is opened again.
func TestSpaceFollowsBytes(t *testing.T) {
	t.Parallel()
	documents, size := 16, 128<<10
	if trial.Long() {
		documents, size = 10, 1<<20
	}
	white := blanks(size)
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
				text := fmt.Sprintf("%d in round %d. ", i, round) + white
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

// blanks is white space that takes about n bytes where it is compressed.
func blanks(n int) string {
	b := make([]byte, 3*n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range b {
		b[i] = " \t\n\r\v\f"[r.IntN(6)]
	}
	return string(b)
}
