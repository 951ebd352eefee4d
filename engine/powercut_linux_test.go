package engine_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/powercut"
	"github.com/lexsem/lexsem/internal/trial"
)

var cutOptions = engine.Options{Local: true, MemoryMiB: 64, TokenStates: engine.TokenStatesOn}

const cutPhases = 4 // processes that write one after the other

func init() { writeAndReopen = writeToDisk }

// cutChange is change n of the writer: every third one deletes, the others upsert
// documents, of which the first is there already.
func cutChange(n int) (upsert []engine.Document, remove []string) {
	if n%3 == 2 {
		return nil, []string{fmt.Sprint("d", 5*n-4), fmt.Sprint("d", 5*n-14)}
	}
	return docs(max(0, 5*n-1), 5*n+5), nil
}

// writeToDisk opens a database, makes ten changes and closes it, which saves the
// snapshots, and so again. The last time it ends without closing.
func writeToDisk(mount string) error {
	ctx, dir := context.Background(), filepath.Join(mount, "db")
	change := 0
	if _, err := fmt.Sscan(os.Getenv(cutMount+"_FIRST"), &change); err != nil {
		return err
	}
	for range 2 {
		e, err := engine.Open(ctx, dir, encoder.NewHash(dim), cutOptions)
		if err != nil {
			return err
		}
		for range 10 {
			powercut.Mark(mount, fmt.Sprint("begun ", change+1))
			upsert, remove := cutChange(change)
			if remove == nil {
				_, err = e.Upsert(ctx, upsert)
			} else {
				_, err = e.Delete(ctx, remove)
			}
			if err != nil {
				return err
			}
			change++
			powercut.Mark(mount, fmt.Sprint("done ", change))
			if change%10 == 5 {
				if err := e.Flush(ctx); err != nil {
					return err
				}
			}
		}
		if change/10%2 == 1 {
			if err := e.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutStates are the ids that are there after so many changes, from none to n.
func cutStates(n int) [][]string {
	states := [][]string{{}}
	live := map[string]bool{}
	for i := range n {
		upsert, remove := cutChange(i)
		for _, d := range upsert {
			live[d.ID] = true
		}
		for _, id := range remove {
			delete(live, id)
		}
		states = append(states, slices.Sorted(maps.Keys(live)))
	}
	return states
}

// allSpeaking are the ids of all documents, sorted, as the words name them.
func allSpeaking(t *testing.T, e *engine.Engine) []string {
	t.Helper()
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Documents == 0 {
		return nil
	}
	got := ids(search(t, e, engine.Query{Text: "speaks", K: engine.MaxK, Mode: engine.ModeLexical}))
	slices.Sort(got)
	return got
}

// TestPowerCut loses the power while an engine is written, closed, opened and ended:
// it opens, all its parts agree, and its documents are those of the acknowledged
// changes, and of the one in flight or not.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	cuts, seed := trial.Rounds(t, 10, 500), trial.Seed(t)
	d, mount := powercut.MountFor(t)
	for i := range cutPhases {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), cutMount+"="+mount, fmt.Sprint(cutMount, "_FIRST=", 20*i))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	if err := d.Unmount(); err != nil {
		t.Fatal(err)
	}
	states := cutStates(20 * cutPhases)
	d.Cuts(t, cuts, seed, func(label, dir string, marks powercut.Marks) {
		done, begun := marks.Last("done"), marks.Last("begun")
		e, err := engine.Open(t.Context(), filepath.Join(dir, "db"), hash(t), cutOptions)
		if err != nil {
			t.Fatalf("%s: %v", label, err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Fatalf("%s: %v", label, err)
			}
		}()
		agree(t, e)
		got := allSpeaking(t, e)
		if !slices.Equal(got, states[done]) && !slices.Equal(got, states[begun]) {
			t.Fatalf("%s: %d documents, want those of change %d or %d, %d or %d", label, len(got), done, begun, len(states[done]), len(states[begun]))
		}
		if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
			t.Fatalf("%s: %+v, %v", label, v, err)
		}
	})
}
