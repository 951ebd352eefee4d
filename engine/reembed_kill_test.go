package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/store"
)

// What makes this test binary a child that changes a model and is killed: the
// database, the moment, and which time it comes.
const (
	reembedDir   = "LEXSEM_TEST_REEMBED_DIR"
	reembedPoint = "LEXSEM_TEST_REEMBED_POINT"
	reembedCount = "LEXSEM_TEST_REEMBED_COUNT"
)

// reembedChild is that child.
func reembedChild(dir string) error {
	point := os.Getenv(reembedPoint)
	left, err := strconv.Atoi(os.Getenv(reembedCount))
	if err != nil {
		return err
	}
	ctx := engine.WithFailpoint(context.Background(), func(name string) {
		if name != point {
			return
		}
		if left--; left == 0 {
			if p, err := os.FindProcess(os.Getpid()); err != nil || p.Kill() != nil {
				fmt.Println("error: the child cannot kill itself")
			}
			select {}
		}
	})
	_, err = engine.Reembed(ctx, dir, encoder.NewHash(32), engine.Options{})
	return err
}

// TestKillReembed kills a change of model at each named moment, again and again on one
// database that others change in between: each time the old database is there, whole, or
// the new one, and the next call goes on.
func TestKillReembed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{})
	p := pair{t, openWith(t, t.TempDir(), encoder.NewHash(32), engine.Options{})}
	defer closeIt(t, p.mirror)
	p.upsert(e, mixedDocs(0, 1300)...)
	before := exportOf(t, e)
	closeIt(t, e)
	for i, c := range []struct {
		point string
		count int
	}{
		{"reembed-page", 1}, {"reembed-noted", 1}, {"reembed-page", 2}, {"reembed-settled", 1}, {"reembed-alone", 1}, {"reembed-closed", 1}, {"reembed-decided", 1},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), reembedDir+"="+dir, reembedPoint+"="+c.point, reembedCount+"="+fmt.Sprint(c.count))
		out, err := cmd.CombinedOutput()
		if err == nil || len(out) > 0 {
			t.Fatalf("%s: the child ended by itself: %v: %s", c.point, err, out)
		}
		if c.point == "reembed-decided" {
			break
		}
		w := openWith(t, dir, hash(t), engine.Options{MustExist: true})
		if got := exportOf(t, w); got != before {
			t.Fatalf("%s: the old database has changed", c.point)
		}
		p.remove(w, fmt.Sprint("d", 10+i), fmt.Sprint("d", 1200+i))
		p.upsert(w, mixedDocs(20+i, 23+i)...)
		before = exportOf(t, w)
		closeIt(t, w)
	}
	// It was decided: opening alone finishes it, and nothing is left to do.
	n := openWith(t, dir, encoder.NewHash(32), engine.Options{MustExist: true})
	sameBase(t, n, p.mirror)
	closeIt(t, n)
	if _, err := engine.Reembed(t.Context(), dir, encoder.NewHash(32), engine.Options{}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("the same again: %v", err)
	}
	if there, err := store.Folder(store.Folder(dir).Next()).Exists(); there || err != nil {
		t.Errorf("the folder of the new database is left: %v", err)
	}
}
