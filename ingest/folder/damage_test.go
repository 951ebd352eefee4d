package folder_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
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
