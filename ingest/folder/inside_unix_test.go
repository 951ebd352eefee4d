//go:build unix

package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	_ "github.com/lexsem/lexsem/ingest/files/parquet"
	_ "github.com/lexsem/lexsem/ingest/files/pdf"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// scene is a folder whose files are swapped while they are opened, and what lies outside of it.
type scene struct {
	*testing.T
	e             *engine.Engine
	root, outside string
}

const secret = "secret words of another user"

func newScene(t *testing.T, enc encoder.Encoder, names ...string) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{T: t, root: filepath.Join(dir, "root"), outside: filepath.Join(dir, "outside")}
	var err error
	if s.e, err = engine.Open(t.Context(), filepath.Join(dir, "db"), enc, engine.Options{NoSync: true, MemoryMiB: 32}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.e.Close() })
	for _, name := range names {
		s.write(filepath.Join(s.root, name), contentOf(t, name, "plain words"))
		s.write(filepath.Join(s.outside, name), contentOf(t, name, secret))
		s.write(filepath.Join(s.root, ".hidden", name), contentOf(t, name, secret))
	}
	return s
}

// contentOf is a file of the kind that its name tells, where that is a kind of text.
func contentOf(t *testing.T, name, text string) string {
	switch files.KindOf(name) {
	case "jsonl", "json":
		return `{"_id":"r","text":"` + text + `"}`
	case "csv":
		return "_id,text\nr," + text + "\n"
	case "tsv":
		return "_id\ttext\nr\t" + text + "\n"
	case "code":
		return "#!/bin/sh\n" + text
	case files.KindImage:
		return string(encoders.Images(t, 2)[len(text)%2].Data)
	}
	return text
}

func (s *scene) write(name, text string) {
	s.Helper()
	s.ok(os.MkdirAll(filepath.Dir(name), 0o755))
	s.ok(os.WriteFile(name, []byte(text), 0o644))
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	s.ok(os.Chtimes(name, at, at))
}

func (s *scene) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) sync() Report {
	s.Helper()
	f, err := Open(s.Context(), s.e, s.root, Options{})
	s.ok(err)
	r, err := f.Sync(s.Context())
	s.ok(err)
	return r
}

// swapped syncs while put takes the place of name, a path below the root, at the turn-th look at it. It says whether that
// came, and brings the name back.
func (s *scene) swapped(name string, turn int, put func(at string) error) (r Report, came bool) {
	s.Helper()
	at, away := filepath.Join(s.root, name), filepath.Join(filepath.Dir(s.root), "away")
	looked = func(dir *os.Root, base string) {
		if filepath.Join(dir.Name(), base) != at {
			return
		}
		if turn--; turn == 0 {
			came = true
			s.ok(os.Rename(at, away))
			s.ok(put(at))
		}
	}
	defer func() { looked = func(*os.Root, string) {} }()
	r = s.sync()
	if came {
		s.ok(os.RemoveAll(at))
		s.ok(os.Rename(away, at))
	}
	return r, came
}

