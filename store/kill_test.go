package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// The tests here run this test program again as a child that writes and is
// killed. The environment says what the child is to do.
const (
	envChild = "LEXSEM_STORE_CHILD" // "write", "big", "open", "compact", "hold", "restore", "handover", "limited", "faulty"
	envDir   = "LEXSEM_STORE_DIR"
	envPoint = "LEXSEM_STORE_POINT" // name of the failpoint to die at
	envCount = "LEXSEM_STORE_COUNT" // which time it is hit

	envNoSync = "LEXSEM_STORE_NOSYNC" // not empty: open with NoSync
	envDocs   = "LEXSEM_STORE_DOCS"   // size of the batch of "big"
)

// told tells the disk of the power cuts, if a child writes to one, of a sequence.
var told = func(dir, what string, seq uint64) {}

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // each opening takes memtables, which would each time begin a collection
	if role := os.Getenv(envChild); role != "" {
		if err := child(role, os.Getenv(envDir)); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	trial.Parallel() // most tests wait for a disk or a child
	os.Exit(m.Run())
}

// faulty is a child of whose system calls some fail.
var faulty = func(dir string) error { return errors.ErrUnsupported }

// child never returns before it is killed or its work is done. It tells its
// parent what is acknowledged, a line each.
func child(role, dir string) error {
	if point := os.Getenv(envPoint); point != "" {
		left, err := strconv.Atoi(os.Getenv(envCount))
		if err != nil {
			return err
		}
		failpoint = func(name string) {
			if name == point {
				if left--; left == 0 {
					kill(os.Getpid())
					select {}
				}
			}
		}
	}
	switch role {
	case "limited":
		return limited(dir)
	case "faulty":
		return faulty(dir)
	case "restore":
		return restoreChild(dir)
	case "handover":
		return handOverChild(dir)
	}
	o := small
	o.NoSync = os.Getenv(envNoSync) != ""
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	if s.Manifest().Dim == 0 {
		if err := s.SetManifest(ctx, func(m *Manifest) error { m.Dim = testDim; return nil }); err != nil {
			return err
		}
	}
	fmt.Println("open", s.Seq())
	told(dir, "seen", s.Seq())
	switch role {
	case "hold":
		_, err := io.Copy(io.Discard, os.Stdin)
		return errors.Join(err, s.Close())
	case "open":
		return s.Close()
	case "compact":
		if err := s.Compact(ctx, s.Seq()); err != nil {
			return err
		}
		return s.Close()
	case "big":
		n, err := strconv.Atoi(os.Getenv(envDocs))
		if err != nil {
			return err
		}
		b, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		for i := range n {
			if _, err := b.Put(ctx, doc(fmt.Sprint("big-", i), i)); err != nil {
				return err
			}
		}
		if _, err := b.Commit(ctx); err != nil {
			return err
		}
		fmt.Println("committed")
		return s.Close()
	}
	for seq := s.Seq() + 1; ; seq++ {
		if seq%10 == 0 && seq > 20 {
			if err := s.Compact(ctx, seq-10); err != nil {
				return err
			}
		}
		b, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		if err := writeBatch(b, seq); err != nil {
			return err
		}
		told(dir, "seen", seq)
		if _, err := b.Commit(ctx); err != nil {
			return err
		}
		told(dir, "committed", seq)
		fmt.Println("committed", seq)
	}
}

// writeBatch fills batch seq with what follows from its number alone. Each
// batch adds ids of its own, replaces "shared", deletes an older id, and adds
// again an id that was deleted two batches ago.
func writeBatch(b *Batch, seq uint64) error {
	n := int(seq)
	for i := range 5 {
		d := doc(fmt.Sprintf("b%d-%d", seq, i), n)
		if seq%7 == 0 {
			d.Text = strings.Repeat("x", 300_000)
		}
		if _, err := b.Put(ctx, d); err != nil {
			return err
		}
		if i == 0 && seq > 5 {
			if _, err := b.Put(ctx, doc(fmt.Sprintf("b%d-0", seq-5), n)); err != nil {
				return err
			}
		}
		if i == 1 {
			if err := b.AddTerms(ctx, int(b.st.terms), termsOfBatch(seq)); err != nil {
				return err
			}
		}
		if i == 2 && seq%3 == 0 { // staged before the rest
			if err := b.w.flush(); err != nil {
				return err
			}
		}
	}
	if _, err := b.Put(ctx, doc("shared", n)); err != nil {
		return err
	}
	if seq > 3 {
		if _, _, err := b.Delete(ctx, fmt.Sprintf("b%d-0", seq-3)); err != nil {
			return err
		}
	}
	return nil
}

