package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/lexsem/lexsem/ingest/files"
	_ "github.com/lexsem/lexsem/ingest/files/parquet"
	_ "github.com/lexsem/lexsem/ingest/files/pdf"
)

// example is a file of a kind. It has two documents, where files of the kind may have several.
type example struct{ name, content string }

func examples(t *testing.T) map[string]example {
	t.Helper()
	pdf, err := os.ReadFile("pdf/testdata/p_simple.pdf")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text"`
	}
	var table bytes.Buffer
	w := parquet.NewGenericWriter[row](&table)
	if _, err := w.Write([]row{{1, "a"}, {2, "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string]example{
		"markdown": {"a.md", "# A\n\ntext\n"}, "text": {"a.txt", "text"}, "code": {"a.go", "package a\n"}, "html": {"a.html", "<p>text</p>"},
		"json":  {"a.json", `[{"text":"a"},{"text":"b"}]`},
		"jsonl": {"a.jsonl", `{"_id":"a","text":"a"}` + "\n" + `{"_id":"b","text":"b"}`},
		"csv":   {"a.csv", "id,text\n1,a\n2,b\n"}, "tsv": {"a.tsv", "id\ttext\n1\ta\n2\tb\n"},
		"parquet": {"a.parquet", table.String()}, "pdf": {"a.pdf", string(pdf)}, files.KindImage: {"a.png", "\x89PNG"},
		"npy":     {"a.npy", vectorFile(t, "npy", []float32{1}, []float32{1})},
		"fbin":    {"a.fbin", vectorFile(t, "fbin", []float32{1}, []float32{1})},
		"fvecs":   {"a.fvecs", vectorFile(t, "fvecs", []float32{1}, []float32{1})},
		"chromem": {"a.gob", gobFile(t, chromemExport(), false)},
		"docx":    {"a.docx", made(t, "pandoc.docx")}, "pptx": {"a.pptx", made(t, "pandoc.pptx")}, "xlsx": {"a.xlsx", made(t, "office.xlsx")},
		"odt": {"a.odt", made(t, "pandoc.odt")}, "ods": {"a.ods", made(t, "office.ods")}, "odp": {"a.odp", made(t, "office.odp")},
		"epub": {"a.epub", made(t, "pandoc.epub")}, "rtf": {"a.rtf", made(t, "pandoc.rtf")}, "ipynb": {"a.ipynb", made(t, "pandoc.ipynb")},
		"eml": {"a.eml", made(t, "python.eml")}, "mbox": {"a.mbox", made(t, "python.mbox")},
	}
}

// TestEveryKind: what Read promises holds for each registered kind.
func TestEveryKind(t *testing.T) {
	all := examples(t)
	for _, kind := range files.Kinds() {
		x, known := all[kind]
		if !known {
			t.Errorf("kind %s has no example in this test", kind)
			continue
		}
		t.Run(kind, func(t *testing.T) {
			if got := files.KindOf(x.name); got != kind {
				t.Errorf("%s is of kind %q", x.name, got)
			}
			read := func(ctx context.Context) func(func(files.Record, error) bool) {
				return files.Read(ctx, strings.NewReader(x.content), int64(len(x.content)), x.name, files.Options{ID: "x"})
			}
			t.Run("the loop ends early", func(t *testing.T) {
				n := 0
				for rec, err := range read(t.Context()) {
					if n++; err != nil || rec.ID == "" {
						t.Errorf("%+v, %v", rec, err)
					}
					break
				}
				if n != 1 {
					t.Errorf("%d records", n)
				}
			})
			t.Run("the loop panics", func(t *testing.T) { // which is not taken for damage of the file
				got := func() (p any) {
					defer func() { p = recover() }()
					for range read(t.Context()) {
						panic("of the loop")
					}
					return nil
				}()
				if fmt.Sprint(got) != "of the loop" {
					t.Error(got)
				}
			})
			t.Run("the file is empty", func(t *testing.T) {
				for rec, err := range files.Read(t.Context(), strings.NewReader(""), 0, x.name, files.Options{ID: "x"}) {
					if !errors.Is(err, files.ErrNoText) {
						t.Errorf("%+v, %v", rec, err)
					}
				}
			})
			t.Run("the context has ended", func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				n := 0
				for rec, err := range read(ctx) {
					if n++; !errors.Is(err, context.Canceled) {
						t.Errorf("%+v, %v", rec, err)
					}
				}
				if n != 1 {
					t.Errorf("%d records", n)
				}
			})
		})
	}
}

// TestRegister: a name or an extension has one kind.
func TestRegister(t *testing.T) {
	for _, k := range []files.Kind{{Name: "text"}, {Name: "another", Extensions: []string{"md"}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was registered", k)
				}
			}()
			files.Register(k)
		}()
	}
}