// texts are those of all documents.
func (s *scene) texts() string {
	s.Helper()
	var out []string
	for d, err := range s.e.All(s.Context(), engine.Filter{}) {
		s.ok(err)
		out = append(out, d.ID+": "+d.Text+string(d.Data))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// oneOfEach is a name of each kind of file that texts are read from.
func oneOfEach() (names []string) {
	for kind, end := range map[string]string{"markdown": "md", "text": "txt", "jsonl": "jsonl", "code": "go", "html": "html", "json": "json", "parquet": "parquet", "pdf": "pdf",
		"npy": "npy", "fbin": "fbin", "fvecs": "fvecs", "chromem": "gob", files.KindImage: "bmp", "csv": "csv", "tsv": "tsv",
		"docx": "docx", "pptx": "pptx", "xlsx": "xlsx", "odt": "odt", "ods": "ods", "odp": "odp", "epub": "epub", "rtf": "rtf", "ipynb": "ipynb", "eml": "eml", "mbox": "mbox"} {
		if files.KindOf("a."+end) == kind {
			names = append(names, "a."+end)
		}
	}
	slices.Sort(names)
	return names
}

// TestSwaps: what takes the place of a file, or of a folder above it, while it is opened
// is not read, whatever it is and leads to; what was stored stays, and the file is named.
func TestSwaps(t *testing.T) {
	const name = "sub/deep/a.txt"
	s := newScene(t, encoder.NewHash(16), name)
	s.sync()
	was := s.texts()
	for how, put := range map[string]func(name, at string) error{
		"a link outside": func(name, at string) error { return os.Symlink(filepath.Join(s.outside, name), at) },
		"a relative link": func(name, at string) error {
			return os.Symlink(strings.Repeat("../", 1+strings.Count(name, "/"))+"outside/"+name, at)
		},
		"a link inside": func(name, at string) error { return os.Symlink(filepath.Join(s.root, ".hidden", name), at) },
		"a pipe":        func(_, at string) error { return syscall.Mkfifo(at, 0o600) },
	} {
		for _, swapped := range []string{"sub", "sub/deep", name} {
			for turn := 1; ; turn++ {
				at := time.Now().Add(time.Duration(-turn) * time.Hour)
				s.ok(os.Chtimes(filepath.Join(s.root, name), at, at)) // so that it is read again
				r, came := s.swapped(swapped, turn, func(at string) error { return put(swapped, at) })
				if !came {
					if turn == 1 {
						t.Errorf("%s instead of %s: nobody looked", how, swapped)
					}
					break
				}
				if got := s.texts(); got != was {
					t.Errorf("%s instead of %s at look %d: %q is stored, want %q", how, swapped, turn, got, was)
				}
				if len(r.Failed) != 1 || !errors.Is(r.Failed[0], regular.ErrIrregular) && !errors.Is(r.Failed[0], errNoDir) {
					t.Errorf("%s instead of %s at look %d: failed %v", how, swapped, turn, r.Failed)
				}
			}
		}
	}
}

// TestSwapsOfKinds: whatever kind of file a link takes the place of, no reader follows it.
func TestSwapsOfKinds(t *testing.T) {
	all := oneOfEach()
	if got, want := len(all), len(files.Kinds()); got != want {
		t.Fatalf("%d kinds are tried of %d", got, want)
	}
	for _, enc := range []encoder.Encoder{encoder.NewHash(16), encoders.NewPixels(24)} {
		s := newScene(t, enc, append(all, "script")...)
		n := 0
		looked = func(dir *os.Root, name string) {
			n++
			at := filepath.Join(dir.Name(), name)
			s.ok(os.Remove(at))
			s.ok(os.Symlink(filepath.Join(s.outside, name), at))
		}
		r := s.sync()
		looked = func(*os.Root, string) {}
		if got := s.texts(); got != "" || n == 0 || len(r.Failed) != n || r.Read != n {
			t.Errorf("%d of %d files were swapped, %d failed: %q is stored", n, r.Files, len(r.Failed), got)
		}
		for _, x := range r.Failed {
			if !errors.Is(x, regular.ErrIrregular) {
				t.Error(x)
			}
		}
	}
}

// TestSwapsOfIgnoreFiles: patterns of a file outside leave nothing out, and nothing is removed.
func TestSwapsOfIgnoreFiles(t *testing.T) {
	for _, ignore := range ignoreFiles {
		s := newScene(t, encoder.NewHash(16), "sub/a.txt")
		s.write(filepath.Join(s.root, "sub", ignore), "none\n")
		s.write(filepath.Join(s.outside, "sub", ignore), "*.txt\n")
		s.sync()
		was := s.texts()
		r, came := s.swapped("sub/"+ignore, 1, func(at string) error { return os.Symlink(filepath.Join(s.outside, "sub", ignore), at) })
		if !came || s.texts() != was || r.Removed > 0 || len(r.Failed) != 1 || r.Failed[0].Path != "sub" {
			t.Errorf("%s: looked %v, %+v, stored %q", ignore, came, r, s.texts())
		}
	}
}

// TestReplacedWhileOpened: a file that an editor replaces at that moment is read as it is then; one that is replaced again
// and again is named.
func TestReplacedWhileOpened(t *testing.T) {
	s := newScene(t, encoder.NewHash(16), "a.txt")
	r, came := s.swapped("a.txt", 1, func(at string) error { s.write(at, "new words"); return nil })
	if got := s.texts(); !came || len(r.Failed) > 0 || got != "a.txt: new words" {
		t.Errorf("%q, failed %v", got, r.Failed)
	}
	n := 0
	looked = func(_ *os.Root, name string) {
		if name == "a.txt" {
			n++
			s.write(filepath.Join(s.root, "b"), fmt.Sprint("words", n))
			s.ok(os.Rename(filepath.Join(s.root, "b"), filepath.Join(s.root, "a.txt")))
		}
	}
	defer func() { looked = func(*os.Root, string) {} }()
	s.write(filepath.Join(s.root, "a.txt"), "other words")
	if r := s.sync(); len(r.Failed) != 1 || !errors.Is(r.Failed[0], errMoving) {
		t.Errorf("failed %v", r.Failed)
	}
	if got := s.texts(); got != "a.txt: new words" {
		t.Errorf("%q", got)
	}
}

// TestLinks: links are left out, whatever they lead to, but for the root itself.
func TestLinks(t *testing.T) {
	s := newScene(t, encoder.NewHash(16), "sub/a.txt")
	for link, to := range map[string]string{"l1.txt": "sub/a.txt", "l2": "sub", "l3.txt": s.outside + "/sub/a.txt", "l4": s.outside} {
		s.ok(os.Symlink(to, filepath.Join(s.root, link)))
	}
	root := s.root
	s.root = filepath.Join(filepath.Dir(root), "link")
	s.ok(os.Symlink(root, s.root))
	if r := s.sync(); r.Skipped.Other != 4 || len(r.Failed) > 0 || s.texts() != "sub/a.txt: plain words" {
		t.Errorf("%+v, stored %q", r, s.texts())
	}
	s.root = filepath.Join(filepath.Dir(root), "pipe")
	s.ok(syscall.Mkfifo(s.root, 0o600))
	f, err := Open(t.Context(), s.e, s.root, Options{})
	s.ok(err)
	var p *fs.PathError
	if _, err := f.Sync(t.Context()); !errors.As(err, &p) || p.Path != s.root {
		t.Errorf("a root that is a pipe: %v", err)
	}
}
