package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestSnapshotsOfDifferentCommits: whichever snapshots a killed save has replaced,
// and whichever are missing, each part is brought to the last commit from where it
// stands, and no other is made anew. There are chunked documents among those that
// come, change and go, and one document that begins and ends in between. The short form
// has one snapshot replaced at a time, and none missing.
func TestSnapshotsOfDifferentCommits(t *testing.T) {
	t.Parallel()
	o := Options{NoSync: true, Local: true, ChunkTokens: 60}
	r := rand.New(rand.NewPCG(11, 12))
	docs := map[string]Document{}
	behind := t.TempDir()
	e := opened(t, behind, o, autoHNSW)
	change := func(lo, hi int) {
		for _, d := range madeDocs(r, lo, hi) {
			docs[d.ID] = d
			put(t, e, d)
		}
	}
	change(0, 250)
	closed(t, e)
	e = opened(t, behind, o, autoHNSW)
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
	e = opened(t, saved, o, autoHNSW)
	flushed(t, e)
	closed(t, e)
	e = opened(t, behind, o, autoHNSW)
	change(270, 330)
	delete(docs, "d7")
	removed(t, e, "d7")
	crashed(t, e)
	e = opened(t, copyTo(behind), o, autoHNSW)
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
		if !trial.Long() {
			continue
		}
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
		e := opened(t, dir, o, autoHNSW)
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

// TestStraySnapshots: a graph that cannot be read beside a good exact index costs no
// rebuild, and what is the database's own and of no use, of an earlier format
// included, goes when the state is next saved. What is not its own stays.
func TestStraySnapshots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := opened(t, dir, Options{}, autoHNSW)
	put(t, e, madeDocs(rand.New(rand.NewPCG(31, 32)), 0, 20)...)
	closed(t, e)
	derived := func(name string) string { return filepath.Join(dir, "derived", name+".snap") }
	page, err := os.ReadFile(derived("live"))
	if err != nil {
		t.Fatal(err)
	}
	page = page[:4096]
	plant := func(name string, change func(b []byte)) {
		b := bytes.Clone(page)
		change(b)
		binary.LittleEndian.PutUint32(b[4092:], crc32.Checksum(b[:4092], crc32.MakeTable(crc32.Castagnoli)))
		if err := os.WriteFile(derived(name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plant("hnsw-int8", func([]byte) {}) // cut off behind its header
	plant("metadata", func(b []byte) { copy(b, "LEXSNAP1") })
	plant("hnsw", func(b []byte) { b[20] ^= 1 }) // of another database
	plant("flat", func(b []byte) { copy(b, "NOTSNAP1") })

	var log bytes.Buffer
	e = opened(t, dir, Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Progress: func(p Progress) {
			if p.Stage == "rebuild" {
				t.Errorf("%+v", p)
			}
		},
	}, autoHNSW)
	if got := e.db.Present().Vectors.Kind; got != "flat-int8" || strings.Count(log.String(), "made anew") != 1 {
		t.Errorf("%s is searched; %s", got, &log)
	}
	put(t, e, madeDocs(rand.New(rand.NewPCG(33, 34)), 20, 21)...)
	closed(t, e)
	for name, there := range map[string]bool{"hnsw-int8": false, "metadata": false, "hnsw": true, "flat": true, "flat-int8": true} {
		if _, err := os.Stat(derived(name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}
