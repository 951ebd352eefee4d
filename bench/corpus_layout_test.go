package bench

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	_ "github.com/lexsem/lexsem/ingest/files/parquet"
)

// corpusFiles writes a folder of files.
func corpusFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const trecTopics = `<top>

<num> Number: 007
<title> Topic:  boats &amp;
  rivers

<desc> Description:
What floats?
</top>
<top><num>401<desc> Description: herons
</top>
`

// TestCorpusLayouts: the same corpus as BEIR, MS MARCO, TREC, ir_datasets and MTEB ship it.
func TestCorpusLayouts(t *testing.T) {
	const topics, judged = `{"_id":"7","text":"boats & rivers"}` + "\n" + `{"_id":"401","text":"herons"}`, "7\ta\t1\n401\tb c\t2\n"
	want := &Corpus{
		Passages: []Passage{{"a", "Boats", "on the river"}, {"b c", "", "a heron"}},
		Queries:  []Query{{"7", "boats & rivers"}, {"401", "herons"}},
		Qrels:    Qrels{"7": {"a": 1}, "401": {"b c": 2}},
	}
	for name, files := range map[string]map[string]string{
		"BEIR":     {"queries.jsonl": topics, "qrels/test.tsv": judged},
		"MS MARCO": {"collection.tsv": "a\tBoats\ton the river\nb c\ta heron\n", "queries.test.tsv": "7\tboats & rivers\n401\therons\n", "qrels.test.tsv": "7\t0\ta\t1\n401\t0\tb c\t2\n"},
		"TREC":     {"topics.txt": trecTopics, "qrels/test.qrels": "7 0 a 1\n401 0 b␣c 2\n"},
		"XML":      {"topics.xml": `<topics><topic number="7"><query>boats &amp; rivers</query>` + "\n</topic>\n" + `<topic number="401"><query>herons</query></topic></topics>`, "qrels/test.tsv": judged},
		"ir_datasets": {"corpus.jsonl": `{"doc_id":"a","title":"Boats","text":"on the river"}` + "\n" + `{"doc_id":"b c","text":"a heron"}`,
			"queries.jsonl": `{"query_id":"7","text":"boats & rivers"}` + "\n" + `{"query_id":"401","text":"herons"}`, "qrels/test.txt": "7 0 a 1\n401 0 b␣c 2\n"},
		"MTEB": {"queries.jsonl": strings.ReplaceAll(topics, `"_id"`, `"id"`), "qrels/test.jsonl": `{"query-id":"7","corpus-id":"a","score":1.0}` + "\n" + `{"query-id":"401","corpus-id":"b c","score":2}`},
	} {
		if files["corpus.jsonl"] == "" && files["collection.tsv"] == "" {
			files["corpus.jsonl"] = `{"_id":"a","title":"Boats","text":"on the river"}` + "\n" + `{"_id":"b c","title":"","text":"a heron"}`
		}
		got, err := ReadCorpus(corpusFiles(t, files), ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got.Name, got.Dir = "", ""
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %+v, want %+v", name, got, want)
		}
	}
}

