package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/inject"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

const faultChanges = 24 // of the writer whose system calls fail

func init() { writeUnderFaults = writeWithFaults }

// writeWithFaults makes the changes of cutChange in three openings: it searches,
// saves, compacts, verifies and closes between them. A change that fails is made again. It tells
// what is acknowledged, and at its end that it came there. No error may call the
// database damaged.
func writeWithFaults(dir string) error {
	ctx := context.Background()
	calls := inject.NewCalls(engine.ErrCorrupt, engine.ErrForeign)
	change := 0
	for session := range 3 {
		e, err := engine.Open(ctx, dir, encoder.NewHash(dim), cutOptions)
		if !calls.Calm("open", err) {
			continue
		}
		for try := 0; try < 12 && change < faultChanges*(session+1)/3; try++ {
			upsert, remove := cutChange(change)
			fmt.Println("begun", change+1)
			if remove == nil {
				_, err = e.Upsert(ctx, upsert)
			} else {
				_, err = e.Delete(ctx, remove)
			}
			if calls.Calm("change", err) {
				change++
				fmt.Println("done", change)
			}
			_, err = e.Search(ctx, engine.Query{Text: text(change)})
			calls.Calm("search", err)
			switch change % 8 {
			case 3:
				calls.Calm("flush", e.Flush(ctx))
			case 5:
				calls.Calm("compact", e.Compact(ctx))
			case 7:
				_, err = e.Verify(ctx, nil)
				calls.Calm("verify", err)
			}
		}
		for range 3 {
			if calls.Calm("close", e.Close()) {
				break
			}
		}
	}
	calls.End()
	return nil
}

// TestSystemCallsFail lets a system call fail, at a time, below an engine that writes,
// searches, saves snapshots and closes: the process comes to its end, without
// a word of damage, and the database opens again with every acknowledged change, its
// parts agreeing.
func TestSystemCallsFail(t *testing.T) {
	t.Parallel()
	inject.Need(t)
	rounds, first := trial.Rounds(t, 2, 500), trial.Seed(t)
	states := cutStates(faultChanges)
	const limit = time.Minute
	var tally inject.Tally
	for i := range rounds {
		f := inject.Number(first + uint64(i))
		dir := filepath.Join(t.TempDir(), "db")
		label := fmt.Sprintf("LEXSEM_SEED=%d, %v", first+uint64(i), f)
		var files []string
		if f.ByFiles() {
			files = filesOfEngine(dir)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), faultDir+"="+dir)
		out, took, err := f.Run(t, cmd, limit, files)
		tally.Take(t, label, out, took, err)
		done, begun := 0, 0
		for line := range strings.Lines(out) {
			fmt.Sscanf(line, "done %d", &done)
			fmt.Sscanf(line, "begun %d", &begun)
		}
		e, err := engine.Open(t.Context(), dir, hash(t), cutOptions)
		if err != nil {
			t.Errorf("%s: opening again: %v\n%s", label, err, out)
			continue
		}
		t.Logf("%s", label) // of what fails next
		agree(t, e)
		if got := allSpeaking(t, e); !slices.Equal(got, states[done]) && !slices.Equal(got, states[begun]) {
			t.Errorf("%s: %d documents, want those of change %d or %d, %d or %d\n%s", label, len(got), done, begun, len(states[done]), len(states[begun]), out)
		}
		if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
			t.Errorf("%s: %+v, %v\n%s", label, v, err, out)
		}
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", label, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	tally.Report(t)
}

// filesOfEngine are the names that a small database has, or gets.
func filesOfEngine(dir string) []string {
	all := inject.FilesOf(dir)
	for _, part := range []string{"columns", "flat-int8", "hnsw-int8", "live", "local", "sums", "words"} {
		all = append(all, filepath.Join(dir, "derived", part+".snap"))
	}
	return all
}
