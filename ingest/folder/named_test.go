package folder_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

// A file of any kind but records is found by its name and its folder; and by what it says of itself, not by addresses
// of pages, or the columns of records.
func TestFilesAreFoundByTheirNames(t *testing.T) {
	b := newBase(t)
	for path, in := range filestest.MarkedFiles(t, 3) {
		kind, name, _ := strings.Cut(path, "/")
		b.write(map[string]string{"Depot " + kind + "/zeppelin" + kind + strings.TrimPrefix(name, "a"): in})
	}
	b.write(map[string]string{
		"SKILL.md":           "---\ndescription: Fills tax declarations\naliases: [formfiller]\nnested: {short: wanderlust}\ndate: 2024-05-06T07:08:09Z\nmeeting: 2024-05-06 sundial\nlink: https://example.com/hourglass\nread: see https://example.com or the almanac\n---\n\n# Usage\n\nRun it.\n",
		"page.html":          "<title>Page</title><meta name=description content='about kittiwakes'><p>text</p>",
		"m.eml":              "From: Bob Ostrich <ostrich@farm.test>\nSubject: Hello\n\nbody\n",
		"Project Phoenix.md": "We meet on Tuesdays.\n",
		"log.2.39.0.md":      "# Log\n\nNothing.\n",
		"rows.csv":           "id,text,brand\n1,A drill.,Dromedary\n",
	})
	b.clean()
	found := func(query, mode string) (path string, h engine.Hit) {
		t.Helper()
		r, err := b.e.Search(t.Context(), engine.Query{Text: query, Mode: mode, K: 50})
		b.ok(err)
		for _, h := range r.Hits {
			if h.Presence > 0 {
				return h.Metadata["_file"].(map[string]any)["path"].(string), h
			}
		}
		return "", engine.Hit{}
	}
	for _, mode := range []string{engine.ModeLexical, engine.ModeHybrid} {
		for _, kind := range filestest.MarkedKinds {
			path, _ := found("zeppelin"+kind, mode)
			records := kind == "jsonl" || kind == "json" || kind == "csv" || kind == "tsv"
			if strings.HasPrefix(path, "Depot "+kind+"/") == records {
				t.Errorf("%s: the name of a file of kind %s finds %q", mode, kind, path)
			}
		}
		for query, want := range map[string]string{
			"tax declarations": "SKILL.md", "formfiller": "SKILL.md", "wanderlust": "SKILL.md", "sundial": "SKILL.md", "almanac": "SKILL.md", "hourglass": "", "kittiwakes": "page.html",
			"Bob Ostrich": "m.eml", "ostrich@farm.test": "m.eml", "Dromedary": "", "phoenix": "Project Phoenix.md", `"project phoenix"`: "Project Phoenix.md", "projct phoenix": "Project Phoenix.md", "title:phoenix": "Project Phoenix.md", "title:usage": "SKILL.md", "title:formfiller": "",
		} {
			if path, _ := found(query, mode); path != want {
				t.Errorf("%s: %s finds %q, want %q", mode, query, path, want)
			}
		}
		if path, _ := found("log.2.39.0.md", mode); path != "log.2.39.0.md" {
			t.Errorf("%s: a file's name finds %q", mode, path)
		}
		if _, h := found("project phoenix", mode); h.TitleMatch < 1 {
			t.Errorf("%s: the name of a file without a title is not its title: %v", mode, h.TitleMatch)
		}
	}
}

