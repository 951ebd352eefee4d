package bench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestLanguage: stems and function words are those of the language, for BM25, for a database, for words that serve as
// tokens, and for keyword probes; and the report says so.
func TestLanguage(t *testing.T) {
	dir := writeCorpus(t, `{"_id":"a","text":"die alten Häuser stehen nicht unter den Bäumen am Fluss"}`+"\n"+`{"_id":"b","text":"das Schiff liegt nicht am Ufer und wartet auf den Kapitän"}`+"\n",
		`{"_id":"q","text":"das Haus"}`, "q\ta\t1\n")
	measure := func(language string) (*Report, error) {
		return Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Language: language, Systems: []string{"bm25", "bm25:okapi", "engine:lexical"}, Tasks: []string{"query", "keyword", "keyword-rake", "keyword-yake"}, Metrics: []string{"success@1"}})
	}
	for language, want := range map[string]float64{"de": 1, "": 0} { // Haus stems to that of Häuser in German alone
		r, err := measure(language)
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range r.Results {
			if res.Task == "query" && res.Metrics["success@1"] != want {
				t.Errorf("language %q: %s has %v, want %v", language, res.System, res.Metrics["success@1"], want)
			}
		}
		if said := strings.Contains(r.Asked(", "), "language de"); said != (language == "de") || r.Language != language {
			t.Errorf("language %q: the report says %q", language, r.Asked(", "))
		}
	}
	if _, err := measure("klingon"); !errors.Is(err, ErrOption) {
		t.Errorf("no language: %v", err)
	}
	c, err := ReadCorpus(dir, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"keyword", "keyword-rake", "keyword-yake"} {
		for language, want := range map[string]bool{"de": false, "": true} {
			found := false
			for seed := uint64(1); seed < 20; seed++ {
				k, err := MakeTask(task, TaskInput{Corpus: c, Targets: NewTargets(c.Passages), Seed: seed, Language: language})
				if err != nil {
					t.Fatal(err)
				}
				for _, q := range k.Queries {
					for _, w := range strings.Fields(q.Text) {
						found = found || strings.Contains(" die nicht unter den am das und auf ", " "+w+" ")
					}
				}
			}
			if found != want {
				t.Errorf("%s in language %q asks for a function word: %v", task, language, found)
			}
		}
	}
	enc, err := byTermsOf(encoder.NewHash(64), "de")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := enc.Tokenize(encoder.Query, "Haus"), enc.Tokenize(encoder.Query, "der Häuser"); len(a.IDs) != 1 || len(b.IDs) != 1 || a.IDs[0] != b.IDs[0] {
		t.Errorf("words as tokens: %v, %v", a.IDs, b.IDs)
	}
}
