package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/repair"
)

// wordings are the databases whose tokens are terms: of vectors alone, and of an
// encoder without tokens.
var wordings = map[string]struct {
	enc  func() encoder.Encoder
	o    engine.Options
	docs func(lo, hi int) []engine.Document
}{
	"vectors alone": {
		func() encoder.Encoder { return nil },
		engine.Options{Dim: dim},
		func(lo, hi int) (d []engine.Document) {
			for i := lo; i < hi; i++ {
				d = append(d, worded(9, i))
			}
			return d
		},
	},
	"a function": {
		func() encoder.Encoder { return (&source{}).encoder("mine") },
		engine.Options{ChunkTokens: 32},
		func(lo, hi int) (d []engine.Document) {
			for i := lo; i < hi; i++ {
				w := worded(9, i)
				w.Vector = nil
				if i%20 == 0 {
					w.Text += strings.Repeat(" A sentence without much in it.", 30) + " The last one names " + w.Text + "."
				}
				d = append(d, w)
			}
			return d
		},
	},
}

// alike holds the answers of a database to those of another; numbers of terms differ,
// so that what is summed up in another order may differ in the last digits.
func alike(t *testing.T, what string, got, want *engine.Engine) {
	t.Helper()
	for _, e := range []*engine.Engine{got, want} {
		if err := e.Flush(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	moved := 0
	for i := range 10 {
		q := engine.Query{Vector: worded(77, i).Vector, Text: fmt.Sprintf("Topic%d and topic%d or only%d", i, i*5, i*3), K: 20, Variant: "rlr"}
		for _, q.Mode = range []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical} {
			w, g := search(t, want, q), search(t, got, q)
			if len(w.Hits) == 0 || len(g.Hits) != len(w.Hits) || g.Trace.Tokens != w.Trace.Tokens {
				t.Fatalf("%s, %q by %s: %d hits by %d tokens, want %d by %d", what, q.Text, q.Mode, len(g.Hits), g.Trace.Tokens, len(w.Hits), w.Trace.Tokens)
			}
			for j, h := range g.Hits {
				if x := w.Hits[j]; h.ID != x.ID || h.Chunk != x.Chunk || h.Text != x.Text || math.Abs(float64(h.Score-x.Score)) > 1e-4 {
					t.Fatalf("%s, %q by %s: hit %d is %s/%d at %v, want %s/%d at %v", what, q.Text, q.Mode, j, h.ID, h.Chunk, h.Score, x.ID, x.Chunk, x.Score)
				}
			}
			if q.Mode == engine.ModeDense && g.Trace.Turned < .999 {
				moved++
			}
		}
	}
	if moved < 7 {
		t.Fatalf("%s: only %d of 10 queries are turned, which shows less", what, moved)
	}
}

// sound verifies a database and adds to it, with terms that it does not have yet.
func sound(t *testing.T, what string, e *engine.Engine, more []engine.Document) engine.VerifyReport {
	t.Helper()
	add(t, e, more)
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := search(t, e, engine.Query{Text: more[0].Title, Mode: engine.ModeLexical}); len(r.Hits) == 0 || r.Hits[0].ID != more[0].ID {
		t.Errorf("%s: a new document is not found: %v", what, ids(r))
	}
	r, err := e.Verify(t.Context(), nil)
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("%s: %v, %v", what, r.Problems, err)
	}
	return r
}

