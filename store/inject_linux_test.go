package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/testkit/inject"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

const (
	envMany  = "LEXSEM_STORE_MANY"  // not empty: many sessions
	envOpens = "LEXSEM_STORE_OPENS" // not empty: nothing is written
)

func init() { faulty = writeWithFaults }

// writeWithFaults is a child of whose system calls some fail: it opens, writes,
// compacts and closes, and again. It tells what is acknowledged, and at its end that
// it came there. No error may call the database damaged.
func writeWithFaults(dir string) error {
	calls := inject.NewCalls(ErrCorrupt, ErrForeign, ErrVersion)
	sessions := 2
	if os.Getenv(envMany) != "" {
		sessions = 4
	}
	levelZeroTables = 2
	for range sessions {
		s, err := Open(dir, small)
		if !calls.Calm("open", err) {
			continue
		}
		if os.Getenv(envOpens) != "" {
			calls.Calm("close", s.Close())
			continue
		}
		if s.Manifest().Dim == 0 && !calls.Calm("manifest", s.SetManifest(ctx, func(m *Manifest) error { m.Dim = testDim; return nil })) {
			calls.Calm("close", s.Close())
			continue
		}
		for i := range 6 {
			b, err := s.Begin(ctx)
			if !calls.Calm("begin", err) {
				break
			}
			seq := s.Seq() + 1
			if err = writeBatch(b, seq); err == nil {
				_, err = b.Commit(ctx)
			}
			if err == nil {
				fmt.Println("committed", seq)
			} else if !calls.Calm("write", err) {
				calls.Calm("discard", b.Discard())
			}
			if i == 4 {
				calls.Calm("compact", s.Compact(ctx, s.Seq()))
				calls.Calm("reclaim", s.Reclaim(ctx, nil))
			}
			_, err = s.Verify(ctx, nil)
			calls.Calm("verify", err)
		}
		for range 3 {
			if calls.Calm("close", s.Close()) {
				break
			}
		}
	}
	calls.End()
	return nil
}

// interruptedSeq is the last commit of interrupted's writer, which is killed behind
// it: it is there, though the writer could not tell.
const interruptedSeq = 12

// interrupted makes a database that has something to recover.
func interrupted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	start(t, "write", dir, "after-commit", interruptedSeq).wait(t, 0)
	return dir
}

// faultyRun is what a child did in which a fault hit a system call.
type faultyRun struct {
	label, dir, out string
	acknowledged    uint64
	took            time.Duration
	exited          bool // it was not killed
	err             error
}

// runFaulty lets writeWithFaults run into the fault of a number: in a copy of the
// database before where that is odd, else in a folder that is to be made.
func runFaulty(t *testing.T, n uint64, f inject.Fault, before string, limit time.Duration, env ...string) faultyRun {
	t.Helper()
	r := faultyRun{label: fmt.Sprintf("LEXSEM_SEED=%d, %v", n, f), dir: filepath.Join(t.TempDir(), "db")}
	if n%2 == 1 {
		copyDir(t, before, r.dir)
		r.acknowledged = interruptedSeq
	}
	r.run(t, f, limit, env...)
	return r
}

// run starts the child in r.dir.
func (r *faultyRun) run(t *testing.T, f inject.Fault, limit time.Duration, env ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), envChild+"=faulty", envDir+"="+r.dir), env...)
	r.out, r.took, r.err = f.Run(t, cmd, limit, inject.FilesOf(r.dir))
	r.exited = cmd.ProcessState.Exited()
	for line := range strings.Lines(r.out) {
		fmt.Sscanf(line, "committed %d", &r.acknowledged)
	}
}

