package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/bench/random"
)

// Passage is one text of a corpus.
type Passage struct {
	ID    string
	Title string
	Body  string
}

// Text is the text to encode: title and body joined by a space, as in BEIR.
func (p Passage) Text() string {
	return strings.TrimSpace(p.Title + " " + p.Body)
}

// Query is one query of a corpus.
type Query struct {
	ID   string
	Text string
}

// Corpus is a judged corpus in memory: passages and queries in the order of their files, and the
// relevance judgements.
type Corpus struct {
	Name     string   // last part of the folder's name
	Dir      string   // path of the folder; "" for a union of several
	Parts    []string // folder names of a union, which prefix its ids; nil for a single folder
	Passages []Passage
	Queries  []Query
	Qrels    Qrels

	own    map[string]struct{} // see ownPassages
	absent map[string]struct{} // ids of judged passages that are not in the corpus
	lacks  string              // why there are no judgements, "" where there are
}

// ReadCorpus reads a folder in the BEIR layout: corpus.jsonl with _id, title and text; queries.jsonl
// with _id and text; qrels/test.tsv with query id, corpus id and score. Options.Split names other
// judgements. All three may also be what MTEB, MS MARCO, TREC and ir_datasets ship: Parquet files of the
// same columns, if the program imports ingest/files/parquet, files of tabs, or topics of TREC; and each
// may be compressed (.gz). All texts are kept in memory. Cost O(bytes).
//
// A corpus without judgements is a folder without qrels, a file of passages, or a
// folder of .txt or .md files without a corpus file, unless Options.Queries and Options.Split name files of
// queries and judgements. It supports the tasks made from passages. The task of judged queries returns
// ErrNoQueries.
//
// A judged passage that is not in the corpus, as ArguAna has one, counts as not found, as in trec_eval and BEIR.
// If most judgements name such passages, or one names an unknown query, that is ErrUnknownID. Broken lines,
// duplicate ids, unknown queries and empty queries are a *LineError; see ReadOptions.OnProblem.
func ReadCorpus(dir string, o ReadOptions) (*Corpus, error) {
	c, loose, err := readLoose(dir, o)
	if err != nil || loose && o.Queries == "" && o.Split == "" {
		return c, err
	}
	corpusFiles := []string{dir}
	if !loose {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("resolving the data folder: %w", err)
		}
		c = &Corpus{Name: filepath.Base(abs), Dir: dir, Qrels: Qrels{}}
		if corpusFiles = o.find(dir, corpusNames); len(corpusFiles) == 0 {
			_, err := os.Stat(filepath.Join(dir, corpusNames[0]))
			return nil, fmt.Errorf("%w: %w; neither collection.tsv, corpus/*.parquet, .txt nor .md files are there%s", ErrNoData, err, languagesIn(dir))
		}
		if err := c.readPassages(o, corpusFiles...); err != nil {
			return nil, err
		}
	}
	qrelsFiles, err := o.qrelsFiles(dir)
	if err != nil {
		return nil, err
	}
	queriesFiles := []string{o.Queries}
	if o.Queries != "" && missing(o.Queries) {
		return nil, fmt.Errorf("%w: no file of queries %s", ErrNoData, o.Queries)
	}
	if o.Queries == "" {
		queriesFiles = o.find(dir, queriesNames)
	}
	if len(qrelsFiles) == 0 {
		c.lacks = o.noQrels(dir)
		if len(queriesFiles) == 0 {
			return c, nil
		}
	}
	if len(queriesFiles) == 0 {
		return nil, fmt.Errorf("%w: no queries in %s; write them to queries.jsonl, or name their file with --queries", ErrNoData, dir)
	}
	if c.Queries, err = readQueries(o, queriesFiles...); err != nil || len(qrelsFiles) == 0 {
		return c, err
	}
	passages, queries := map[string]struct{}{}, map[string]struct{}{}
	for _, p := range c.Passages {
		passages[p.ID] = struct{}{}
	}
	for _, q := range c.Queries {
		queries[q.ID] = struct{}{}
	}
	judgements, absent, firstAbsent := 0, 0, ""
	for _, file := range qrelsFiles {
		err = eachLine(file, o, qrelLine(func(query, passage string, grade int) error {
			if _, ok := queries[query]; !ok {
				return fmt.Errorf("%w: query %q is not in %s; add it or drop the judgement", ErrUnknownID, query, filepath.Base(queriesFiles[0]))
			}
			if err := c.Qrels.Add(query, passage, grade); err != nil {
				return err
			}
			judgements++
			if _, ok := passages[passage]; !ok {
				if absent++; c.absent == nil {
					c.absent, firstAbsent = map[string]struct{}{}, passage
				}
				c.absent[passage] = struct{}{}
			}
			return nil
		}))
		if err != nil {
			return nil, err
		}
	}
	if 2*absent > judgements {
		return nil, fmt.Errorf("%w: %d of %d judgements in %s name passages that are not in %s, such as %q; use the judgements of this corpus", ErrUnknownID, absent, judgements, qrelsFiles[0], filepath.Base(corpusFiles[0]), firstAbsent)
	}
	if !slices.ContainsFunc(c.Queries, func(q Query) bool { return c.Qrels.HasPositive(q.ID) }) {
		c.lacks = qrelsFiles[0] + " judges no passage relevant; give relevant ones a grade of 1 or more"
	}
	c.own = c.ownPassages()
	return c, nil
}

