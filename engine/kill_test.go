package engine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/store"
)

// killDir, when set, makes this test binary the writer that gets killed.
const killDir = "LEXSEM_TEST_KILL_DIR"

// cutMount, when set, makes it the writer of a disk that loses its power.
const cutMount = "LEXSEM_TEST_CUT_MOUNT"

// faultDir, when set, makes it the writer whose system calls fail.
const faultDir = "LEXSEM_TEST_FAULT_DIR"

// writeUnderFaults is that writer, and writeAndReopen that of the disk.
var writeUnderFaults = func(dir string) error { return errors.ErrUnsupported }

var writeAndReopen = func(mount string) error { return errors.ErrUnsupported }

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // each opening takes memtables, which would each time begin a collection
	// Many tests compare with a database of another past, whose bases would differ.
	engine.SetNewTokenStates(engine.TokenStatesOff)
	state.SmallRecords = 0 // many tests damage or replay saved vectors
	if dir := os.Getenv(killDir); dir != "" {
		write := writeForever
		if os.Getenv(killTerms) != "" {
			write = writeTerms
		}
		if err := write(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	if dir := os.Getenv(reembedDir); dir != "" {
		if err := reembedChild(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for name, write := range map[string]func(string) error{cutMount: writeAndReopen, faultDir: writeUnderFaults} {
		if where := os.Getenv(name); where != "" {
			if err := write(where); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	trial.InMemory()
	trial.Parallel() // some tests wait for a child
	os.Exit(m.Run())
}

// killed are the options of the writer that gets killed.
var killed = engine.Options{ChunkTokens: small.ChunkTokens, TokenStates: engine.TokenStatesOn}

// writeForever upserts batches of 1 to 9 documents, every second one with words first, and deletes one now and
// then. It prints "ack LO HI" and "del N" after each acknowledgement, and
// "try N" before a delete.
func writeForever(dir string) error {
	ctx := context.Background()
	e, err := engine.Open(ctx, dir, encoder.NewHash(dim), killed)
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
	for batch := 0; ; batch++ {
		if batch%16 == 0 { // no more than one search can return, see agree
			s, err := e.Stats(ctx)
			if err != nil {
				return err
			}
			if s.Chunks > engine.MaxK-2000 {
				time.Sleep(time.Hour) // until the kill
			}
		}
		hi := next + 1 + r.IntN(9)
		d := killDocs(next, hi)
		for i := range d {
			d[i].WordsFirst = batch%2 == 1
		}
		if _, err := e.Upsert(ctx, d); err != nil {
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

// isLong: every seventh document of the kill test is stored in chunks.
func isLong(i int) bool { return i%7 == 0 }

func killDocs(lo, hi int) []engine.Document {
	d := docs(lo, hi)
	for i := range d {
		if n := lo + i; isLong(n) {
			d[i].Text = long(fmt.Sprint("k", n, "x"), 12)
		}
	}
	return d
}

// agree checks that documents, vectors, words and metadata are those of one
// commit: each of them, asked for all it has, names the same documents and
// chunks.
func agree(t *testing.T, e *engine.Engine) {
	t.Helper()
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Documents == 0 {
		return
	}
	units := func(q engine.Query) []string {
		q.Text, q.K, q.PerChunk = "speaks", engine.MaxK, true
		r := search(t, e, q)
		if r.Trace.Seq != s.Seq || r.Trace.Documents != s.Documents {
			t.Fatalf("%s: %d documents at commit %d, the store has %d at %d", q.Mode, r.Trace.Documents, r.Trace.Seq, s.Documents, s.Seq)
		}
		var out []string
		for _, h := range r.Hits {
			out = append(out, fmt.Sprint(h.ID, "/", h.Chunk, "/", h.Chunks, " ", h.Text))
		}
		slices.Sort(out)
		return out
	}
	vectors := units(engine.Query{Mode: engine.ModeDense, Variant: engine.VariantNone})
	if len(vectors) != s.Chunks {
		t.Fatalf("%d vectors are found, %d are there", len(vectors), s.Chunks)
	}
	for name, q := range map[string]engine.Query{
		"words":    {Mode: engine.ModeLexical}, // every text speaks
		"local":    {Mode: engine.ModeDense, Variant: engine.VariantLocal},
		"metadata": {Mode: engine.ModeDense, Variant: engine.VariantNone, Filter: filter.Exists("n")},
	} {
		if got := units(q); !slices.Equal(got, vectors) {
			t.Fatalf("%s name %d units, the vectors %d", name, len(got), len(vectors))
		}
	}
}

// TestKill kills a writer with SIGKILL at random moments: after reopening,
// every acknowledged document is found by its words, and once those that wait have their vectors, by a search for its text, every
// acknowledged delete holds, the batch in flight is there wholly or not at all,
// and documents, vectors, words and metadata agree at one commit.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds, seed := trial.Rounds(t, 2, 500), trial.Seed(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	dir := t.TempDir()
	live := map[int]bool{} // acknowledged and not deleted
	total := 0
	for round := range rounds {
		if round%5 == 0 { // a fresh database now and then
			dir, live = t.TempDir(), map[int]bool{}
		}
		after := 1 + rng.IntN(20)
		if round%2 == 1 { // also before the first one
			after = rng.IntN(2)
		}
		acked, inFlight, doomed := killOne(t, exe, dir, after, time.Duration(rng.IntN(40_000))*time.Microsecond, live)
		total += acked
		reader, err := engine.Open(t.Context(), dir, hash(t), engine.Options{ReadOnly: true})
		if err == nil {
			err = reader.Close()
		}
		if errors.Is(err, engine.ErrCorrupt) || err != nil && !errors.Is(err, store.ErrUnclean) {
			t.Fatalf("round %d, seed %d: reading: %v", round, seed, err)
		}
		e := open(t, dir, engine.Options{})
		if found, s := search(t, e, engine.Query{Text: "speaks", Mode: engine.ModeLexical, K: engine.MaxK, PerChunk: true}), statsOf(t, e); len(found.Hits) != s.Chunks {
			t.Fatalf("round %d, seed %d: words find %d passages of %d", round, seed, len(found.Hits), s.Chunks)
		}
		if err := e.Flush(t.Context()); err != nil { // the vectors that wait
			t.Fatalf("round %d, seed %d: %v", round, seed, err)
		}
		s := statsOf(t, e)
		if s.Waiting != 0 {
			t.Fatalf("round %d, seed %d: %d passages wait", round, seed, s.Waiting)
		}
		agree(t, e)
		for i := range live {
			if isLong(i) {
				word := fmt.Sprintf("k%dx7", i)
				r := search(t, e, engine.Query{Text: word, K: 1, Mode: engine.ModeLexical})
				if d, err := e.Get(t.Context(), fmt.Sprint("d", i)); err != nil || d.Text != killDocs(i, i+1)[0].Text || r.Hits[0].ID != d.ID || !strings.Contains(r.Hits[0].Text, word) {
					t.Fatalf("round %d, seed %d: acknowledged long document d%d: %+v, %v", round, seed, i, r.Hits, err)
				}
				continue
			}
			r := search(t, e, engine.Query{Text: text(i), K: 1, Variant: engine.VariantNone})
			if len(r.Hits) != 1 || r.Hits[0].Cosine < 0.9999 {
				t.Fatalf("round %d, seed %d: acknowledged document d%d is not found: %+v", round, seed, i, r.Hits)
			}
			if _, err := e.Get(t.Context(), fmt.Sprint("d", i)); err != nil {
				t.Fatalf("round %d, seed %d: acknowledged document d%d: %v", round, seed, i, err)
			}
		}
		// Documents of the last commits are in no cell yet, and score less than those that are.
		if err := e.Flush(t.Context()); err != nil {
			t.Fatalf("round %d, seed %d: %v", round, seed, err)
		}
		for i := range live {
			if isLong(i) {
				continue
			}
			// Another with the same topic and matter may score more.
			if r := search(t, e, engine.Query{Text: text(i), K: 10, Mode: engine.ModeDense, Variant: engine.VariantLocal}); !slices.Contains(ids(r), fmt.Sprint("d", i)) {
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
}

// killOne runs the writer and kills it after some acknowledged batches and a delay. It enters what was acknowledged into live and returns the number of
// acknowledgements, the first document of the batch in flight, and the document
// whose delete was in flight (which is taken out of live), else -1.
func killOne(t *testing.T, exe, dir string, after int, delay time.Duration, live map[int]bool) (acked, inFlight, doomed int) {
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
	opened := false
	var timer *time.Timer
	for sc := bufio.NewScanner(out); sc.Scan(); {
		var lo, hi int
		switch line := sc.Text(); {
		case scan(line, "open %d", &inFlight):
			opened = true
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
		if timer == nil && opened && acked >= after {
			timer = time.AfterFunc(delay, func() { cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the writer ended by itself")
	}
	if !opened {
		t.Fatal("the writer never opened the database")
	}
	return acked, inFlight, doomed
}

func scan(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format, into...)
	return err == nil && n == len(into)
}
