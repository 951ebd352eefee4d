package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSnapshotsOfDifferentCommits: whichever snapshots a killed save has replaced,
// and whichever are missing, each part is brought to the last commit from where it
// stands, and no other is made anew. There are chunked documents among those that
// come, change and go, and one document that begins and ends in between.
func TestSnapshotsOfDifferentCommits(t *testing.T) {
	o := Options{NoSync: true, Local: true, ChunkTokens: 60}
	r := rand.New(rand.NewPCG(11, 12))
	docs := map[string]Document{}
	behind := t.TempDir()
	e := opened(t, behind, o, AutoHNSW)
	change := func(lo, hi int) {
		for _, d := range madeDocs(r, lo, hi) {
			docs[d.ID] = d
			put(t, e, d)
		}
	}
	change(0, 250)
	closed(t, e)
	e = opened(t, behind, o, AutoHNSW)
	change(200, 300)
	change(290, 310)
	for _, i := range []int{3, 14, 205, 280, 309} {
		delete(docs, fmt.Sprint("d", i))
		removed(t, e, fmt.Sprint("d", i))
	}
	change(280, 281)
	crashed(t, e)
	copyTo := func(from string) string {
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return to
	}
	saved := copyTo(behind) // gives the newer snapshots
	e = opened(t, saved, o, AutoHNSW)
	flushed(t, e)
	closed(t, e)
	e = opened(t, behind, o, AutoHNSW)
	change(270, 330)
	delete(docs, "d7")
	removed(t, e, "d7")
	crashed(t, e)
	e = opened(t, copyTo(behind), o, AutoHNSW)
	likeFresh(t, "replayed", e, o, docs)
	localFollows(t, e, "replayed", 2)
	want := answers(t, e, probing)
	closed(t, e)
	files, err := filepath.Glob(filepath.Join(saved, "derived", "*.snap"))
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	mixed := map[string]map[int]string{}
	for i := range files {
		mixed[fmt.Sprint("only ", i, " new")] = map[int]string{i: "new"}
		mixed[fmt.Sprint("all up to ", i, " new")] = map[int]string{}
		for j := range i + 1 {
			mixed[fmt.Sprint("all up to ", i, " new")][j] = "new"
		}
		mixed[fmt.Sprint(i, " missing")] = map[int]string{i: "missing"}
	}
	for what, is := range mixed {
		dir := copyTo(behind)
		for i, f := range files {
			to := filepath.Join(dir, "derived", filepath.Base(f))
			switch is[i] {
			case "new":
				raw, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(to, raw, 0o644); err != nil {
					t.Fatal(err)
				}
			case "missing":
				if err := os.Remove(to); err != nil {
					t.Fatal(err)
				}
			}
		}
		var log bytes.Buffer
		o := o
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		e := opened(t, dir, o, AutoHNSW)
		if strings.Contains(log.String(), "made anew") {
			t.Errorf("%s: %s", what, &log)
		}
		flushed(t, e)
		sameAnswers(t, what, answers(t, e, closedForms()), wanted(want, closedForms()), closedForms())
		localFollows(t, e, what, 2)
		whole(t, e, what)
		closed(t, e)
	}
}

// wanted are the answers to some of the probing queries.
func wanted(want [][]score, qs []Query) (some [][]score) {
	for _, q := range qs {
		for i, p := range probing {
			if fmt.Sprintf("%+v", p) == fmt.Sprintf("%+v", q) {
				some = append(some, want[i])
			}
		}
	}
	return some
}
