package bench

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestHostileFolders: what is sound in any spelling is read, and what is not is refused by file, line and remedy.
func TestHostileFolders(t *testing.T) {
	const corpus = `{"_id":"a b","text":"boats on the river"}` + "\n" + `{"_id":"a  b","text":"herons in the reeds"}` + "\n" + `{"_id":"c","text":"bread of flour"}` + "\n"
	const queries = `{"_id":"q 1","text":"boats river"}` + "\n" + `{"_id":"q2","text":"bread"}` + "\n"
	const judged = "query-id\tcorpus-id\tscore\nq 1\ta b\t1\nq2\tc\t2\n"
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	want := Qrels{"q 1": {"a b": 1}, "q2": {"c": 2}}
	for name, c := range map[string]struct {
		corpus, queries, qrels string
		want                   Qrels
		err                    string // of the task query
	}{
		"CRLF":              {crlf(corpus), crlf(queries), crlf(judged), want, ""},
		"byte order marks":  {"\ufeff" + corpus, "\ufeff" + queries, "\ufeff" + judged, want, ""},
		"no heading":        {corpus, queries, judged[strings.Index(judged, "\n")+1:], want, ""},
		"another heading":   {corpus, queries, strings.Replace(judged, "query-id\tcorpus-id\tscore", "query_id\tdoc_id\trelevance", 1), want, ""},
		"grades of pandas":  {corpus, queries, strings.Replace(judged, "\t2\n", "\t2.0\n", 1), want, ""},
		"negative grades":   {corpus, queries, judged + "q2\ta b\t-2\n", Qrels{"q 1": {"a b": 1}, "q2": {"c": 2, "a b": -2}}, ""},
		"half a grade":      {corpus, queries, strings.Replace(judged, "\t2\n", "\t1.5\n", 1), nil, `test.tsv:3: broken line: score "1.5" is not an integer`},
		"heading of line 2": {corpus, queries, judged + "query-id\tcorpus-id\tscore\n", nil, "test.tsv:4: broken line"},
		"blank after an id": {corpus, queries, strings.Replace(judged, "q2\t", "q2 \t", 1), nil, `test.tsv:3: unknown id: query "q2 " is not in queries.jsonl; add it`},
		"columns swapped":   {corpus, queries, "corpus-id\tquery-id\tscore\nc\tq2\t1\n", nil, `test.tsv:2: unknown id: query "c" is not`},
		"empty judgements":  {corpus, queries, "", Qrels{}, "test.tsv judges no passage relevant; give relevant ones a grade of 1"},
		"only a heading":    {corpus, queries, "query-id\tcorpus-id\tscore\n", Qrels{}, "test.tsv judges no passage relevant"},
		"none relevant":     {corpus, queries, "q2\tc\t0\nq2\ta b\t-1\n", Qrels{"q2": {"c": 0, "a b": -1}}, "test.tsv judges no passage relevant"},
		"an array":          {"[" + corpus + "]", queries, judged, nil, "corpus.jsonl:1: broken line: want a JSON object"},
		"lines end in CR":   {strings.ReplaceAll(corpus, "\n", "\r"), queries, judged, nil, "corpus.jsonl:1: broken line"},
		"UTF-16":            {"\xff\xfe{\x00}\x00", queries, judged, nil, "corpus.jsonl:1: broken line: not valid UTF-8; convert"},
		"1 and \"1\"":       {corpus + `{"_id":1,"text":"x"}` + "\n" + `{"_id":"1","text":"y"}`, queries, judged, nil, `corpus.jsonl:5: duplicate id: passage "1"`},
	} {
		dir := writeCorpus(t, c.corpus, c.queries, c.qrels)
		if c.qrels == "" { // which writeCorpus takes for none
			dir = corpusFiles(t, map[string]string{"corpus.jsonl": c.corpus, "queries.jsonl": c.queries, "qrels/test.tsv": ""})
		}
		read, err := ReadCorpus(dir, ReadOptions{})
		if c.want != nil && (err != nil || !reflect.DeepEqual(read.Qrels, c.want) || read.Passages[1].ID != "a  b") {
			t.Errorf("%s: %+v, %v", name, read, err)
		}
		rep, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"bm25"}, Tasks: []string{"query"}})
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.err)
		}
		if c.err == "" && (err != nil || rep.Results[0].Metrics["ndcg@10"] != 1) {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
}