// TestTermsInBackups: what is restored answers alike, at each part.
func TestTermsInBackups(t *testing.T) {
	t.Parallel()
	for name, k := range wordings {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "backup")
			e := openWith(t, t.TempDir(), k.enc(), k.o)
			defer closeIt(t, e)
			fresh := openWith(t, t.TempDir(), k.enc(), k.o)
			defer closeIt(t, fresh)
			for part, change := range []func(e *engine.Engine){
				func(e *engine.Engine) { add(t, e, k.docs(0, 150)) },
				func(e *engine.Engine) {
					if _, err := e.Delete(t.Context(), []string{"d3", "d60"}); err != nil {
						t.Fatal(err)
					}
				},
				func(e *engine.Engine) {
					if _, err := e.Upsert(t.Context(), k.docs(140, 230)); err != nil {
						t.Fatal(err)
					}
				},
			} {
				change(e)
				if r, err := e.Backup(t.Context(), file); err != nil || r.Part != part+1 {
					t.Fatalf("%+v, %v", r, err)
				}
				change(fresh)
				b, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				_, err = archive.Restore(t.Context(), dir, b, archive.RestoreOptions{})
				if err = errors.Join(err, b.Close()); err != nil {
					t.Fatal(err)
				}
				back := openWith(t, dir, k.enc(), engine.Options{ChunkTokens: k.o.ChunkTokens, Local: true})
				what := fmt.Sprint("part ", part+1)
				alike(t, what, back, fresh)
				if r := sound(t, what, back, k.docs(300, 310)); r.SumsRecounted == 0 || r.CellsRecounted == 0 {
					t.Errorf("%s: nothing is recounted: %+v", what, r)
				}
				closeIt(t, back)
			}
		})
	}
}

// TestTermsInExports: numbers of terms stay in the database; an import makes its own.
func TestTermsInExports(t *testing.T) {
	t.Parallel()
	for name, k := range wordings {
		t.Run(name, func(t *testing.T) {
			e := openWith(t, t.TempDir(), k.enc(), k.o)
			defer closeIt(t, e)
			add(t, e, k.docs(0, 150))
			var b bytes.Buffer
			if _, err := e.Export(t.Context(), &b, archive.ExportOptions{Vectors: true}); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if strings.Contains(text, `"tokens"`) {
				t.Error("tokens are exported")
			}
			numbered := strings.ReplaceAll(text, `"rows":[{`, `"rows":[{"tokens":[2,7],`) // as if they were
			if numbered == text {
				t.Fatal("no tokens were put in")
			}
			for what, text := range map[string]string{"as exported": text, "with numbers": numbered} {
				x, err := archive.NewExported(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				if err := x.Create(t.Context(), dir); err != nil {
					t.Fatal(err)
				}
				back := openWith(t, dir, nil, engine.Options{}) // without an encoder
				add(t, back, []engine.Document{worded(9, 290)}) // which takes the first numbers
				if r, err := back.Import(t.Context(), x); err != nil || r.Added != 150 {
					t.Fatalf("%s: %+v, %v", what, r, err)
				}
				if _, err := back.Delete(t.Context(), []string{"d290"}); err != nil {
					t.Fatal(err)
				}
				again, err := archive.NewExported(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				if r, err := back.Import(t.Context(), again); err != nil || r.Unchanged != 150 || r.Added+r.Replaced > 0 {
					t.Errorf("%s, again: %+v, %v", what, r, err)
				}
				closeIt(t, back)
				back = openWith(t, dir, k.enc(), engine.Options{ChunkTokens: k.o.ChunkTokens})
				alike(t, what, back, e)
				sound(t, what, back, k.docs(300, 310))
				closeIt(t, back)
			}

			b.Reset()
			if _, err := e.Export(t.Context(), &b, archive.ExportOptions{}); err != nil {
				t.Fatal(err)
			}
			x, err := archive.NewExported(&b)
			if err != nil {
				t.Fatal(err)
			}
			back := openWith(t, t.TempDir(), k.enc(), k.o)
			defer closeIt(t, back)
			r, err := back.Import(t.Context(), x)
			if k.enc() == nil {
				var line *archive.LineError
				if !errors.As(err, &line) || !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "export with vectors") {
					t.Errorf("texts alone: %v", err)
				}
				return
			}
			if err != nil || r.Added != 150 {
				t.Fatalf("texts alone: %+v, %v", r, err)
			}
			alike(t, "texts alone", back, e)
		})
	}
}

// No database is made for an export that tells of impossible vectors or tokens.
func TestCreateRefuses(t *testing.T) {
	for head, want := range map[string]string{
		`"encoder":{"dim":0}`:                       "encoder of 0 dimensions, where 1 to 65536 are possible",
		`"encoder":{"dim":-4}`:                      "encoder of -4 dimensions, where 1 to 65536 are possible",
		`"encoder":{"dim":1000000}`:                 "encoder of 1000000 dimensions, where 1 to 65536 are possible",
		`"encoder":{"dim":4,"vocab_size":-1}`:       "encoder of -1 tokens",
		`"encoder":{"dim":4},"language":"klingon"`:  "klingon",
		`"encoder":{"dim":4,"vocab_size":99999999}`: "encoder of 99999999 tokens",
	} {
		x, err := archive.NewExported(strings.NewReader(`{"_id":"a","text":"a","lexsem":{"export":{"version":1,"documents":1,"vectors":true,` + head + `}}}`))
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "db")
		if err := x.Create(t.Context(), dir); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", head, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was made: %v", head, err)
		}
	}
}

