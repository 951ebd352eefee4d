package bench

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/bench/random"
	"github.com/lexsem/lexsem/internal/text"
)

var tinyPassages = []Passage{
	{"d3", "", "The river Rhine flows north through Cologne and Rotterdam into the North Sea near Holland."},
	{"d1", "Photosynthesis", "Plants turn sunlight, water and carbon dioxide into sugar; oxygen leaves the leaf through stomata."},
	{"d2", "", "Too short."},
	{"d4", "", "The river Rhine flows north through Cologne and Rotterdam into the North Sea near Holland."},
	{"d5", "", "A hash table stores pairs of keys and values in buckets chosen by a hash function of the key."},
}

func tinyInput(seed uint64) TaskInput {
	c := &Corpus{Name: "tiny", Passages: tinyPassages,
		Queries: []Query{{"q2", "river"}, {"q1", "plants"}, {"q3", "nothing fits"}},
		Qrels:   Qrels{"q1": {"d1": 1}, "q2": {"d3": 2, "d4": 1}, "q3": {"d5": 0}}}
	return TaskInput{Corpus: c, Targets: NewTargets(c.Passages), Seed: seed}
}

func TestEqualTextsAreOneTarget(t *testing.T) {
	tg := NewTargets(tinyPassages)
	want := [][]string{{"d1"}, {"d2"}, {"d3", "d4"}, {"d5"}}
	if !reflect.DeepEqual(tg.Members, want) || tg.Len() != 4 || !strings.HasPrefix(tg.Texts[0], "Photosynthesis Plants") {
		t.Errorf("targets are %v with %q", tg.Members, tg.Texts)
	}
}

func TestQueryTask(t *testing.T) {
	task, err := MakeTask("query", tinyInput(1))
	if err != nil {
		t.Fatal(err)
	}
	if len(task.Queries) != 2 || task.Queries[0].ID != "q1" || task.LeftOut != 1 || !task.Judged ||
		!reflect.DeepEqual(task.Qrels, Qrels{"q1": {"d1": 1}, "q2": {"d3": 2, "d4": 1}}) {
		t.Errorf("task is %+v", task)
	}
}

func TestPartTask(t *testing.T) {
	in := tinyInput(1)
	task, err := MakeTask("part:8", in)
	if err != nil {
		t.Fatal(err)
	}
	if len(task.Queries) != 3 || task.LeftOut != 1 {
		t.Errorf("%d queries, %d left out, want 3 and 1", len(task.Queries), task.LeftOut)
	}
	for _, q := range task.Queries {
		i := slices.IndexFunc(in.Targets.Members, func(m []string) bool { return m[0] == q.ID })
		if n := len(strings.Fields(q.Text)); n != 8 || !strings.Contains(in.Targets.Texts[i], q.Text) {
			t.Errorf("%s: %q has %d words or is no part of the passage", q.ID, q.Text, n)
		}
		if want := map[string]int{q.ID: 1}; !reflect.DeepEqual(task.Qrels[q.ID], want) {
			t.Errorf("%s is judged %v", q.ID, task.Qrels[q.ID])
		}
	}
	// Every start of a span must be possible, the first and the last one, too.
	starts := map[string]bool{}
	for seed := range uint64(200) {
		task, _ := MakeTask("part:2", TaskInput{Corpus: in.Corpus, Targets: &Targets{Texts: []string{"a b  c\td"}, Members: [][]string{{"x"}}}, Seed: seed})
		starts[task.Queries[0].Text] = true
	}
	if len(starts) != 3 || !starts["a b"] || !starts["b  c"] || !starts["c\td"] {
		t.Errorf("spans seen: %v", starts)
	}
}