// EachPassage calls fn for every line of a corpus.jsonl, or of a .tsv file with an id, a title if there
// are three columns, and a text. An error of fn is a problem of that line. name is the file's name in
// errors.
func EachPassage(r io.Reader, name string, o ReadOptions, fn func(Passage) error) error {
	return EachLine(r, name, o, passageLine(name, fn))
}

// passageLine reads the lines of a file of passages.
func passageLine(file string, fn func(Passage) error) func(int, []byte) error {
	return func(_ int, b []byte) error {
		rec, err := recordOf(file, b)
		if err != nil {
			return err
		}
		return fn(Passage{ID: string(rec.ID), Title: rec.Title, Body: *rec.Text})
	}
}

// queryLine reads the lines of a queries.jsonl, or of a .tsv file with an id and a text.
func queryLine(file string, fn func(Query) error) func(int, []byte) error {
	return func(_ int, b []byte) error {
		rec, err := recordOf(file, b)
		if err != nil {
			return err
		}
		if strings.TrimSpace(*rec.Text) == "" {
			return fmt.Errorf("%w: query %q has no text; give it one or drop it", errEmptyQuery, rec.ID)
		}
		return fn(Query{ID: string(rec.ID), Text: *rec.Text})
	}
}

// record is a line of corpus.jsonl or queries.jsonl; other fields are allowed.
type record struct {
	ID    recordID `json:"_id"`
	Title string   `json:"title"`
	Text  *string  `json:"text"`

	// Names of the id in other exports, such as those of ir_datasets and MTEB.
	Plain recordID `json:"id"`
	Doc   recordID `json:"doc_id"`
	Query recordID `json:"query_id"`
}

// recordOf reads a line of a JSON file, or of a table with tabs if the file's name ends like one.
func recordOf(file string, b []byte) (record, error) {
	if extension(file) != ".tsv" {
		return parseRecord(b)
	}
	f := strings.Split(string(b), "\t")
	if len(f) < 2 || len(f) > 3 {
		return record{}, fmt.Errorf("%w: %d fields, want an id and a text separated by a tab, with a title between them if there is one", ErrBrokenLine, len(f))
	}
	rec := record{ID: recordID(strings.TrimSpace(f[0])), Text: &f[len(f)-1]}
	if len(f) == 3 {
		rec.Title = f[1]
	}
	return rec, rec.check()
}

// recordID is a JSON string or a JSON number, kept as it is written.
type recordID string

func (id *recordID) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] != '"' {
		var n json.Number
		if err := json.Unmarshal(b, &n); err != nil {
			return errors.New("_id must be a string or a number")
		}
		*id = recordID(n)
		return nil
	}
	return json.Unmarshal(b, (*string)(id))
}

func parseRecord(b []byte) (record, error) {
	var rec record
	if b = bytes.TrimSpace(b); b[0] != '{' {
		return rec, fmt.Errorf("%w: want a JSON object with _id and text", ErrBrokenLine)
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return rec, fmt.Errorf("%w: %v; want a JSON object with _id and text", ErrBrokenLine, err)
	}
	rec.ID = cmp.Or(rec.ID, rec.Plain, rec.Doc, rec.Query)
	if rec.Text == nil {
		var other struct{ Body, Abstract, Contents, Query json.RawMessage } // names of the text in other exports
		if err := json.Unmarshal(b, &other); err != nil {
			return rec, fmt.Errorf("%w: %v", ErrBrokenLine, err)
		}
		for _, raw := range []json.RawMessage{other.Body, other.Abstract, other.Contents, other.Query} {
			var s *string
			if rec.Text == nil && json.Unmarshal(raw, &s) == nil {
				rec.Text = s
			}
		}
		if rec.Text == nil && rec.Query != "" && rec.Title != "" { // a topic of TREC
			rec.Text = &rec.Title
		}
	}
	return rec, rec.check()
}

func (rec record) check() error {
	switch {
	case rec.ID == "":
		return fmt.Errorf("%w: no _id; give every line its own", ErrBrokenLine)
	case strings.ContainsAny(string(rec.ID), "\t\n\r"):
		return fmt.Errorf("%w: _id %q holds a tab or line break, which judgements cannot name; rename it", ErrBrokenLine, rec.ID)
	case rec.Text == nil:
		return fmt.Errorf("%w: no text field; add one, empty if need be", ErrBrokenLine)
	}
	return nil
}

// Sample returns n passages, drawn by the seed, with their judgements and the queries that still have
// any. It returns c itself if n is 0 or at least the number of passages.
func (c *Corpus) Sample(n int, seed uint64) *Corpus {
	if n <= 0 || n >= len(c.Passages) {
		return c
	}
	order := random.New(seed, "corpus", "sample").Perm(len(c.Passages))[:n]
	slices.Sort(order)
	out := &Corpus{Name: c.Name, Dir: c.Dir, Parts: c.Parts, Qrels: Qrels{}, own: c.own, lacks: c.lacks}
	kept := map[string]bool{}
	for _, i := range order {
		out.Passages = append(out.Passages, c.Passages[i])
		kept[c.Passages[i].ID] = true
	}
	for _, q := range c.Queries {
		for passage, grade := range c.Qrels[q.ID] {
			if kept[passage] {
				if out.Qrels[q.ID] == nil {
					out.Qrels[q.ID] = map[string]int{}
				}
				out.Qrels[q.ID][passage] = grade
			}
		}
		if out.Qrels[q.ID] != nil {
			out.Queries = append(out.Queries, q)
		}
	}
	return out
}
