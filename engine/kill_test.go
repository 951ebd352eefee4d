package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// killDir, when set, makes this test binary the writer that gets killed.
const killDir = "LEXSEM_TEST_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		if err := writeForever(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeForever upserts batches of 1 to 9 documents and deletes one now and
// then. It prints "ack LO HI" and "del N" after each acknowledgement, and
// "try N" before a delete.
func writeForever(dir string) error {
	ctx := context.Background()
	e, err := engine.Open(ctx, dir, encoder.NewHash(dim), engine.Options{})
	if err != nil {
		return err
	}
	s, err := e.Stats(ctx)
	if err != nil {
		return err
	}
	next := int(s.Seq) * 10 // beyond all ids so far
	fmt.Println("open", next)
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for {
		hi := next + 1 + r.IntN(9)
		if _, err := e.Upsert(ctx, docs(next, hi)); err != nil {
			return err
		}
		fmt.Println("ack", next, hi)
		if r.IntN(5) == 0 {
			fmt.Println("try", next)
			if _, err := e.Delete(ctx, []string{fmt.Sprint("d", next)}); err != nil {
				return err
			}
			fmt.Println("del", next)
		}
		next = hi
	}
}

// TestKill kills a writer with SIGKILL at random moments: after reopening,
// every acknowledged document is found by a search for its text, every
// acknowledged delete holds, and the batch in flight is there wholly or not at
// all. LEXSEM_KILL_ROUNDS sets the number of rounds.
func TestKill(t *testing.T) {
	rounds := 30
	if s := os.Getenv("LEXSEM_KILL_ROUNDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		rounds = 5
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	dir := t.TempDir()
	live := map[int]bool{} // acknowledged and not deleted
	total := 0
	for round := range rounds {
		if round%5 == 0 { // a fresh database now and then
			dir, live = t.TempDir(), map[int]bool{}
		}
		acked, inFlight, doomed := killOne(t, exe, dir, time.Duration(5+rng.IntN(495))*time.Millisecond, live)
		total += acked
		e := open(t, dir, engine.Options{})
		s, err := e.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range live {
			r := search(t, e, engine.Query{Text: text(i), K: 1, Variant: engine.VariantNone})
			if len(r.Hits) != 1 || r.Hits[0].Cosine < 0.9999 {
				t.Fatalf("round %d, seed %d: acknowledged document d%d is not found: %+v", round, seed, i, r.Hits)
			}
			if _, err := e.Get(t.Context(), fmt.Sprint("d", i)); err != nil {
				t.Fatalf("round %d, seed %d: acknowledged document d%d: %v", round, seed, i, err)
			}
			if r := search(t, e, engine.Query{Text: text(i), K: 1, Mode: engine.ModeDense, Variant: engine.VariantLocal}); len(r.Hits) != 1 || r.Hits[0].Cosine < 0.9999 {
				t.Fatalf("round %d, seed %d: local bridges do not find d%d: %+v", round, seed, i, r.Hits)
			}
		}
		// Beyond what was acknowledged, only what was in flight may differ: one
		// batch that is there wholly or not at all, or one delete.
		for i := inFlight; i < inFlight+9; i++ {
			if _, err := e.Get(t.Context(), fmt.Sprint("d", i)); err == nil {
				live[i] = true
			}
		}
		if doomed >= 0 {
			if _, err := e.Get(t.Context(), fmt.Sprint("d", doomed)); err == nil {
				live[doomed] = true
			}
		}
		if s.Documents != len(live) {
			t.Fatalf("round %d, seed %d: %d documents, want %d", round, seed, s.Documents, len(live))
		}
		if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 || r.SelfRecall < 1 {
			t.Fatalf("round %d, seed %d: %+v, %v", round, seed, r, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d acknowledged batches over %d rounds, none lost", total, rounds)
	if total == 0 {
		t.Fatal("no write was acknowledged: the test killed too early to show anything")
	}
}

// killOne runs the writer and kills it after the delay, counted from its first
// word. It enters what was acknowledged into live and returns the number of
// acknowledgements, the first document of the batch in flight, and the document
// whose delete was in flight (which is taken out of live), else -1.
func killOne(t *testing.T, exe, dir string, delay time.Duration, live map[int]bool) (acked, inFlight, doomed int) {
	t.Helper()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	doomed = -1
	var timer *time.Timer
	for sc := bufio.NewScanner(out); sc.Scan(); {
		var lo, hi int
		switch line := sc.Text(); {
		case scan(line, "open %d", &inFlight):
			timer = time.AfterFunc(delay, func() { cmd.Process.Kill() })
		case scan(line, "ack %d %d", &lo, &hi):
			for i := lo; i < hi; i++ {
				live[i] = true
			}
			acked++
			inFlight = hi
		case scan(line, "try %d", &lo):
			delete(live, lo)
			doomed = lo
		case scan(line, "del %d", &lo):
			doomed = -1
		case strings.HasPrefix(line, "error"):
			t.Errorf("writer: %s", line)
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the writer ended by itself")
	}
	if timer == nil {
		t.Fatal("the writer never opened the database")
	}
	timer.Stop()
	return acked, inFlight, doomed
}

func scan(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format, into...)
	return err == nil && n == len(into)
}
