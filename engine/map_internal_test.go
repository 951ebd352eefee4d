package engine

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// TestSavedPartsAreMapped: once it is saved, a running database reads vectors and words from their files. It
// finds the same before and after, in states that were in use meanwhile too; a file that was
// replaced is closed when the last of these is released, and damage made good.
func TestSavedPartsAreMapped(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{index.KindHNSWCompact, ""} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, r := t.TempDir(), rand.New(rand.NewPCG(5, 7))
			e := opened(t, dir, Options{Index: kind, NoSync: true}, 1200) // by default a graph takes over what lies in a file
			docs := ready(r, 1500, madeDim)
			put(t, e, docs[:1100]...)
			qs := []Query{{Text: "w3 x7", K: 2000, Ef: 2000}, {Text: "w5", Vector: docs[9].Vector, Mode: ModeDense, Variant: VariantNone, K: 20, Ef: 2000}}
			same := func(when string, want [][]score) {
				t.Helper()
				if got := answers(t, e, qs[len(qs)-len(want):]); !slices.EqualFunc(got, want, slices.Equal) {
					t.Fatalf("%s: other answers", when)
				}
			}
			saved := func(files int) {
				t.Helper()
				flushed(t, e) // else a graph may grow after Compact has saved the flat index
				want := answers(t, e, qs)
				if err := e.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
				flushed(t, e)
				same("from the file", want)
				if vectors, words := mappedFiles(t, dir); vectors >= 0 && (vectors != files || words != files) {
					t.Fatalf("%d files of vectors and %d of words are mapped, want %d", vectors, words, files)
				}
			}
			saved(1)
			held := e.db.Acquire()
			then := foundIn(t, e, held.Value, qs[0])
			put(t, e, docs[1100:]...)
			removed(t, e, "r3", "r700", "r1200")
			put(t, e, ready(r, 40, madeDim)...) // other vectors
			saved(2)
			if got := foundIn(t, e, held.Value, qs[0]); !slices.EqualFunc(got, then, func(a, b search.Found) bool { return a.Ord == b.Ord && a.Score == b.Score }) {
				t.Error("a state in use finds something else than before")
			}
			held.Release()
			flushed(t, e)
			removed(t, e, "r4")
			saved(1)
			whole(t, e, "with vectors in the file")
			want := answers(t, e, qs)
			if snapshot.Maps {
				s, err := e.Stats(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range []string{"words", s.Index} {
					if err := os.Truncate(filepath.Join(dir, "derived", part+".snap"), 8192); err != nil {
						t.Fatal(err)
					}
					if _, err := e.Search(t.Context(), qs[0]); !errors.Is(err, ErrCorrupt) {
						t.Errorf("a search over %s in a file that was cut off: %v", part, err)
					}
					flushed(t, e)
					if part != "words" {
						want = want[1:] // sums are made anew, and round otherwise
					}
					same("after a repair of "+part, want)
				}
			}
			closed(t, e)
			e = opened(t, dir, Options{Index: kind, NoSync: true}, 1200)
			same("opened again", want)
			closed(t, e)
			if vectors, words := mappedFiles(t, dir); vectors > 0 || words > 0 {
				t.Errorf("%d files of vectors and %d of words are mapped after Close", vectors, words)
			}
		})
	}
}

// mappedFiles is how many files with vectors and words of a database are mapped, -1 where that is not known.
func mappedFiles(t *testing.T, dir string) (vectors, words int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return -1, -1
	}
	raw, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, filepath.Join(dir, "derived", "words.snap")) {
			words++
		}
		for _, kind := range index.Kinds() {
			if strings.Contains(line, filepath.Join(dir, "derived", kind+".snap")) {
				vectors++
			}
		}
	}
	return vectors, words
}
