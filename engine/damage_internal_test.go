package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/modulate"
)

// lateDamage is a database of large enough parts that a flipped bit can lie where
// opening does not look, as files.
type lateDamage struct {
	dir   string
	files map[string][]byte // of derived state, by name
	all   map[string][]byte // by path below dir
	want  [][]score
	qs    []Query
	first int // of qs
}

var lateOptions = Options{ChunkTokens: 60, Local: true, NoSync: true, TokenStates: TokenStatesOn}

func newLateDamage(t *testing.T) *lateDamage {
	t.Helper()
	if made := madeLate; made != nil { // by a test before, whose folder is gone
		l := *made
		l.dir, l.first = t.TempDir(), 0
		for name, raw := range l.all {
			path := filepath.Join(l.dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, raw, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return &l
	}
	l := &lateDamage{dir: t.TempDir(), files: map[string][]byte{}, qs: append(slices.Clone(probing[:8]), Query{Text: "unit w3", Filter: filter.Prefix("note", "1")})}
	e := opened(t, l.dir, lateOptions, autoHNSW)
	docs := madeDocs(rand.New(rand.NewPCG(5, 6)), 0, 900)
	for i := range docs { // metadata of more than a few blocks
		docs[i].Metadata["note"] = fmt.Sprint(i, docs[i].Text[:min(300, len(docs[i].Text))], strings.Repeat(docs[i].ID, 30))
	}
	put(t, e, docs...)
	flushed(t, e)
	l.want = answers(t, e, l.qs)
	closed(t, e)
	files, err := filepath.Glob(filepath.Join(l.dir, "derived", "*.snap"))
	if err != nil || len(files) != 7 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if l.files[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	l.all = map[string][]byte{}
	err = fs.WalkDir(os.DirFS(l.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			l.all[name], err = os.ReadFile(filepath.Join(l.dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	madeLate = l
	return l
}

// madeLate is what newLateDamage has made.
var madeLate *lateDamage

// restore puts all files back.
func (l *lateDamage) restore(t *testing.T) {
	t.Helper()
	for name, raw := range l.files {
		if err := os.WriteFile(l.path(name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *lateDamage) path(name string) string { return filepath.Join(l.dir, "derived", name) }

// flips are the bytes of a file that are damaged together, for each trial: one place
// after the small tables that opening reads, then all blocks from there on, since
// searches read few of them; with LEXSEM_LONG one block in each 8 KiB alone, too. What
// stands after the data is left as it is: opening reads that.
func flips(raw []byte) (all [][]int) {
	const block = 1 << 10 // that has one checksum
	end := snapshottest.DataEnd(raw)
	all = [][]int{{end * 7 / 10}, nil}
	for at := end * 7 / 10; at < end; at += block {
		all[1] = append(all[1], at)
	}
	for at := block / 2; at < end && trial.Long(); at += 8 * block {
		all = append(all, []int{at})
	}
	return all
}

// flipped returns raw with a flipped bit in each of the bytes at.
func flipped(raw []byte, at []int) []byte {
	raw = slices.Clone(raw)
	for _, i := range at {
		raw[i] ^= 0x10
	}
	return raw
}

// use does everything that reads derived state, and fails the test at an error that
// is not ErrCorrupt. It returns how many calls met damage.
func (l *lateDamage) use(t *testing.T, e *Engine, what string) (met int) {
	t.Helper()
	see := func(call string, err error) {
		if err == nil {
			return
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s: %s: %v, want ErrCorrupt", what, call, err)
		}
		met++
	}
	for i := range l.qs { // not always the same one first
		n := (i + l.first) % len(l.qs)
		q := l.qs[n]
		if n != 3 { // one reads the token states of all; the legs look everywhere for the others, too
			q.K = 50
		}
		_, err := e.Search(t.Context(), q)
		see("search", err)
		if err != nil {
			flushed(t, e)
			_, err := e.Search(t.Context(), q)
			if err != nil {
				t.Fatalf("%s: %+v behind the repair: %v", what, q, err)
			}
		}
	}
	l.first += 3
	return met
}

// TestLateDamage: damage in a snapshot that opening does not read is an ErrCorrupt
// of the search that meets it. The part is made anew, and all answers are right
// again, then and after reopening.
func TestLateDamage(t *testing.T) {
	t.Parallel()
	l := newLateDamage(t)
	late := map[string]int{}
	for name, raw := range l.files {
		for _, at := range flips(raw) {
			what := fmt.Sprintf("%s, bytes %d of %d", name, at, len(raw))
			l.restore(t)
			if err := os.WriteFile(l.path(name), flipped(raw, at), 0o644); err != nil {
				t.Fatal(err)
			}
			e := opened(t, l.dir, lateOptions, autoHNSW)
			met := l.use(t, e, what)
			late[name] += met
			flushed(t, e)
			sameAnswers(t, what, answers(t, e, l.qs), l.want, l.qs)
			closed(t, e)
			e = opened(t, l.dir, lateOptions, autoHNSW)
			sameAnswers(t, what+", reopened", answers(t, e, l.qs), l.want, l.qs)
			if met > 0 { // else the damage may be where no search reads, for Verify to find
				whole(t, e, what+", reopened")
			}
			closed(t, e)
		}
	}
	// Those of live ordinals and, in so small a corpus, of columns are read at open.
	for _, name := range []string{"flat-int8.snap", "words.snap", "sums.snap", "local.snap"} {
		if late[name] == 0 {
			t.Errorf("no search has met damage in %s", name)
		}
	}
}

// TestVerifyFindsLateDamage: damage that no search has met yet is found by Verify.
func TestVerifyFindsLateDamage(t *testing.T) {
	t.Parallel()
	l := newLateDamage(t)
	for name, raw := range l.files {
		found := 0
		for _, at := range flips(raw) {
			l.restore(t)
			if err := os.WriteFile(l.path(name), flipped(raw, at), 0o644); err != nil {
				t.Fatal(err)
			}
			o := lateOptions
			o.ReadOnly = true
			e := opened(t, l.dir, o, autoHNSW)
			v, err := e.Verify(t.Context(), nil)
			if err != nil {
				t.Fatalf("%s, bytes %d: %v", name, at, err)
			}
			for _, p := range v.Problems {
				if strings.Contains(p, strings.TrimSuffix(name, ".snap")) {
					found++
					break
				}
			}
			closed(t, e)
		}
		if found == 0 && name != "live.snap" && name != "columns.snap" && name != "tokens.snap" { // these are read at open
			t.Errorf("no damage in %s was found", name)
		}
	}
}

// TestTruncatedWhileOpen: a file that somebody shortens under an open database is
// damage like any other: no fault ends the process, whoever meets it.
func TestTruncatedWhileOpen(t *testing.T) {
	t.Parallel()
	l := newLateDamage(t)
	r := rand.New(rand.NewPCG(7, 8))
	calls := map[string]func(e *Engine) error{
		"search":  func(e *Engine) error { l.use(t, e, "truncated"); return nil },
		"upsert":  func(e *Engine) error { _, err := e.Upsert(t.Context(), madeDocs(r, 0, 50)); return err },
		"delete":  func(e *Engine) error { _, err := e.Delete(t.Context(), []string{"d8", "d7"}); return err },
		"where":   func(e *Engine) error { _, err := e.DeleteWhere(t.Context(), filter.Eq("n", 77)); return err },
		"explain": func(e *Engine) error { _, err := e.Explain(t.Context(), l.qs[3], "d14"); return err },
		"vector":  func(e *Engine) error { _, _, err := e.Vector(t.Context(), Query{Text: l.qs[0].Text}); return err },
		"get, stats": func(e *Engine) error {
			_, err := e.Get(t.Context(), "d14")
			_, err2 := e.Stats(t.Context())
			return errors.Join(err, err2)
		},
		"verify": func(e *Engine) error { _, err := e.Verify(t.Context(), nil); return err },
		"flush":  func(e *Engine) error { return e.Flush(t.Context()) },
		"close":  func(e *Engine) error { return nil },
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(l.files)), func(name string) bool { return name == "live.snap" }) // read at open
	kinds := slices.Sorted(maps.Keys(calls))
	for i, name := range names {
		for j, what := range kinds {
			// The short form meets each file and each call, the long one each pair.
			if !trial.Long() && (i+j)%len(names) != 0 {
				continue
			}
			call := calls[what]
			what = name + ", " + what
			dir := copied(t, l)
			e := opened(t, dir, lateOptions, autoHNSW)
			if err := os.Truncate(filepath.Join(dir, "derived", name), 4096); err != nil {
				t.Fatal(err)
			}
			for range 4 { // a part after the other is found damaged and made anew
				if err := call(e); err == nil {
					break
				} else if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: %v", what, err)
				}
				flushed(t, e)
			}
			if err := e.Close(); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: close: %v", what, err)
			}
			e = opened(t, dir, lateOptions, autoHNSW)
			whole(t, e, what+", reopened")
			closed(t, e)
		}
	}
}

// copied is a copy of the database's folder.
func copied(t *testing.T, l *lateDamage) string {
	t.Helper()
	dir := t.TempDir()
	l.restore(t)
	if err := os.CopyFS(dir, os.DirFS(l.dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRepairBesideLocalBridges: whichever part is made anew, local bridges that are
// sound go on following the commits.
func TestRepairBesideLocalBridges(t *testing.T) {
	t.Parallel()
	o := lateOptions
	o.TokenStates = TokenStatesOff // whose bases a fresh database has otherwise
	e := opened(t, t.TempDir(), o, autoHNSW)
	defer closed(t, e)
	r := rand.New(rand.NewPCG(9, 10))
	docs := map[string]Document{}
	change := func(lo, hi int) {
		for _, d := range madeDocs(r, lo, hi) {
			docs[d.ID] = d
			put(t, e, d)
		}
		delete(docs, fmt.Sprint("d", lo))
		removed(t, e, fmt.Sprint("d", lo))
	}
	change(0, 300)
	flushed(t, e)
	for i, damage := range []error{inverted.ErrCorrupt, columns.ErrCorrupt, index.ErrCorrupt, modulate.ErrCorrupt, snapshot.ErrDamaged} {
		ref := e.db.Acquire() // searches that go on meanwhile
		before := foundIn(t, e, ref.Value, probing[1])
		err := fmt.Errorf("planted: %w", damage)
		if e.db.Repair(&err); !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		flushed(t, e)
		if s, err := e.Stats(t.Context()); err != nil || s.Maintenance.Unindexed != 0 {
			t.Fatalf("behind %v: %+v, %v", damage, s.Maintenance, err)
		}
		change(300+20*i, 330+20*i)
		flushed(t, e)
		if after := foundIn(t, e, ref.Value, probing[1]); !reflect.DeepEqual(after, before) {
			t.Fatalf("behind %v the state that is held answers otherwise", damage)
		}
		ref.Release()
		change(0, 10)
		flushed(t, e)
		localFollows(t, e, damage.Error(), 2)
		likeFresh(t, damage.Error(), e, o, docs)
	}
}
