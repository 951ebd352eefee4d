package folder_test

import (
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
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