// TestSystemCallsFailInRecovery lets a system call fail, at a time, while a database is opened whose
// last compaction could not make its tables: that is no damage, and a later opening has all records.
func TestSystemCallsFailInRecovery(t *testing.T) {
	t.Parallel()
	inject.Need(t)
	rounds, first := trial.Rounds(t, 4, 2000), trial.Seed(t)
	left, want := badlyCompacted(t)
	var tally inject.Tally
	for i := range rounds {
		n := first + uint64(i)
		f := inject.Number(n)
		r := faultyRun{label: fmt.Sprintf("LEXSEM_SEED=%d, %v", n, f), dir: filepath.Join(t.TempDir(), "db")}
		copyDir(t, left, r.dir)
		r.run(t, f, 30*time.Second, envOpens+"=1")
		tally.Take(t, r.label, r.out, r.took, r.err)
		s, err := Open(r.dir, small)
		if err != nil {
			t.Errorf("%s: opening again: %v\n%s", r.label, err, r.out)
			continue
		}
		if got := dump(t, s); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d records, want %d\n%s", r.label, len(got), len(want), r.out)
		}
		closeAndRead(t, r.label, s)
		if err := os.RemoveAll(r.dir); err != nil {
			t.Fatal(err)
		}
	}
	tally.Report(t)
}

// TestSystemCallsFail lets a system call fail, at a time: the process comes to its
// end, within the limit and without a word of damage, and what was acknowledged is
// there when it is opened again. Badger compacts meanwhile.
func TestSystemCallsFail(t *testing.T) {
	t.Parallel()
	inject.Need(t)
	rounds, first := trial.Rounds(t, 8, 3000), trial.Seed(t)
	before := interrupted(t)
	const limit = 30 * time.Second
	var tally inject.Tally
	for i := range rounds {
		n := first + uint64(i)
		f := inject.Number(n)
		run := runFaulty(t, n, f, before, limit)
		label, dir, out := run.label, run.dir, run.out
		tally.Take(t, label, out, run.took, run.err)
		s, err := Open(dir, small)
		if err != nil {
			t.Errorf("%s: opening again: %v\n%s", label, err, out)
			continue
		}
		if s.Seq() < run.acknowledged {
			t.Errorf("%s: at sequence %d, %d was acknowledged\n%s", label, s.Seq(), run.acknowledged, out)
		}
		if s.Manifest().Dim != 0 {
			t.Logf("%s\n%s", label, out) // of what fails next
			checkContents(t, s)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", label, err)
		}
		checkReading(t, dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	tally.Report(t)
}

// TestKillAtCalls kills a process at one of the system calls by which it makes,
// grows, syncs, renames and removes files, Badger's memtables, tables and MANIFEST
// among them, while it opens, recovers, writes, compacts and closes. What it left is
// opened for reading and for writing.
func TestKillAtCalls(t *testing.T) {
	t.Parallel()
	inject.Need(t)
	rounds, first := trial.Rounds(t, 2, 2000), trial.Seed(t)
	before := interrupted(t)
	killed := 0
	for i := range rounds {
		n := first + uint64(i)
		f := inject.Kill(n)
		run := runFaulty(t, n, f, before, time.Minute, envMany+"=1")
		label, dir, out := run.label, run.dir, run.out
		if run.exited && run.err != nil {
			t.Fatalf("%s: %v\n%s", label, run.err, out)
		}
		if run.err != nil {
			killed++
		} else if !strings.HasSuffix(out, inject.SaysEnd) || strings.Contains(out, inject.SaysFailed) {
			t.Fatalf("%s: %s", label, out)
		}
		checkReading(t, dir)
		s, err := Open(dir, small)
		if err != nil {
			t.Fatalf("%s: %v\n%s", label, err, out)
		}
		if s.Seq() < run.acknowledged || s.Seq() > run.acknowledged+1 {
			t.Fatalf("%s: at sequence %d, %d was acknowledged", label, s.Seq(), run.acknowledged)
		}
		if s.Manifest().Dim != 0 {
			checkContents(t, s)
		}
		closeAndRead(t, label, s)
		if t.Failed() {
			t.Fatal(label)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d runs, %d were killed", rounds, killed)
	if killed == 0 && rounds > 10 {
		t.Error("nothing was killed")
	}
}