// termsOfBatch are the two terms that batch seq adds.
func termsOfBatch(seq uint64) []string {
	return []string{fmt.Sprint("first of ", seq), fmt.Sprint("second of ", seq)}
}

// checkWritten holds the store to what "write" children have written up to the
// store's sequence, which must be the one acknowledged or that in flight.
func checkWritten(t *testing.T, s *Store, acknowledged uint64) {
	t.Helper()
	if seq := s.Seq(); seq < acknowledged || seq > acknowledged+1 {
		t.Fatalf("at sequence %d, %d was acknowledged", seq, acknowledged)
	}
	checkContents(t, s)
}

// checkContents holds the store to what "write" children have written up to the
// store's sequence.
func checkContents(t *testing.T, s *Store) {
	t.Helper()
	seq := s.Seq()
	want := map[string]int{}
	for n := uint64(1); n <= seq; n++ {
		for i := range 5 {
			want[fmt.Sprintf("b%d-%d", n, i)] = int(n)
		}
		want["shared"] = int(n)
		if n > 5 {
			want[fmt.Sprintf("b%d-0", n-5)] = int(n)
		}
		if n > 3 {
			delete(want, fmt.Sprintf("b%d-0", n-3))
		}
	}
	var terms []string
	for n := uint64(1); n <= seq; n++ {
		terms = append(terms, termsOfBatch(n)...)
	}
	if got := termsOf(t, s); !slices.Equal(got, terms) {
		t.Fatalf("%d terms, want %d", len(got), len(terms))
	}
	if s.Len() != len(want) {
		t.Fatalf("%d documents, want %d", s.Len(), len(want))
	}
	err := s.ScanDocuments(ctx, 0, func(_ uint64, d *Document) error {
		version, ok := want[d.ID]
		w := doc(d.ID, version)
		if !ok || string(d.Metadata) != string(w.Metadata) || d.Title != w.Title {
			return fmt.Errorf("document %q: %s", d.ID, d.Metadata)
		}
		delete(want, d.ID)
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Fatalf("%v; %d documents not met", err, len(want))
	}
	if _, err := s.Verify(ctx, nil); err != nil {
		t.Fatal(err)
	}
}

// checkReading opens a database that a killed process left for reading, which
// works or says that it must be recovered first, never that it is damaged.
func checkReading(t *testing.T, dir string) {
	t.Helper()
	if err := readOnce(dir); err != nil && !errors.Is(err, ErrUnclean) && !errors.Is(err, ErrNoDatabase) || errors.Is(err, ErrCorrupt) {
		t.Errorf("reading after a kill: %v", err)
	}
}

// readOnce opens a database for reading and closes it.
func readOnce(dir string) error {
	s, err := Open(dir, Options{ReadOnly: true, MemoryMiB: 64})
	if err != nil {
		return err
	}
	return s.Close()
}

// closeAndRead closes a database, which can be opened for reading then.
func closeAndRead(t *testing.T, label string, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	if err := readOnce(s.dir); err != nil {
		t.Fatalf("%s, closed: %v", label, err)
	}
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	lines chan string
	stdin io.Closer
}

func start(t *testing.T, role, dir, point string, count int, env ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), envChild+"="+role, envDir+"="+dir, envPoint+"="+point, envCount+"="+fmt.Sprint(count)), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, lines: make(chan string, 1<<16), stdin: in}
	go func() {
		defer close(p.lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			p.lines <- sc.Text()
		}
	}()
	return p
}

