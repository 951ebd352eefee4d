package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

const (
	okCorpus  = `{"_id":"a","title":"Alpha","text":"first"}` + "\n" + `{"_id":"b","title":"","text":"second","extra":[1,2]}` + "\n"
	okQueries = `{"_id":"q1","text":"one?"}` + "\n" + `{"_id":2,"text":"two?"}` + "\n"
	okQrels   = "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\n2\tb\t1\n"
)

func TestReadCorpus(t *testing.T) {
	crlf := func(s string) string { return "\xef\xbb\xbf" + strings.ReplaceAll(s, "\n", "\r\n") + "\r\n\r\n" }
	for name, dir := range map[string]string{
		"plain":                    writeCorpus(t, okCorpus, okQueries, okQrels),
		"bom, crlf, blank lines":   writeCorpus(t, crlf(okCorpus), crlf(okQueries), crlf(okQrels)),
		"no line end, no heading":  writeCorpus(t, strings.TrimSuffix(okCorpus, "\n"), okQueries, strings.SplitN(okQrels, "\n", 2)[1]),
		"bom before no heading":    writeCorpus(t, okCorpus, okQueries, "\xef\xbb\xbf"+strings.SplitN(okQrels, "\n", 2)[1]),
		"white space round object": writeCorpus(t, strings.ReplaceAll(okCorpus, `{"_id"`, ` {"_id"`), okQueries, okQrels),
	} {
		c, err := ReadCorpus(dir, ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := &Corpus{
			Name:     "tiny",
			Dir:      dir,
			Passages: []Passage{{"a", "Alpha", "first"}, {"b", "", "second"}},
			Queries:  []Query{{"q1", "one?"}, {"2", "two?"}},
			Qrels:    Qrels{"q1": {"a": 2, "b": 0}, "2": {"b": 1}},
		}
		if !reflect.DeepEqual(c, want) {
			t.Errorf("%s: read %+v, want %+v", name, c, want)
		}
		if a, b := c.Passages[0].Text(), c.Passages[1].Text(); a != "Alpha first" || b != "second" {
			t.Errorf("%s: texts are %q and %q", name, a, b)
		}
	}
}

// TestAbsentPassages: ArguAna judges a passage that it does not have. It counts as not found, as in BEIR; judgements of
// another corpus are refused. What is judged without a positive is counted.
func TestAbsentPassages(t *testing.T) {
	dir := writeCorpus(t, okCorpus, okQueries+`{"_id":"q3","text":"three?"}`+"\n", okQrels+"2\tz\t1\nq3\ta\t0\n")
	for data, prefix := range map[string]string{dir: "", dir + "," + corpusFolder(t, "other", "red fox"): "tiny:"} {
		c, err := ReadCorpora(data, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		task, err := MakeTask("query", TaskInput{Corpus: c, Seed: 1})
		if err != nil || task.Absent != 1 || task.NoPositive != 1 || task.Qrels[prefix+"2"][prefix+"z"] != 1 {
			t.Errorf("%s: %+v, %v", data, task, err)
		}
	}
	rep, err := Run(context.Background(), encoder.NewHash(16), Options{Data: dir, Systems: []string{"dense", "bm25"}, Tasks: []string{"query"}, Metrics: []string{"recall@10"}, Cases: 2})
	if err != nil || rep.Results[0].Metrics["recall@10"] != .75 { // one of one, and one of two
		t.Errorf("%+v, %v", rep, err)
	}
	if notes := strings.Join(rep.Notes(), " "); !strings.Contains(notes, "1 judgements name passages that are not in the corpus") || !strings.Contains(notes, "1 judged queries have no relevant passage") {
		t.Errorf("the report says %s", notes)
	}
	if _, err := ReadCorpus(writeCorpus(t, okCorpus, okQueries, okQrels+"q1\tx\t1\nq1\ty\t1\n2\tx\t1\n2\ty\t0\n"), ReadOptions{}); !errors.Is(err, ErrUnknownID) || !strings.Contains(err.Error(), `4 of 7`) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("judgements of another corpus: %v", err)
	}
}

// TestFEVERLayout: FEVER, HotpotQA and NQ as BEIR ships them: names of pages for ids, pages without a text, a field of metadata,
// judgements of a training and a dev part beside those of the test, and queries of all three in one file.
func TestFEVERLayout(t *testing.T) {
	dir := writeCorpus(t,
		`{"_id":"Alpha_-LRB-river-RRB-","title":"Alpha (river)","text":"A river .","metadata":{}}`+"\n"+`{"_id":"Ünder","title":"Ünder","text":"","metadata":{}}`+"\n",
		`{"_id":"1","text":"Alpha is a river.","metadata":{}}`+"\n"+`{"_id":"2","text":"Ünder is a page.","metadata":{}}`+"\n"+`{"_id":"3","text":"Taught only.","metadata":{}}`+"\n",
		"query-id\tcorpus-id\tscore\n1\tAlpha_-LRB-river-RRB-\t1\n2\tÜnder\t1\n")
	if err := os.WriteFile(filepath.Join(dir, "qrels", "train.tsv"), []byte("query-id\tcorpus-id\tscore\n3\tÜnder\t1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := ReadCorpus(dir, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Qrels{"1": {"Alpha_-LRB-river-RRB-": 1}, "2": {"Ünder": 1}}); !reflect.DeepEqual(c.Qrels, want) || len(c.Queries) != 3 {
		t.Errorf("%v, of %d queries", c.Qrels, len(c.Queries))
	}
	if a, b := c.Passages[0].Text(), c.Passages[1].Text(); a != "Alpha (river) A river ." || b != "Ünder" {
		t.Errorf("texts %q, %q", a, b)
	}
}

func TestReadCorpusWithoutJudgements(t *testing.T) {
	c, err := ReadCorpus(writeCorpus(t, okCorpus, "", ""), ReadOptions{})
	if err != nil || len(c.Passages) != 2 || len(c.Queries) != 0 {
		t.Fatalf("read %+v, %v", c, err)
	}
	_, err = MakeTask("query", TaskInput{Corpus: c, Targets: NewTargets(c.Passages), Seed: 1})
	if !errors.Is(err, ErrNoQueries) || !strings.Contains(err.Error(), "qrels/test.tsv") {
		t.Errorf("the judged task says %v, want ErrNoQueries and where queries are looked for", err)
	}
	if _, err := ReadCorpus(t.TempDir(), ReadOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder says %v", err)
	}
	if _, err := ReadCorpus(writeCorpus(t, "\n", "", ""), ReadOptions{}); !errors.Is(err, ErrBrokenLine) {
		t.Errorf("an empty corpus says %v", err)
	}
}

func TestReadCorpusFaults(t *testing.T) {
	long := `{"_id":"long","text":"` + strings.Repeat("x", 3000) + `"}` + "\n"
	for _, c := range []struct {
		name                    string
		corpus, queries, qrels  string
		file                    string
		line                    int
		want                    error
		passages, asked, judged int // what is left when faults are left out
	}{
		{"not json", okCorpus + "oops\n", okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"cut json", okCorpus + `{"_id":"c","text":"x`, okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"an array", okCorpus + "[1]\n", okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"two objects", okCorpus + `{"_id":"c","text":"x"}{"_id":"d","text":"x"}`, okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"no id", okCorpus + `{"text":"x"}`, okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"null id", okCorpus + `{"_id":null,"text":"x"}`, okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"object id", okCorpus + `{"_id":{},"text":"x"}`, okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"id with a tab", okCorpus + `{"_id":"c\td","text":"x"}`, okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"no text", okCorpus + `{"_id":"c","title":"x"}`, okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"text a number", okCorpus + `{"_id":"c","text":7}`, okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"not utf-8", okCorpus + "{\"_id\":\"c\",\"text\":\"\xff\"}\n", okQueries, okQrels, "corpus.jsonl", 3, ErrBrokenLine, 2, 2, 3},
		{"duplicate passage", okCorpus + "\n" + `{"_id":"a","text":"again"}`, okQueries, okQrels, "corpus.jsonl", 4, ErrDuplicateID, 2, 2, 3},
		{"line too long", long + okCorpus, okQueries, okQrels, "corpus.jsonl", 1, errLineTooLong, 2, 2, 3},
		{"last line too long", okCorpus + long, okQueries, okQrels, "corpus.jsonl", 3, errLineTooLong, 2, 2, 3},
		{"duplicate query", okCorpus, okQueries + `{"_id":"q1","text":"x"}`, okQrels, "queries.jsonl", 3, ErrDuplicateID, 2, 2, 3},
		{"empty query", okCorpus, okQueries + `{"_id":"q3","text":" \t"}`, okQrels, "queries.jsonl", 3, errEmptyQuery, 2, 2, 3},
		{"unknown query", okCorpus, okQueries, okQrels + "q9\ta\t1\n", "test.tsv", 5, ErrUnknownID, 2, 2, 3},
		{"judged twice", okCorpus, okQueries, okQrels + "q1\ta\t1\n", "test.tsv", 5, ErrDuplicateID, 2, 2, 3},
		{"two fields", okCorpus, okQueries, okQrels + "q1\ta\n", "test.tsv", 5, ErrBrokenLine, 2, 2, 3},
		{"score a word", okCorpus, okQueries, okQrels + "2\ta\thigh\n", "test.tsv", 5, ErrBrokenLine, 2, 2, 3},
		{"heading in the middle", okCorpus, okQueries, okQrels + "query-id\tcorpus-id\tscore\n", "test.tsv", 5, ErrBrokenLine, 2, 2, 3},
		{"no query id", okCorpus, okQueries, okQrels + "\ta\t1\n", "test.tsv", 5, ErrBrokenLine, 2, 2, 3},
	} {
		dir := writeCorpus(t, c.corpus, c.queries, c.qrels)
		_, err := ReadCorpus(dir, ReadOptions{MaxLine: 1000})
		var at *LineError
		if !errors.As(err, &at) || !errors.Is(err, c.want) || filepath.Base(at.File) != c.file || at.Line != c.line {
			t.Errorf("%s: got %v, want %v at %s:%d", c.name, err, c.want, c.file, c.line)
			continue
		}
		if want := fmt.Sprintf("%s:%d: ", c.file, c.line); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: message %q does not name %q", c.name, err, want)
		}
		var seen []error
		got, err := ReadCorpus(dir, ReadOptions{MaxLine: 1000, OnProblem: func(e *LineError) error {
			seen = append(seen, e)
			return nil
		}})
		if err != nil || len(seen) != 1 || !errors.Is(seen[0], c.want) {
			t.Errorf("%s: leaving out gives %v after %v", c.name, err, seen)
			continue
		}
		judged := 0
		for _, m := range got.Qrels {
			judged += len(m)
		}
		if len(got.Passages) != c.passages || len(got.Queries) != c.asked || judged != c.judged {
			t.Errorf("%s: %d passages, %d queries, %d judgements are left", c.name, len(got.Passages), len(got.Queries), judged)
		}
	}
}

func TestLineAtTheLimit(t *testing.T) {
	line := `{"_id":"a","text":"` + strings.Repeat("x", 100) + `"}`
	for _, end := range []string{"", "\n", "\r\n"} {
		dir := writeCorpus(t, line+end, "", "")
		if _, err := ReadCorpus(dir, ReadOptions{MaxLine: len(line)}); err != nil {
			t.Errorf("a line of exactly the limit before %q: %v", end, err)
		}
		if _, err := ReadCorpus(dir, ReadOptions{MaxLine: len(line) - 1}); !errors.Is(err, errLineTooLong) {
			t.Errorf("a line one above the limit before %q: %v", end, err)
		}
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte(okCorpus))
	f.Add([]byte(okQueries))
	f.Add([]byte(okQrels))
	f.Add([]byte("q1 Q0 a 1 0.5 tag\n"))
	f.Add([]byte("q1 Q0 a\rb 1 0.5 tag\n"))
	f.Add([]byte("q1\vQ0 a 1 0.5\ftag\n"))
	f.Add([]byte("\xef\xbb\xbf{\"_id\":\"a\",\"text\":\"\\ud800\"}\r\n\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		lines := strings.Count(string(b), "\n") + 1
		problems := 0
		o := ReadOptions{MaxLine: 64, OnProblem: func(e *LineError) error {
			if problems++; e.Line < 1 || e.Line > lines || e.Err == nil {
				t.Fatalf("a problem at line %d of %d: %v", e.Line, lines, e)
			}
			return nil
		}}
		check := func(err error) {
			if err != nil || problems > lines {
				t.Fatalf("%d problems in %d lines, %v", problems, lines, err)
			}
			problems = 0
		}
		check(EachPassage(strings.NewReader(string(b)), "f", o, func(p Passage) error {
			if p.ID == "" {
				t.Fatal("a passage without an id")
			}
			return nil
		}))
		check(EachLine(strings.NewReader(string(b)), "f", o, queryLine("f", func(q Query) error {
			if q.ID == "" || strings.TrimSpace(q.Text) == "" {
				t.Fatalf("an unusable query %+v", q)
			}
			return nil
		})))
		check(eachQrel(strings.NewReader(string(b)), "f", o, func(query, passage string, _ int) error {
			if query == "" || passage == "" {
				t.Fatal("a judgement without an id")
			}
			return nil
		}))
		r, err := ReadRun(strings.NewReader(string(b)), "f", o)
		check(err)
		var again strings.Builder
		if err := writeRun(&again, "t", r); err != nil {
			t.Fatal(err)
		}
		r2, err := ReadRun(strings.NewReader(again.String()), "f", ReadOptions{})
		if err != nil || !sameOrder(r, r2) {
			t.Fatalf("written and read back: %v, want %v (%v)", r2, r, err)
		}
	})
}

func TestLooseCorpora(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("notes/b.txt", "second\ntext")
	write("notes/a/x.MD", "first")
	write("notes/picture.png", "\x89PNG")
	write("notes/.hidden.txt", "not read")
	write("notes/.git/description.txt", "not read")
	write("lines.jsonl", okCorpus)
	c, err := ReadCorpora(filepath.Join(dir, "notes"), ReadOptions{})
	if err != nil || c.Name != "notes" || !reflect.DeepEqual(c.Passages, []Passage{{"a/x.MD", "", "first"}, {"b.txt", "", "second\ntext"}}) {
		t.Errorf("a folder of texts: %+v, %v", c, err)
	}
	if err := os.Symlink("notes", filepath.Join(dir, "link")); err != nil {
		t.Log("no symbolic links here:", err)
	} else if c, err := ReadCorpora(filepath.Join(dir, "link"), ReadOptions{}); err != nil || c.Name != "link" || len(c.Passages) != 2 {
		t.Errorf("a link to a folder of texts: %+v, %v", c, err)
	}
	c, err = ReadCorpora(filepath.Join(dir, "lines.jsonl"), ReadOptions{})
	if err != nil || c.Name != "lines" || len(c.Passages) != 2 {
		t.Errorf("a file of passages: %+v, %v", c, err)
	}
	c, err = ReadCorpora(filepath.Join(dir, "notes")+","+filepath.Join(dir, "lines.jsonl"), ReadOptions{})
	if err != nil || len(c.Passages) != 4 || c.Passages[3].ID != "lines:b" {
		t.Errorf("both: %+v, %v", c, err)
	}
	var line *LineError
	for name, text := range map[string]string{"empty": " \n", "not UTF-8": "\xff\xfe"} {
		write("bad/"+name+".txt", text)
		if _, err := ReadCorpora(filepath.Join(dir, "bad"), ReadOptions{}); !errors.As(err, &line) || !errors.Is(err, ErrBrokenLine) || filepath.Base(line.File) != name+".txt" {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(filepath.Join(dir, "bad", name+".txt")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadCorpora(filepath.Join(dir, "bad"), ReadOptions{}); err == nil {
		t.Error("a folder without any text was read")
	}
	if err := (ReadOptions{}).Check(filepath.Join(dir, "notes") + "," + filepath.Join(dir, "none")); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "none") {
		t.Errorf("what is missing: %v", err)
	}
	if err := (ReadOptions{}).Check(filepath.Join(dir, "notes")); err != nil {
		t.Error(err)
	}
}
