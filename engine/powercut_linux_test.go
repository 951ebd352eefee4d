package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/powercut"
	"github.com/lexsem/lexsem/internal/testkit/trial"
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
	if os.Getenv(cutMount+"_FIT") != "" {
		_, err := fitTwice(ctx, dir, func(what string) { powercut.Mark(mount, what) })
		return err
	}
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
	cuts, seed := trial.Rounds(t, 6, 500), trial.Seed(t)
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
		e, end := openCut(t, label, dir, cutOptions)
		defer end()
		got := allSpeaking(t, e)
		if !slices.Equal(got, states[done]) && !slices.Equal(got, states[begun]) {
			t.Fatalf("%s: %d documents, want those of change %d or %d, %d or %d", label, len(got), done, begun, len(states[done]), len(states[begun]))
		}
	})
}

// openCut opens what a cut has left, whose parts agree. end closes it.
func openCut(t *testing.T, label, dir string, o engine.Options) (e *engine.Engine, end func()) {
	t.Helper()
	e, err := engine.Open(t.Context(), filepath.Join(dir, "db"), hash(t), o)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	agree(t, e)
	if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
		t.Fatalf("%s: %+v, %v", label, v, err)
	}
	return e, func() {
		if err := e.Close(); err != nil {
			t.Fatalf("%s: %v", label, err)
		}
	}
}

// fitOptions keep no token states: documents that wait for the first basis are written again, and new to a bridge then.
var fitOptions = engine.Options{Local: true, MemoryMiB: 64, TokenStates: engine.TokenStatesOff}

// fitTwice makes a database of 60 documents, fits a bridge, adds 20 and brings the bridge up
// to date. It tells when documents and bridges are there, and names the bridges' files.
func fitTwice(ctx context.Context, dir string, mark func(what string)) (files []string, err error) {
	e, err := engine.Open(ctx, dir, encoder.NewHash(dim), fitOptions)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	for i, upto := range []int{60, 80} {
		if _, err := e.Upsert(ctx, docs(60*i, upto)); err != nil {
			return nil, err
		}
		mark(fmt.Sprint("filled ", upto))
		file, err := fitStep(ctx, e, i)
		if err != nil {
			return nil, err
		}
		mark(fmt.Sprint("fitted ", i+1))
		files = append(files, file)
	}
	return files, nil
}

func fitStep(ctx context.Context, e *engine.Engine, i int) (file string, err error) {
	r, err := e.Fit(ctx, engine.FitOptions{Variant: "slr", QueriesPerPassage: 2, Epochs: 2, Update: i > 0})
	return r.File, err
}

// TestPowerCutOfFit loses the power while bridges are fitted: the database opens, a bridge that
// was told is there, and a fit that was cut off ends at the bridge that it would have given.
func TestPowerCutOfFit(t *testing.T) {
	t.Parallel()
	cuts, seed := trial.Rounds(t, 6, 500), trial.Seed(t)
	want, err := fitTwice(t.Context(), filepath.Join(t.TempDir(), "db"), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	d, mount := powercut.MountFor(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), cutMount+"="+mount, cutMount+"_FIT=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if err := d.Unmount(); err != nil {
		t.Fatal(err)
	}
	within := 0
	d.Cuts(t, cuts, seed, func(label, dir string, marks powercut.Marks) {
		filled, fitted := int(marks.Last("filled")), int(marks.Last("fitted"))
		e, end := openCut(t, label, dir, fitOptions)
		defer end()
		s, err := e.Stats(t.Context())
		if err != nil || s.Documents < filled {
			t.Fatalf("%s: %d documents, %v; %d were acknowledged", label, s.Documents, err, filled)
		}
		if fitted > 0 {
			if len(s.Bridges) != 1 || s.Bridges[0].Variant != "slr" {
				t.Fatalf("%s: %d fits were acknowledged, and there are %+v", label, fitted, s.Bridges)
			}
			search(t, e, engine.Query{Text: text(7), Variant: "slr"})
		}
		next := len(s.Bridges) // where the first was told or is there, the second is due
		if at := map[int]int{60: 0, 80: 1}[s.Documents]; next == at && filled > 0 {
			within++
			if file, err := fitStep(t.Context(), e, next); err != nil || file != want[next] {
				t.Fatalf("%s: fit %d gives %s, %v; without a cut %s", label, next+1, file, err, want[next])
			}
		}
	})
	t.Logf("%d cuts, behind %d of them a fit was due", cuts, within)
	if within == 0 && cuts > 50 {
		t.Error("no cut was within a fit")
	}
}
