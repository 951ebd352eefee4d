package folder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

// TestPlaces: a hit tells the page, the slide, the sheet with its row, or the headings that its span is under.
func TestPlaces(t *testing.T) {
	b := newBase(t)
	b.write(filestest.MarkedFiles(t, 12))
	for _, name := range []string{"pandoc.docx", "office.docx", "pandoc.odt", "pandoc.rtf", "pandoc.epub", "pandoc.org", "pandoc.rst", "pandoc.adoc", "pandoc.tex"} {
		in, err := os.ReadFile(filepath.Join("..", "files", "testdata", name))
		b.ok(err)
		b.write(map[string]string{"made/" + name: string(in)})
	}
	b.write(map[string]string{"page.html": "<title>Handbook</title><main><h1>Guide</h1><p>greet</p><h2>Install</h2><p>walk</p><h3>On <b>Linux</b></h3><pre># no heading\f</pre><p>kittiwake</p></main>"})
	b.clean()
	find := func(query string, k int) map[string]string {
		t.Helper()
		r, err := b.e.Search(t.Context(), engine.Query{Text: query, Mode: engine.ModeLexical, K: k, Exact: true, Spans: true})
		b.ok(err)
		out := map[string]string{}
		for _, h := range r.Hits {
			out[h.Metadata["_file"].(map[string]any)["path"].(string)] = h.Symbol
		}
		return out
	}
	for n := range 12 {
		got := find(filestest.Mark(n), 40)
		for kind, want := range map[string]string{
			"pdf": "page %d", "pptx": "slide %d", "odp": "slide %d", "xlsx": `sheet "S" row %d`, "ods": `sheet "T" row %d`,
		} {
			if want = fmt.Sprintf(want, n+1); got[kind+"/a."+kind] != want {
				t.Errorf("mark %d in %s: %q, want %q", n, kind, got[kind+"/a."+kind], want)
			}
		}
		for path, want := range map[string]string{
			"markdown/a.md": fmt.Sprint("Marks › Part ", n), "html/a.html": fmt.Sprint("Marks › Part ", n), "epub/a.epub": "Marks › Part", "docx/a.docx": "", "text/a.txt": "", "code/a.go": fmt.Sprint("f", n),
		} {
			if got[path] != want {
				t.Errorf("mark %d in %s: %q, want %q", n, path, got[path], want)
			}
		}
	}
	for path, symbol := range find("Akureyri", 40) {
		if want := "Harbour guide › Install › On Linux"; symbol != want && path != "made/pandoc.rtf" { // which names no title
			t.Errorf("%s: %q, want %q", path, symbol, want)
		}
	}
	if got := find("kittiwake", 1)["page.html"]; got != "Guide › Install › On Linux" {
		t.Errorf("a page of HTML: %q", got)
	}
}