// TestTermsSalvaged: whatever is lost, what is saved is searched as in a database that
// was made of it.
func TestTermsSalvaged(t *testing.T) {
	t.Parallel()
	for name, k := range wordings {
		t.Run(name, func(t *testing.T) {
			whole := filepath.Join(t.TempDir(), "db")
			o := k.o
			o.MemoryMiB = 64
			e := openWith(t, whole, k.enc(), o)
			all := k.docs(0, 200)
			for i := range all {
				all[i].Metadata = map[string]any{"fill": strings.Repeat(fmt.Sprint(1000+i), 100)}
			}
			add(t, e, all[:100])
			add(t, e, all[100:])
			closeIt(t, e)
			flip := func(b []byte, at int) { b[at] ^= 1 }
			for what, spoil := range map[string]func(table string, last bool, b []byte){
				"the last table": func(_ string, last bool, b []byte) {
					if last {
						flip(b, len(b)/2)
						flip(b, len(b)-1)
					}
				},
				"the vocabulary": func(_ string, _ bool, b []byte) {
					if at := bytes.Index(b, []byte("\x06only61\x06only62")); at > 0 { // as nothing else has it
						flip(b, at+3)
					}
				},
				"the manifest": func(_ string, _ bool, b []byte) {
					copy(b, bytes.ReplaceAll(b, []byte(`"encoder":`), []byte(`"uncoder":`)))
				},
			} {
				dir := filepath.Join(t.TempDir(), "db")
				if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
					t.Fatal(err)
				}
				tables, err := filepath.Glob(filepath.Join(dir, "records", "*.sst"))
				if err != nil || len(tables) == 0 {
					t.Fatal(tables, err)
				}
				spoiled := 0
				for i, table := range tables {
					b, err := os.ReadFile(table)
					if err != nil {
						t.Fatal(err)
					}
					before := bytes.Clone(b)
					if spoil(table, i == len(tables)-1, b); !bytes.Equal(b, before) {
						spoiled++
					}
					if err := os.WriteFile(table, b, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if spoiled == 0 {
					t.Fatalf("%s: nothing was damaged", what)
				}
				to := dir + ".salvaged"
				ro := engine.Options{MemoryMiB: 64}
				var enc encoder.Encoder
				if what == "the manifest" {
					if _, err := repair.Run(t.Context(), dir, to, nil, ro); !errors.Is(err, engine.ErrNoEncoder) {
						t.Fatalf("%s: %v", what, err)
					}
					if enc = k.enc(); enc == nil {
						ro.Dim = dim - 1
						if _, err := repair.Run(t.Context(), dir, to, nil, ro); err == nil {
							t.Fatal("another dimension will do")
						}
						ro.Dim = dim
					}
				}
				rep, err := repair.Run(t.Context(), dir, to, enc, ro)
				if err != nil || !rep.Salvaged || rep.Saved < 170 || rep.Saved+rep.Lost != len(all) || len(rep.Problems) > 0 {
					t.Fatalf("%s: %+v, %v", what, rep, err)
				}
				back := openWith(t, to, k.enc(), engine.Options{MustExist: true, ChunkTokens: k.o.ChunkTokens})
				var saved []engine.Document
				for _, d := range all {
					if _, err := back.Get(t.Context(), d.ID); err == nil {
						saved = append(saved, d)
					}
				}
				if len(saved) != rep.Saved {
					t.Fatalf("%s: %d documents of %d are there", what, len(saved), rep.Saved)
				}
				fresh := openWith(t, t.TempDir(), k.enc(), k.o)
				add(t, fresh, saved)
				alike(t, what, back, fresh)
				sound(t, what, back, k.docs(300, 310))
				closeIt(t, back)
				closeIt(t, fresh)
			}
		})
	}
}