// TestForeignFolders reads folders that other programs wrote: testdata/make_foreign.py says how. It has the
// folders of MTEB (parts, and several languages), BEIR (.gz), MS MARCO, and the exports of ir_datasets.
func TestForeignFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/foreign")); err != nil {
		t.Fatal(err)
	}
	want := &Corpus{
		Passages: []Passage{{"a", "Boats", "on the river"}, {"b c", "", "a heron"}, {"7", "Wood", ""}},
		Queries:  []Query{{"7q", "boats & rivers"}, {"401", "herons"}},
		Qrels:    Qrels{"7q": {"a": 1}, "401": {"b c": 2, "a": 0}},
	}
	for _, name := range []string{"mteb", "mteb2", "langs/de", "beirgz", "msmarco", "irds", "irdsj", "pandas"} {
		if err := (ReadOptions{}).Check(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := ReadCorpora(filepath.Join(dir, name), ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Name != filepath.Base(name) {
			t.Errorf("%s is called %s", name, got.Name)
		}
		for i, p := range got.Passages { // some of them have one column of text
			if p.Text() == want.Passages[i].Text() {
				got.Passages[i] = want.Passages[i]
			}
		}
		got.Name, got.Dir = "", ""
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %+v, want %+v", name, got, want)
		}
	}
	got, err := ReadCorpus(filepath.Join(dir, "numbers"), ReadOptions{})
	if want := (Qrels{"5": {"1": 1}, "6": {"2": 1}}); err != nil || !reflect.DeepEqual(got.Qrels, want) {
		t.Errorf("ids that are numbers: %+v, %v", got, err)
	}
	q, err := ReadQrels(filepath.Join(dir, "mteb/data/dev-00000-of-00001.parquet"), ReadOptions{})
	if want := (Qrels{"401": {"a": 1}}); err != nil || !reflect.DeepEqual(q, want) {
		t.Errorf("a file of judgements: %v, %v", q, err)
	}
	for name, want := range map[string]string{
		"langs": "name one of " + filepath.Join(dir, "langs/de") + ", ", "nulls": "corpus.parquet:2: broken line: no _id", "nulltext": "corpus.parquet:2: broken line: no text field",
		"notparquet": "corpus.parquet: the Parquet file is damaged", "cutgz": "corpus.jsonl.gz is damaged; pack it with gzip again: unexpected EOF",
	} {
		if _, err := ReadCorpus(filepath.Join(dir, name), ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for split, want := range map[string]string{"train": "there are judgements of dev, test: ", "dev": ""} {
		if _, err := ReadCorpus(filepath.Join(dir, "mteb"), ReadOptions{Split: split}); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("split %s: %v", split, err)
		}
	}
	skipped := 0
	c, err := ReadCorpus(filepath.Join(dir, "nulls"), ReadOptions{OnProblem: func(*LineError) error { skipped++; return nil }})
	if err != nil || len(c.Passages) != 1 || skipped != 1 {
		t.Errorf("a row is skipped: %+v, %d, %v", c, skipped, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range []string{"mteb", "msmarco"} { // the loops over rows and over lines
		if name == "msmarco" {
			if err := os.WriteFile(filepath.Join(dir, name, "collection.tsv"), []byte(strings.Repeat("x\ty\n", 2000)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		o := ReadOptions{ctx: ctx, OnProblem: func(*LineError) error { return nil }}
		if _, err := ReadCorpus(filepath.Join(dir, name), o); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: reading goes on after the end of the context: %v", name, err)
		}
	}
}

// TestTopics: topics in the spellings that TREC, CLEF and their tools use.
func TestTopics(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Query
	}{
		"CRLF":            {"<top>\r\n<num> Number: 301 \r\n<title> River Boats \r\n\r\n<desc> Description: \r\nwhat\r\n</top>\r\n", []Query{{"301", "River Boats"}}},
		"a mark, ends":    {"\ufeff<top>\n<num> Number: 301</num>\n<title>River Boats</title>\n</top>\n", []Query{{"301", "River Boats"}}},
		"TIPSTER":         {"<top>\n<head> Tipster\n<num> Number:  051\n<dom> Domain: X\n<title> Topic:  River\n Boats\n<desc> Description:\n x\n</top>\n", []Query{{"51", "River Boats"}}},
		"COVID":           {"<?xml version=\"1.0\"?>\n<topics>\n<topic number=\"1\">\n <query>river boats</query>\n <question>q?</question>\n</topic>\n</topics>", []Query{{"1", "river boats"}}},
		"clinical trials": {"<topics task=\"CT\">\n<topic number=\"1\">\nA man on a river.\n</topic>\n</topics>", []Query{{"1", "A man on a river."}}},
		"medicine":        {"<topics><topic number='1'><disease>river</disease><gene>boats</gene></topic></topics>", []Query{{"1", "river boats"}}},
		"id":              {"<topic id=\"1\"><title lang=\"en\">river</title></topic>", []Query{{"1", "river"}}},
		"two on a line":   {"<top><num>1</num><title>river</title></top><top><num>2</num><title>bread</title></top>\n", []Query{{"1", "river"}, {"2", "bread"}}},
		"CLEF":            {"<top lang=\"EN\">\n<num>C041</num>\n<EN-title>river</EN-title>\n<EN-desc>d</EN-desc></top>", []Query{{"C041", "river"}}},
		"colons":          {"1:river: boats\n2:bread\n", []Query{{"1", "river: boats"}, {"2", "bread"}}},
		"tabs":            {"1\triver boats\n", []Query{{"1", "river boats"}}},
	} {
		got, err := readQueries(ReadOptions{}, filepath.Join(corpusFiles(t, map[string]string{"topics.txt": c.text}), "topics.txt"))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestTopicFaults(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want error
	}{
		"no number": {"<top>\n<title> x\n</top>", 3, ErrBrokenLine},
		"no text":   {"<top>\n<num> Number: 1\n<title>\n</top>", 4, errEmptyQuery},
		"no end":    {"\n<top>\n<num> 1 <title> x", 2, ErrBrokenLine},
		"twice":     {"<top><num>1<title> x\n</top>\n<top><num>01<title> y\n</top>", 4, ErrDuplicateID},
		"neither":   {"river boats\n", 1, ErrBrokenLine},
		"colon":     {"1:\n", 1, errEmptyQuery},
		"too long":  {"<top><num>1<title>\n" + strings.Repeat(strings.Repeat("x", 90)+"\n", 20) + "</top>", 12, errLineTooLong},
	} {
		dir := corpusFiles(t, map[string]string{"corpus.jsonl": okCorpus, "topics.txt": c.text})
		_, err := ReadCorpus(dir, ReadOptions{MaxLine: 1000})
		var at *LineError
		if !errors.As(err, &at) || !errors.Is(err, c.want) || at.Line != c.line {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSplits(t *testing.T) {
	dir := corpusFiles(t, map[string]string{
		"corpus.jsonl": okCorpus, "queries.jsonl": okQueries, "qrels/dev.tsv": "q1\ta\t1\n", "qrels/train.tsv": "2\tb\t1\n",
		"mine.qrels": "q1 0 b 1\n", "asked.tsv": "q1\tone more\n",
	})
	c, err := ReadCorpus(dir, ReadOptions{})
	if err != nil || len(c.Queries) != 2 || len(c.Qrels) != 0 {
		t.Errorf("without judgements: %+v, %v", c, err)
	}
	_, err = MakeTask("query", TaskInput{Corpus: c, Targets: NewTargets(c.Passages), Seed: 1})
	if !errors.Is(err, ErrNoQueries) || !strings.Contains(err.Error(), "there are judgements of dev, train: choose with --split dev") {
		t.Errorf("the task query says %v", err)
	}
	for split, want := range map[string]Qrels{
		"dev": {"q1": {"a": 1}}, "train": {"2": {"b": 1}},
		filepath.Join(dir, "mine.qrels"): {"q1": {"b": 1}},
	} {
		c, err := ReadCorpora(dir, ReadOptions{Split: split})
		if err != nil || !reflect.DeepEqual(c.Qrels, want) {
			t.Errorf("split %s: %+v, %v", split, c, err)
		}
	}
	c, err = ReadCorpora(dir, ReadOptions{Split: "dev", Queries: filepath.Join(dir, "asked.tsv")})
	if err != nil || !reflect.DeepEqual(c.Queries, []Query{{"q1", "one more"}}) {
		t.Errorf("a file of queries: %+v, %v", c, err)
	}
	// Passages that have no folder of their own take both files, too, and miss none of them in silence.
	texts := corpusFiles(t, map[string]string{"a.md": "river boats"})
	for data, want := range map[string]Qrels{filepath.Join(dir, "corpus.jsonl"): {"q1": {"b": 1}}, texts: {"q1": {"a.md": 1}}} {
		judged := filepath.Join(texts, "judged")
		if err := os.WriteFile(judged, []byte("q1 0 "+slices.Collect(maps.Keys(want["q1"]))[0]+" 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadCorpora(data, ReadOptions{Queries: filepath.Join(dir, "asked.tsv"), Split: judged})
		if err != nil || len(c.Queries) != 1 || !reflect.DeepEqual(c.Qrels, want) {
			t.Errorf("%s with files of queries and judgements: %+v, %v", data, c, err)
		}
		if _, err := ReadCorpora(data, ReadOptions{Split: judged}); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "--queries") {
			t.Errorf("%s with judgements alone: %v", data, err)
		}
	}
	for _, split := range []string{"test", "middle", "no/such.tsv", dir} {
		if _, err := ReadCorpora(dir, ReadOptions{Split: split}); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "dev, train") {
			t.Errorf("split %s: %v", split, err)
		}
	}
	if _, err := ReadCorpora(dir, ReadOptions{Queries: filepath.Join(dir, "none.tsv")}); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "none.tsv") {
		t.Errorf("no file of queries: %v", err)
	}
	for _, o := range []ReadOptions{{Split: "a/b"}, {Queries: "q.tsv"}} {
		if _, err := ReadCorpora(dir+","+dir, o); !errors.Is(err, ErrOption) {
			t.Errorf("%+v for two folders: %v", o, err)
		}
	}
	// What needs no judgements runs; what does is left out and named.
	rep, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"dense"}, Tasks: []string{"query", "part:1"}})
	if err != nil || len(rep.Tasks) != 1 || len(rep.LeftOutTasks) != 1 || rep.LeftOutTasks[0].Task != "query" {
		t.Fatalf("%+v, %v", rep, err)
	}
	if notes := strings.Join(rep.Notes(), "\n"); !strings.Contains(notes, "Task query is left out: ") || !strings.Contains(notes, "--split dev") {
		t.Errorf("the report says %q", notes)
	}
	if _, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"dense"}, Tasks: []string{"query"}}); !errors.Is(err, ErrNoQueries) {
		t.Errorf("the task query alone: %v", err)
	}
}

// TestOwnPassages: a query's own passage is left out where queries stand in the corpus.
func TestOwnPassages(t *testing.T) {
	line := func(id, text string) string { return `{"_id":"` + id + `","text":"` + text + `"}` + "\n" }
	for name, c := range map[string]struct {
		corpus, queries, qrels string
		own                    []string
	}{
		"passages asked":    {line("1", "tax sugar now") + line("2", "no tax on it") + line("3", "ban smoke") + line("4", "smoke on"), line("1", "Tax sugar, now!") + line("3", "ban  smoke"), "1\t2\t1\n3\t4\t1\n", []string{"1", "3"}},
		"one of two alike":  {line("1", "tax sugar now") + line("2", "no tax on it") + line("3", "a ban") + line("4", "smoke on"), line("1", "tax sugar now") + line("3", "rewritten wholly"), "1\t2\t1\n3\t4\t1\n", []string{"1", "3"}},
		"one of three":      {line("1", "tax sugar now") + line("2", "no tax on it") + line("3", "a ban"), line("1", "tax sugar now") + line("2", "what is a boat") + line("3", "who was it"), "1\t2\t1\n2\t1\t1\n3\t2\t1\n", []string{"1"}},
		"numbers by chance": {line("1", "wings of a plane") + line("2", "heat in slabs"), line("1", "which similarity laws hold for models") + line("2", "what are the problems"), "1\t2\t1\n2\t1\t1\n", nil},
		"it is sought":      {line("1", "tax sugar now") + line("2", "no tax on it"), line("1", "tax sugar now") + line("2", "no tax on it"), "1\t1\t1\n2\t1\t1\n", []string{"2"}},
		"judged irrelevant": {line("1", "tax sugar now") + line("2", "no tax on it"), line("1", "tax sugar now"), "1\t1\t0\n1\t2\t1\n", []string{"1"}},
		"no words":          {line("1", "!!!") + line("2", "no tax on it"), line("1", "!!!"), "1\t2\t1\n", []string{"1"}},
	} {
		dir := writeCorpus(t, c.corpus, c.queries, c.qrels)
		read, err := ReadCorpus(dir, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]struct{}(nil)
		for _, id := range c.own {
			if want == nil {
				want = map[string]struct{}{}
			}
			want[id] = struct{}{}
		}
		if !reflect.DeepEqual(read.own, want) {
			t.Errorf("%s: own passages %v, want %v", name, read.own, want)
		}
	}
}

// TestBEIRLeavesOutTheQueryItself: on every system's ranking, whatever the depth, and in a union of folders.
func TestBEIRLeavesOutTheQueryItself(t *testing.T) {
	var corpus, queries, qrels strings.Builder
	for _, x := range []string{"ban smoking in parks", "raise the voting age", "teach chess in school", "tax sugar drinks"} {
		id := strings.Fields(x)[0]
		corpus.WriteString(`{"_id":"` + id + `","text":"we should ` + x + ` today"}` + "\n" + `{"_id":"` + id + `-2","text":"we must not ` + x + ` ever"}` + "\n")
		queries.WriteString(`{"_id":"` + id + `","text":"we should ` + x + ` today"}` + "\n")
		qrels.WriteString(id + "\t" + id + "-2\t1\n")
	}
	dir := writeCorpus(t, corpus.String(), queries.String(), qrels.String())
	other := corpusFolder(t, "other", "bees", "boats")
	systems := []string{"dense", "bm25", "hybrid", "rrf", "rlr", "engine"}
	for name, o := range map[string]Options{
		"one":   {Data: dir, Metrics: []string{"ndcg@1"}, Tasks: []string{"query"}},
		"union": {Data: dir + "," + other, Tasks: []string{"query:tiny"}},
		"kept":  {Data: dir, Tasks: []string{"query"}, KeepSelf: true},
	} {
		o.Systems, o.RunsDir = systems, filepath.Join(t.TempDir(), "runs")
		rep, err := Run(context.Background(), encoder.NewHash(256), o)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(rep.Notes(), "\n")
		if rep.Tasks[0].Own != 4 || rep.Tasks[0].KeepSelf != o.KeepSelf || strings.Contains(notes, "left out, as in BEIR") == o.KeepSelf || strings.Contains(notes, "are ranked (--keep-self)") != o.KeepSelf {
			t.Errorf("%s: the report says %q", name, notes)
		}
		for _, r := range rep.Results {
			if first := r.Metrics["ndcg@1"] == 1 || r.Metrics["ndcg@10"] == 1; first == o.KeepSelf {
				t.Errorf("%s: %s has %v", name, r.System, r.Metrics)
			}
			own := 0
			for q, hits := range readRun(t, filepath.Join(o.RunsDir, fileName(r.Task)+"."+fileName(r.System)+".trec")) {
				for _, h := range hits {
					if h.ID == q {
						own++
					}
				}
				if !o.KeepSelf && name == "one" && r.System != "bm25" && len(hits) != 7 {
					t.Errorf("%s of %s: %d hits, want the 7 others", r.System, q, len(hits))
				}
			}
			if (own > 0) != o.KeepSelf {
				t.Errorf("%s: %s ranks %d own passages", name, r.System, own)
			}
		}
	}
}