func TestKeywordTasks(t *testing.T) {
	for _, name := range []string{"keyword", "keyword-rake", "keyword-yake"} {
		in := tinyInput(3)
		task, err := MakeTask(name, in)
		if err != nil {
			t.Fatal(err)
		}
		if len(task.Queries) != 3 || task.LeftOut != 1 {
			t.Errorf("%s: %d queries, %d left out, want 3 and 1", name, len(task.Queries), task.LeftOut)
		}
		for _, q := range task.Queries {
			i := slices.IndexFunc(in.Targets.Members, func(m []string) bool { return m[0] == q.ID })
			words := strings.Fields(q.Text)
			content := contentWords(newSegments(in.Targets.Texts), text.Stop, in.Targets.Texts[i])
			if len(words) < 3 || len(words) > 8 {
				t.Errorf("%s: %q has %d words", name, q.Text, len(words))
			}
			for j, w := range words {
				if !slices.Contains(content, w) || text.Stop(w) || slices.Index(words, w) != j {
					t.Errorf("%s: %q of %q is repeated or no content word of the passage", name, w, q.Text)
				}
			}
		}
	}
}

func TestRakeByHand(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// carbon and dioxide: degree 5, frequency 2; emissions: 3; climate: 1.
		// The second "carbon dioxide" repeats words.
		{"Carbon dioxide emissions and the climate, or carbon dioxide.", "carbon dioxide emissions climate"},
		// The phrase of three comes before that of two; then five are together.
		{"Old towns; grey harbour walls; ships.", "grey harbour walls old towns"},
		// Punctuation ends a phrase, and so does a fourth word.
		{"red-hot iron, cold steel", "red-hot iron cold steel"},
		{"one1 two2 three3 four4 five5", "one1 two2 three3 four4 five5"},
		{"two words", ""},
		{"of the and", ""},
	} {
		if got := rakeQuery(text.Stop, c.text); got != c.want {
			t.Errorf("rake of %q gives %q, want %q", c.text, got, c.want)
		}
	}
}

func TestYakeByHand(t *testing.T) {
	// A word that is repeated, capitalised and early stands before one that is
	// not; a phrase that comes twice before its own words with others.
	ranked := yakePhrases(text.Stop, "The Fresnel lens bends light. A Fresnel lens weighs little. Elsewhere grain was sold by weight.")
	at := func(words ...string) int {
		return slices.IndexFunc(ranked, func(p []string) bool { return slices.Equal(p, words) })
	}
	for _, c := range [][2]int{
		{at("fresnel"), at("grain")}, {at("lens"), at("weight")}, {at("fresnel", "lens"), at("fresnel")}, {at("fresnel", "lens"), at("elsewhere", "grain")},
	} {
		if c[0] < 0 || c[1] < 0 || c[0] >= c[1] {
			t.Errorf("places %v in %v", c, ranked)
		}
	}
	for _, short := range []string{"two words", "of the and", ""} {
		if got := joinPhrases(yakePhrases(text.Stop, short)); got != "" {
			t.Errorf("%q gives %q", short, got)
		}
	}
}