// wait collects the rest of the output and returns the last acknowledged
// sequence (or the least given) and whether the child was killed.
func (p *process) wait(t *testing.T, least uint64) (acknowledged uint64, killed bool) {
	t.Helper()
	acknowledged = least
	for line := range p.lines {
		if strings.HasPrefix(line, "error:") {
			t.Fatal(line)
		}
		if n, ok := strings.CutPrefix(line, "committed "); ok {
			v, err := strconv.ParseUint(n, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			acknowledged = v
		}
	}
	err := p.cmd.Wait()
	return acknowledged, err != nil && !p.cmd.ProcessState.Exited()
}

// first waits for a line of the child.
func (p *process) first(t *testing.T) string {
	t.Helper()
	select {
	case line := <-p.lines:
		return line
	case <-time.After(time.Minute):
		t.Fatal("the child says nothing")
		return ""
	}
}

// TestKillAtRandom kills a writing child again and again; after each time all
// that it acknowledged must be there and the batch in flight as a whole or not.
func TestKillAtRandom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var acknowledged uint64
	for round := range trial.Rounds(t, 3, 2000) {
		if round%15 == 14 { // a new database: the kills of its first moments
			dir, acknowledged = t.TempDir(), 0
		}
		p := start(t, "write", dir, "", 0)
		if round%5 != 0 {
			p.first(t) // else the kill may come while it opens
		}
		time.Sleep(time.Duration(5+rand.IntN(496)) * time.Millisecond)
		kill(p.cmd.Process.Pid)
		var killed bool
		if acknowledged, killed = p.wait(t, acknowledged); !killed && runtime.GOOS != "windows" {
			t.Fatalf("round %d: the child ended by itself", round)
		}
		checkReading(t, dir)
		s := open(t, dir, small)
		checkWritten(t, s, acknowledged)
		acknowledged = s.Seq()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKillAtPoints kills a child at each named moment, at several of its
// occurrences, and again while it repairs.
func TestKillAtPoints(t *testing.T) {
	t.Parallel()
	rounds := trial.Rounds(t, 1, 50)
	for _, c := range []struct {
		role, point string
		counts      []int
	}{
		{"write", "flush", []int{1, 3}},
		{"write", "staged", []int{1, 4, 12}},
		{"write", "before-commit", []int{1, 9}},
		{"write", "after-commit", []int{1, 2, 21}},
		{"write", "compact-begun", []int{1, 2}},
		{"write", "compact", []int{1, 2}},
		{"open", "sweep", []int{1, 2, 3}},
		{"compact", "compact-begun", []int{1}},
		{"compact", "compact", []int{1}},
	} {
		for _, count := range slices.Repeat(c.counts, rounds) {
			t.Run(fmt.Sprintf("%s/%s/%d", c.role, c.point, count), func(t *testing.T) {
				dir := t.TempDir()
				var acknowledged uint64
				if c.role != "write" { // something to repair or to compact
					p := start(t, "write", dir, "staged", 9)
					acknowledged, _ = p.wait(t, 0)
				}
				p := start(t, c.role, dir, c.point, count)
				ack, killed := p.wait(t, acknowledged)
				if !killed && runtime.GOOS != "windows" {
					t.Fatal("the point was not reached")
				}
				checkReading(t, dir)
				s := open(t, dir, small)
				checkWritten(t, s, ack)
				first := dump(t, s)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, dir, small)
				if again := dump(t, s); fmt.Sprint(first) != fmt.Sprint(again) {
					t.Error("opening twice gives different records")
				}
			})
		}
	}
}

// TestKillBigBatch kills a child in the middle of a batch of many transactions: a round
// is a thousand documents.
func TestKillBigBatch(t *testing.T) {
	t.Parallel()
	n, dir := 1000*trial.Rounds(t, 8, 50), t.TempDir()
	docs := fmt.Sprint(envDocs, "=", n)
	s := open(t, dir, small)
	add(t, s, doc("a", 1), doc("big-7", 1))
	before := dump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, "big", dir, "staged", 1, docs) // all staged, nothing committed
	if _, killed := p.wait(t, 0); !killed && runtime.GOOS != "windows" {
		t.Fatal("the child ended by itself")
	}
	s = open(t, dir, small)
	if after := dump(t, s); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("%d records before, %d after", len(before), len(after))
	}
	if s.Len() != 2 || s.Seq() != 1 {
		t.Errorf("len %d, seq %d", s.Len(), s.Seq())
	}
	if _, err := s.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p = start(t, "big", dir, "", 0, docs)
	if _, killed := p.wait(t, 0); killed {
		t.Fatal("the child died")
	}
	if s = open(t, dir, small); s.Len() != n+1 || s.Seq() != 2 {
		t.Errorf("len %d, seq %d", s.Len(), s.Seq())
	}
	if r, err := s.Verify(ctx, nil); err != nil || r.Documents != n+1 || r.Dead != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestLocked opens a database that another process has open.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "hold", dir, "", 0)
	p.first(t)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		_, err := Open(dir, o)
		var locked *LockedError
		if !errors.As(err, &locked) || !errors.Is(err, ErrLocked) {
			t.Fatalf("%+v: %v", o, err)
		}
		if locked.PID != p.cmd.Process.Pid || !strings.Contains(err.Error(), fmt.Sprint(locked.PID)) {
			t.Errorf("names process %d, not %d: %v", locked.PID, p.cmd.Process.Pid, err)
		}
	}
	p.stdin.Close()
	if _, killed := p.wait(t, 0); killed {
		t.Fatal("the child died")
	}
	// A stale lock file is no lock.
	if err := os.WriteFile(filepath.Join(dir, lockName), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, small)
	if _, err := Open(dir, small); !errors.Is(err, ErrLocked) {
		t.Errorf("second store of the same process: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