// A query that is nothing but the name or the path of a file finds the file before texts that mention it, and the part with a
// line if it has one.
func TestAskedFiles(t *testing.T) {
	b := newCutting(t)
	lines := "---\nkeys:\n" + strings.Repeat("- value\n", 60) + "---\n\n# Setup\n\n"
	for i := range 300 {
		lines += fmt.Sprintf("Step %d of setup.md comes before the next one.\n\n", i+1)
	}
	page := "<title>Page</title>\n<p>The beginning.\n" + strings.Repeat("<p>One sentence.\n", 200)
	mention := "See docs/setup.md, setup.md, README.md, src/parse.go, parse.go and notes/Project Phoenix.md."
	b.write(map[string]string{
		"docs/setup.md": lines, "docs/old/deep/setup.md": "# Old\n\nGone.\n", "README.md": "# Start\n\nHello.\n", "docs/README.md": "# Documents\n\nHello.\n",
		"notes/Project Phoenix.md": "We meet on Tuesdays.\n", "src/parse.go": "package src\n\n// parse reads.\nfunc parse() {}\n",
		"long.html": page, "a.txt": mention, "b.txt": mention + " " + mention, "c.md": "# setup.md README.md parse.go\n\n" + mention, "mysetup.md": mention,
	})
	b.clean()
	find := func(q engine.Query) (paths []string, first engine.Hit) {
		t.Helper()
		q.K = 5
		r, err := b.e.Search(t.Context(), q)
		b.ok(err)
		for _, h := range r.Hits {
			paths = append(paths, h.Metadata["_file"].(map[string]any)["path"].(string))
		}
		return paths, r.Hits[0]
	}
	root := filepath.ToSlash(b.dir)
	for _, mode := range []string{engine.ModeLexical, engine.ModeHybrid} {
		for query, want := range map[string]string{
			"docs/setup.md": "docs/setup.md", "./docs/setup.md": "docs/setup.md", `docs\setup.md`: "docs/setup.md", "DOCS/Setup.MD": "docs/setup.md", `"setup.md"`: "docs/setup.md", `"docs/old/deep/setup.md"`: "docs/old/deep/setup.md",
			root + "/docs/setup.md": "docs/setup.md", "deep/setup.md": "docs/old/deep/setup.md", "setup.md": "docs/setup.md docs/old/deep/setup.md",
			"README.md": "README.md docs/README.md", "docs/README.md": "docs/README.md", "Project Phoenix.md": "notes/Project Phoenix.md",
			"src/parse.go": "src/parse.go", "parse.go:4": "src/parse.go", "long.html:9:3": "long.html",
		} {
			got, _ := find(engine.Query{Text: query, Mode: mode})
			if got := strings.Join(got[:min(len(got), strings.Count(want, ".md ")+1)], " "); got != want {
				t.Errorf("%s: %s finds %q first, want %q", mode, query, got, want)
			}
		}
		for query, want := range map[string]string{ // what stands on that line, or first
			"setup.md:403": strings.Split(lines, "\n")[402], "docs/setup.md:403:12": strings.Split(lines, "\n")[402],
			"setup.md:20": "Step 1 of", "setup.md:99999": "Step 1 of", "long.html:150": "The beginning.",
		} {
			if _, h := find(engine.Query{Text: query, Mode: mode}); want == "" || !strings.Contains(h.Text, want) {
				t.Errorf("%s: %s finds %.60q, want %q", mode, query, h.Text, want)
			}
		}
		if got, _ := find(engine.Query{Text: "setup.md", Mode: mode, Filter: filter.Prefix("_file.path", "docs/old")}); got[0] != "docs/old/deep/setup.md" || len(got) > 1 {
			t.Errorf("%s: with a filter setup.md finds %q", mode, got)
		}
	}
	b.remove("docs/setup.md")
	b.clean()
	if got, _ := find(engine.Query{Text: "docs/setup.md"}); slices.Contains(got, "docs/setup.md") {
		t.Errorf("a removed file is found: %q", got)
	}
}

// newCutting is newBase with an encoder that cuts texts into chunks.
func newCutting(t *testing.T) *base {
	b := newBase(t)
	b.ok(b.e.Close())
	var err error
	b.e, err = engine.Open(t.Context(), t.TempDir(), encoder.NewHash(64), engine.Options{NoSync: true})
	b.ok(err)
	return b
}

// The name of a file without a title is the title of all its chunks: words of the name and of its middle find the middle.
func TestNamesInAllChunks(t *testing.T) {
	b := newCutting(t)
	text := ""
	for i := range 300 {
		text += fmt.Sprintf("Step number%d comes before the next one.\n\n", i)
	}
	b.write(map[string]string{"a.txt": text, "Project Phoenix.txt": text, "z.txt": text, "Titled Griffin.md": "# Handbook\n\n" + text})
	b.clean()
	for _, mode := range []string{engine.ModeLexical, engine.ModeHybrid} {
		for _, perChunk := range []bool{false, true} {
			find := func(query string) engine.Hit {
				t.Helper()
				r, err := b.e.Search(t.Context(), engine.Query{Text: query, Mode: mode, PerChunk: perChunk})
				b.ok(err)
				return r.Hits[0]
			}
			h := find("phoenix number250")
			if h.ID != "Project Phoenix.txt" || !strings.Contains(h.Text, "number250") || h.TitleMatch == 0 || h.Probability < 0.3 {
				t.Errorf("%s: phoenix number250 finds %s, %.60q, probability %v, title %v", mode, h.ID, h.Text, h.Probability, h.TitleMatch)
			}
			if h := find("griffin"); h.ID != "Titled Griffin.md" || h.Chunk > 0 {
				t.Errorf("%s: griffin finds chunk %d of %s", mode, h.Chunk, h.ID)
			}
		}
	}
}