func TestOtherQueries(t *testing.T) {
	dir := writeCorpus(t, okCorpus, okQueries, okQrels)
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "queries-short.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("{\"_id\":\"q1\",\"text\":\"alpha\"}\n{\"_id\":\"unjudged\",\"text\":\"x\"}\n")
	c, err := ReadCorpus(dir, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := TaskInput{Corpus: c, Targets: NewTargets(c.Passages)}
	task, err := MakeTask("queries:short", in)
	if err != nil || len(task.Queries) != 1 || task.Queries[0].Text != "alpha" || task.LeftOut != 1 || !task.Judged {
		t.Errorf("%+v, %v", task, err)
	}
	write("{\"_id\":\"q1\"}\n")
	var line *LineError
	if _, err := MakeTask("queries:short", in); !errors.As(err, &line) || line.Line != 1 {
		t.Errorf("a broken line: %v", err)
	}
	for _, bad := range []string{"queries", "queries:", "queries:../x", "queries:none", "unanswered", "unanswered:", "unanswered:none"} {
		if _, err := MakeTask(bad, in); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestDrawFollowsTheWeights(t *testing.T) {
	words := []string{"rare", "common"}
	weight := func(w string) float64 { return map[string]float64{"rare": 3, "common": 1}[w] }
	first, rng := 0, random.New(1, "draw")
	const n = 20_000
	for range n {
		if drawWeighted(rng, words, 1, weight)[0] == "rare" {
			first++
		}
	}
	if share := float64(first) / n; math.Abs(share-.75) > .015 {
		t.Errorf("weight 3 of 4 was drawn in %.3f of the cases, want .75", share)
	}
}

// TestUnanswered: the judged queries come with as many of another folder, which nothing is relevant to.
func TestUnanswered(t *testing.T) {
	in, folder := tinyInput(1), t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "queries.jsonl"), []byte(`{"_id":"a","text":"one"}`+"\n"+`{"_id":"b","text":"two"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	query, err := MakeTask("query", in)
	if err != nil {
		t.Fatal(err)
	}
	task, err := MakeTask("unanswered:"+folder, in)
	if err != nil {
		t.Fatal(err)
	}
	others := min(2, len(query.Queries))
	if len(task.Queries) != len(query.Queries)+others || len(task.Qrels) != len(task.Queries) {
		t.Fatalf("%d queries, %d judged, of %d and %d", len(task.Queries), len(task.Qrels), len(query.Queries), others)
	}
	for _, q := range task.Queries {
		if other := strings.HasPrefix(q.ID, "unanswered:"); task.Qrels.HasPositive(q.ID) == other {
			t.Errorf("%s has a positive: %t", q.ID, !other)
		}
	}
}

func TestTasksDependOnTheSeedAlone(t *testing.T) {
	for _, name := range []string{"query", "keyword", "keyword-rake", "keyword-yake", "part:5", "verbose:query", "verbose:part:5", "typo:1", "verbose:typo:2", "operator"} {
		a, err := MakeTask(name, tinyInput(1))
		if err != nil {
			t.Fatal(err)
		}
		shuffled := tinyInput(1)
		shuffled.Corpus.Passages = slices.Clone(tinyPassages)
		slices.Reverse(shuffled.Corpus.Passages)
		shuffled.Targets = NewTargets(shuffled.Corpus.Passages)
		b, _ := MakeTask(name, shuffled)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the order of the corpus changes the task", name)
		}
		// With a limit a subset of the same queries is asked.
		in := tinyInput(1)
		in.Limit = 1
		c, _ := MakeTask(name, in)
		if len(c.Queries) != 1 || !slices.Contains(a.Queries, c.Queries[0]) || len(c.Qrels) != 1 || c.LeftOut != a.LeftOut {
			t.Errorf("%s: limited to one it is %+v", name, c)
		}
	}
	changed := false
	a, _ := MakeTask("keyword", tinyInput(1))
	for seed := range uint64(5) {
		b, _ := MakeTask("keyword", tinyInput(seed+2))
		changed = changed || !reflect.DeepEqual(a, b)
	}
	if !changed {
		t.Error("keyword: the seed changes nothing")
	}
}

// An operator query has a phrase and another content word of its passage; passages without are left out.
func TestOperatorTask(t *testing.T) {
	in := TaskInput{Corpus: &Corpus{Name: "some"}, Seed: 1, Targets: &Targets{
		Texts:   []string{"Rotate the signing keys, with keyctl.", "walnut, the harbour", "signing keys", "Ein Satz. Noch ein Satz mit roten Ampeln"},
		Members: [][]string{{"a"}, {"b"}, {"c"}, {"d"}},
	}}
	form := regexp.MustCompile(`^"(\S+ \S+)" \+(\S+)$`)
	seen := map[string]bool{}
	for in.Seed = 1; in.Seed < 60; in.Seed++ {
		task, err := MakeTask("operator", in)
		if err != nil || len(task.Queries) != 2 || task.LeftOut != 2 {
			t.Fatalf("%+v, %v", task, err)
		}
		for _, q := range task.Queries {
			m := form.FindStringSubmatch(q.Text)
			i := slices.IndexFunc(in.Targets.Texts, func(s string) bool {
				return m != nil && strings.Contains(s, m[1]) && strings.Contains(strings.ToLower(s), m[2])
			})
			if i < 0 || strings.Contains(strings.ToLower(m[1]), m[2]) || len(task.Qrels[q.ID]) != 1 {
				t.Fatalf("%q, judged %v", q.Text, task.Qrels[q.ID])
			}
			seen[q.Text] = true
		}
	}
	if !seen[`"signing keys" +keyctl`] || !seen[`"signing keys" +rotate`] || seen[`"Rotate the" +keys`] || len(seen) < 6 {
		t.Errorf("%v", seen)
	}
}

// A verbose query holds the other task's, whose id and judgements it has, in one of
// several frames.
func TestVerbose(t *testing.T) {
	in := TaskInput{Corpus: &Corpus{Name: "many"}, Seed: 1}
	for i := range 60 {
		in.Corpus.Passages = append(in.Corpus.Passages, Passage{ID: fmt.Sprint(i), Body: fmt.Sprintf("walnut%d harbour%d lantern%d meadow%d", i, i, i, i)})
	}
	in.Targets = NewTargets(in.Corpus.Passages)
	a, err := MakeTask("keyword", in)
	if err != nil {
		t.Fatal(err)
	}
	b, err := MakeTask("verbose:keyword", in)
	if err != nil {
		t.Fatal(err)
	}
	if b.Name != "verbose:keyword" || !reflect.DeepEqual(a.Qrels, b.Qrels) || len(a.Queries) != len(b.Queries) {
		t.Fatalf("%+v of %+v", b, a)
	}
	frames := map[string]bool{}
	for i, q := range a.Queries {
		before, after, ok := strings.Cut(b.Queries[i].Text, q.Text)
		if !ok || b.Queries[i].ID != q.ID || len(strings.Fields(before+after)) < 8 {
			t.Errorf("%q asks for %q", b.Queries[i].Text, q.Text)
		}
		frames[before+after] = true
	}
	if len(frames) != len(requests) {
		t.Errorf("60 queries are in %d of %d frames", len(frames), len(requests))
	}
}

// A mistyped query has the judged one's id, and as many words that differ from its by one edit as are asked for.
func TestTypo(t *testing.T) {
	in := TaskInput{Corpus: &Corpus{Name: "many", Qrels: Qrels{}}, Seed: 1}
	for i := range 200 {
		id := fmt.Sprint(i)
		in.Corpus.Passages = append(in.Corpus.Passages, Passage{ID: id, Body: "walnut"})
		in.Corpus.Queries = append(in.Corpus.Queries, Query{ID: id, Text: "the häfen of 2024, lantern-light aaaa x86 meadow"})
		in.Corpus.Qrels[id] = map[string]int{id: 1}
	}
	in.Targets = NewTargets(in.Corpus.Passages)
	typed := in.Corpus.Queries[0].Text
	lengths := map[int]bool{}
	for n := range 4 {
		task, err := MakeTask(fmt.Sprintf("typo:%d", n+1), in)
		if err != nil || len(task.Queries) != 200 || in.Corpus.Queries[0].Text != typed {
			t.Fatal(task, err)
		}
		for _, q := range task.Queries {
			words, was, other := strings.Fields(q.Text), strings.Fields(typed), 0
			for i, w := range was {
				if words[i] == w {
					continue
				}
				other++
				if w != "häfen" && w != "aaaa" && w != "meadow" {
					t.Errorf("%q became %q", w, words[i])
				}
				if d := utf8.RuneCountInString(words[i]) - utf8.RuneCountInString(w); d < -1 || d > 1 {
					t.Errorf("%q became %q", w, words[i])
				} else {
					lengths[d] = true
				}
			}
			if other != min(n+1, 3) || q.ID == "" {
				t.Errorf("%d words of %q are mistyped, want %d", other, q.Text, n+1)
			}
		}
	}
	if len(lengths) != 3 {
		t.Errorf("words became %v letters longer", lengths)
	}
}

func TestTaskNames(t *testing.T) {
	for _, bad := range []string{"", "part", "part:", "part:0", "part:-3", "part:x", "query:1", "keyword:", "nothing", "verbose", "verbose:", "verbose:nothing", "verbose:part:x", "verbose:verbose:query", "typo", "typo:", "typo:0", "typo:x", "operator:2"} {
		if _, err := MakeTask(bad, tinyInput(1)); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q gives %v", bad, err)
		}
	}
	_, err := MakeTask("part:500", tinyInput(1))
	if !errors.Is(err, ErrNoQueries) || !strings.Contains(fmt.Sprint(err), "all 4") {
		t.Errorf("a span longer than every passage gives %v", err)
	}
	for _, k := range TaskKinds() {
		if k.Doc == "" || k.Usage == "" {
			t.Errorf("task %s is not described", k.Name)
		}
	}
}
