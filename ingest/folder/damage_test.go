package folder_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	_ "github.com/lexsem/lexsem/ingest/files/pdf"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestTextBeforeDamage: after a file was damaged, whether the database had it before or not, a search finds what stands before the
// damage. Of what was stored, nothing goes that the file does not say less of, other documents stay, and what failed is listed.
func TestTextBeforeDamage(t *testing.T) {
	const marks = 12
	rng := rand.New(rand.NewPCG(trial.Seed(t), 1))
	b := newBase(t)
	_, err := b.e.Add(t.Context(), []engine.Document{{ID: "mine", Text: "a note of the user"}})
	b.ok(err)
	at := past
	sync := func(name, content string) folder.Report {
		t.Helper()
		at = at.Add(time.Hour)
		b.writeAt(b.dir, name, content, at)
		r, err := b.sync(folder.Options{})
		b.ok(err)
		return r
	}
	found := func(n int) bool {
		t.Helper()
		r, err := b.e.Search(t.Context(), engine.Query{Text: filestest.Mark(n), Mode: engine.ModeLexical, K: 1, Exact: true})
		b.ok(err)
		return len(r.Hits) > 0
	}
	for _, kind := range filestest.MarkedKinds {
		name, good := filestest.Marked(t, kind, marks)
		for round := range trial.Rounds(t, 4, 200) {
			before := round%2 == 1
			b.ok(os.RemoveAll(b.dir))
			b.ok(os.Mkdir(b.dir, 0o755))
			sync("other.txt", "of the same folder")
			if before {
				sync(name, good)
				if !found(0) || !found(marks-1) || b.lacks() != "" {
					t.Fatalf("%s: a sound file is not found; lacks %s", kind, b.lacks())
				}
			}
			from := strings.Index(good, filestest.Mark(marks/2)) + len(filestest.Mark(0)) + rng.IntN(20)
			in := good[:from]
			if round%3 > 0 {
				noise := make([]byte, 1+rng.IntN(20))
				for i := range noise {
					noise[i] = byte(rng.IntN(256)) | 0x80
				}
				in += string(noise) + good[min(len(good), from+len(noise)):]
			}
			r := sync(name, in)
			say := fmt.Sprintf("%s of %d bytes, damaged at %d, stored before: %t", kind, len(good), from, before)
			listed := strings.Contains(b.lacks(), name)
			if listed != (len(r.Failed)+len(r.Warned) > 0) {
				t.Errorf("%s: failed %v, warned %v, and the database lacks %q", say, r.Failed, r.Warned, b.lacks())
			}
			for n := range marks {
				sure := n < marks/2 || before && len(r.Failed) > 0
				if sure && !found(n) {
					t.Errorf("%s: mark %d is not found; failed %v, warned %v", say, n, r.Failed, r.Warned)
				}
			}
			if ids := " " + b.ids(engine.Filter{}) + " "; !strings.Contains(ids, " mine ") || !strings.Contains(ids, " other.txt ") {
				t.Errorf("%s: %s is left", say, ids)
			}
		}
		b.remove(name)
	}
}

// TestWatchedDamage: a watch keeps what it has stored of a file that becomes unreadable, and of one that is damaged the text before
// the damage. It names the file, and the database lists it until it is mended.
func TestWatchedDamage(t *testing.T) {
	const marks = 12
	for _, poll := range []time.Duration{0, 50 * time.Millisecond} {
		rng := rand.New(rand.NewPCG(trial.Seed(t), 2))
		b := newBase(t)
		_, err := b.e.Add(t.Context(), []engine.Document{{ID: "mine", Text: "a note of the user"}})
		b.ok(err)
		good := filestest.MarkedFiles(t, marks)
		w := b.watch(folder.Options{Poll: poll})
		beside := t.TempDir()
		at, step := past, 0
		// put writes all files, waits until the watch has taken them over, and returns the paths that it has named.
		put := func(content func(string) string) map[string]bool {
			t.Helper()
			at, step = at.Add(time.Hour), step+1
			last := fmt.Sprintf("zz%d.txt", step)
			w.wanted.Store(&last)
			place := func(path, in string) { // as a whole, so that no half of it is read
				b.writeAt(beside, "new", in, at)
				b.ok(os.MkdirAll(filepath.Dir(filepath.Join(b.dir, path)), 0o755))
				b.ok(os.Rename(filepath.Join(beside, "new"), filepath.Join(b.dir, path)))
			}
			for path, in := range good {
				place(path, content(in))
			}
			place(last, "the last")
			named, deadline := map[string]bool{}, time.After(30*time.Second)
			for stored := false; !stored; {
				select {
				case got := <-w.told:
					b.ok(got.err)
					stored = got.has
					for _, x := range append(got.Failed, got.Warned...) {
						named[x.Path] = true
					}
				case <-deadline:
					t.Fatalf("%s is not stored; the database lacks %s", last, b.lacks())
				}
			}
			return named
		}
		found := func(path string, n int) bool {
			t.Helper()
			r, err := b.e.Search(t.Context(), engine.Query{Text: filestest.Mark(n), Mode: engine.ModeLexical, K: 1, Exact: true, Filter: filter.Eq("path", path)})
			b.ok(err)
			return len(r.Hits) > 0
		}
		mended := func(when string) {
			t.Helper()
			put(func(in string) string { return in })
			if lacks := b.lacks(); lacks != "" {
				t.Errorf("%s: the database lacks %s", when, lacks)
			}
			for path := range good {
				if !found(path, 0) || !found(path, marks-1) {
					t.Errorf("%s: not all of %s is found", when, path)
				}
			}
		}
		mended("new")
		for range trial.Rounds(t, 1, 40) {
			for how, damage := range map[string]func(string) string{
				"cut": func(in string) string {
					return in[:strings.Index(in, filestest.Mark(marks/2))+len(filestest.Mark(0))+rng.IntN(20)]
				},
				"emptied": func(string) string { return "" },
				"of another kind": func(string) string {
					return "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + strings.Repeat(string(rune(rng.IntN(32))), 9)
				},
				"noisy": func(in string) string {
					from := strings.Index(in, filestest.Mark(marks/2)) + len(filestest.Mark(0)) + rng.IntN(20)
					noise := make([]byte, 1+rng.IntN(20))
					for i := range noise {
						noise[i] = byte(rng.IntN(256)) | 0x80
					}
					return in[:from] + string(noise) + in[min(len(in), from+len(noise)):]
				},
			} {
				named := put(damage)
				lacks := ", " + b.lacks() + ", "
				for path := range good {
					listed, bad := strings.Contains(lacks, " "+path+":"), strings.Contains(lacks, "failed "+path+":") || strings.Contains(lacks, "stale "+path+":")
					whole := how == "emptied" || how == "of another kind"
					if listed != named[path] || whole && !bad {
						t.Errorf("%s %s (poll %v): named %t; the database lacks %s", path, how, poll, named[path], lacks)
					}
					for n := range marks {
						if (n < marks/2 || bad) && !found(path, n) {
							t.Errorf("%s %s (poll %v): mark %d is not found; the database lacks %s", path, how, poll, n, lacks)
						}
					}
				}
				mended("after files were " + how)
			}
		}
		if _, err := b.e.Get(t.Context(), "mine"); err != nil {
			t.Error(err)
		}
	}
}
