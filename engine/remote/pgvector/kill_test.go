//go:build linux

package pgvector_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/pgvector"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// killAll ends the server and each process that it has started, at once: they are of groups of their own. They hold its
// memory until they have ended, and it does not start before.
func (s *server) killAll(t *testing.T) {
	t.Helper()
	pid := s.Pid()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	for child := range strings.FieldsSeq(string(raw)) {
		n, err := strconv.Atoi(child)
		if err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
	}
}

// TestServerKilled: the server is killed beside writes and searches, and comes back. Each search is answered, each call of
// a write is done whole or not at all, and what was acknowledged is there.
func TestServerKilled(t *testing.T) {
	s, err := started(programs(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.remove()
	b := open(t, pgvector.Options{URL: s.URL, Schema: "killed", Patience: time.Minute})
	db, err := remote.Over(t.Context(), b, encoder.NewHash(32), remote.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	text := func(i, version int) string {
		return fmt.Sprintf("unit%d speaks of topic%d in version%d", i, i%7, version)
	}
	const group = 10
	var acknowledged []int // of each group of documents the version
	// write stores a group in another version, or a new one.
	write := func(r *rand.Rand) error {
		g := r.IntN(len(acknowledged) + 1)
		version := 1
		if g < len(acknowledged) {
			version = acknowledged[g] + 1
		}
		var docs []engine.Document
		for i := g * group; i < (g+1)*group; i++ {
			docs = append(docs, engine.Document{ID: fmt.Sprint(i), Text: text(i, version)})
		}
		var err error
		if g == len(acknowledged) {
			_, err = db.Add(t.Context(), docs)
		} else {
			_, err = db.Upsert(t.Context(), docs)
		}
		if err == nil {
			if g == len(acknowledged) {
				acknowledged = append(acknowledged, 0)
			}
			acknowledged[g] = version
		}
		return err
	}
	r := rand.New(rand.NewPCG(3, trial.Seed(t)))
	for range 10 {
		if err := write(r); err != nil {
			t.Fatal(err)
		}
	}
	for kill := range trial.Rounds(t, 1, 10) {
		var answers, writes atomic.Int64
		delay := time.Duration(300+r.IntN(700)) * time.Millisecond // before the writer has r
		stop := make(chan struct{})
		stopped := func() bool {
			select {
			case <-stop:
				return true
			default:
				return false
			}
		}
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() {
				for i := 0; !stopped(); i++ {
					res, err := db.Search(t.Context(), engine.Query{Text: text(i%(5*group), 1)})
					if err != nil || len(res.Hits) == 0 {
						t.Errorf("a search beside the kill: %d hits, %v", len(res.Hits), err)
						return
					}
					answers.Add(1)
				}
			})
		}
		running.Go(func() {
			for !stopped() {
				if err := write(r); err != nil {
					t.Errorf("a write beside the kill: %v", err)
					return
				}
				writes.Add(1)
			}
		})
		time.Sleep(delay)
		s.killAll(t)
		before := writes.Load()
		var err error
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if err = s.Start(); err == nil {
				err = s.Ready(t.Context(), time.Minute)
			}
			if err == nil || !strings.Contains(err.Error(), "still in use") {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); writes.Load() < before+3 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		close(stop)
		running.Wait()
		if writes.Load() < before+3 {
			t.Errorf("kill %d: %d writes in the minute after it", kill, writes.Load()-before)
		}
		lost := 0
		for g, version := range acknowledged {
			for i := g * group; i < (g+1)*group; i++ {
				if d, err := db.Get(t.Context(), fmt.Sprint(i)); err != nil || d.Text != text(i, version) {
					lost++
					t.Errorf("kill %d: document %d: %q, %v; version %d was acknowledged", kill, i, d.Text, err, version)
				}
			}
		}
		st, err := b.Status(t.Context())
		counted, cerr := db.Count(t.Context(), engine.Filter{})
		if err != nil || cerr != nil || st.Documents != len(acknowledged)*group || st.Passages != st.Documents || counted != st.Documents {
			t.Errorf("kill %d: %+v, %v, %d counted, %v; want %d documents", kill, st, err, counted, cerr, len(acknowledged)*group)
		}
		t.Logf("kill %d: %d searches, %d writes, %d of them after it; of %d acknowledged documents %d lost", kill, answers.Load(), writes.Load(), writes.Load()-before, len(acknowledged)*group, lost)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
