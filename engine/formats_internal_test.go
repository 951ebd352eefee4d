package engine

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
)

// TestEarlierSnapshots: a database whose snapshots are of an earlier format is opened by them, answers
// as it did, and has those of this format once it was changed and saved.
func TestEarlierSnapshots(t *testing.T) {
	t.Parallel()
	for digit := range snapshottest.EarlierBlocks {
		t.Run(string(digit), func(t *testing.T) { testEarlierSnapshots(t, digit) })
	}
}

func testEarlierSnapshots(t *testing.T, digit byte) {
	t.Parallel()
	dir := t.TempDir()
	var log bytes.Buffer
	o := Options{Local: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	e := opened(t, dir, o, 100) // with a graph
	put(t, e, madeDocs(rand.New(rand.NewPCG(51, 52)), 0, 300)...)
	flushed(t, e)
	want := answers(t, e, probing)
	closed(t, e)

	files, err := filepath.Glob(filepath.Join(dir, "derived", "*.snap"))
	if err != nil || len(files) < 6 {
		t.Fatalf("snapshots %v, %v", files, err)
	}
	format := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:8])
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, snapshottest.Earlier(t, b, digit), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := format(path); got != "LEXSNAP"+string(digit) {
			t.Fatalf("%s is of %s", path, got)
		}
	}

	e = opened(t, dir, o, 100)
	sameAnswers(t, "by snapshots of an earlier format", answers(t, e, probing), want, probing)
	whole(t, e, "by snapshots of an earlier format")
	if strings.Contains(log.String(), "made anew") {
		t.Error(&log)
	}
	put(t, e, madeDocs(rand.New(rand.NewPCG(53, 54)), 300, 310)...)
	flushed(t, e)
	closed(t, e)
	for _, path := range files {
		if got := format(path); got != "LEXSNAP4" {
			t.Errorf("%s is of %s", path, got)
		}
	}
	e = opened(t, dir, o, 100)
	whole(t, e, "saved anew")
	closed(t, e)
	if strings.Contains(log.String(), "made anew") {
		t.Error(&log)
	}
}
