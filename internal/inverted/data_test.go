package inverted_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// judged is a corpus with queries and graded judgements.
type judged struct {
	passages []record // id of a document is its place here
	queries  []record
	grades   map[string]map[string]int // query -> passage -> grade
}

type record struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func (r record) text() string { return strings.TrimSpace(r.Title + " " + r.Text) }

// dataDir is the folder of a judged set; the test is skipped where it lacks.
func dataDir(t testing.TB, set string) string {
	t.Helper()
	dir := os.Getenv("LEXSEM_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	dir = filepath.Join(dir, set)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not there; set LEXSEM_DATA to the folder of the judged sets", dir)
	}
	return dir
}

func readRecords(t testing.TB, file string) []record {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []record
	for dec := json.NewDecoder(bufio.NewReader(f)); dec.More(); {
		var r record
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func readJudged(t testing.TB, set string) judged {
	t.Helper()
	dir := dataDir(t, set)
	j := judged{readRecords(t, filepath.Join(dir, "corpus.jsonl")), nil, map[string]map[string]int{}}
	qrels, err := os.ReadFile(filepath.Join(dir, "qrels", "test.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(qrels)), "\n") {
		f := strings.Split(strings.TrimRight(line, "\r"), "\t")
		if i == 0 {
			continue
		}
		grade, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatal(err)
		}
		if j.grades[f[0]] == nil {
			j.grades[f[0]] = map[string]int{}
		}
		j.grades[f[0]][f[1]] = grade
	}
	for _, q := range readRecords(t, filepath.Join(dir, "queries.jsonl")) {
		if j.grades[q.ID] != nil {
			j.queries = append(j.queries, q)
		}
	}
	return j
}

// ndcg is nDCG@10 with linear gain of the answers to one query.
func (j judged) ndcg(q record, answers []inverted.Scored) float64 {
	var got, best float64
	for i, a := range answers {
		got += float64(j.grades[q.ID][j.passages[a.ID-1].ID]) / math.Log2(float64(i)+2)
	}
	var grades []int
	for _, g := range j.grades[q.ID] {
		grades = append(grades, g)
	}
	slices.SortFunc(grades, func(a, b int) int { return b - a })
	for i, g := range grades[:min(10, len(grades))] {
		best += float64(g) / math.Log2(float64(i)+2)
	}
	return got / best
}

func analyzer(t testing.TB) *text.Analyzer {
	t.Helper()
	a, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// build indexes passages; the first has id 1.
func build(t testing.TB, a *text.Analyzer, passages []record) (x *inverted.Words, bytes int) {
	t.Helper()
	e := newWords(t, inverted.Options{Analysis: a.Digest()}).Edit()
	var terms []text.Term
	for i, p := range passages {
		bytes += len(p.text())
		terms = a.Terms(terms[:0], p.text())
		if err := e.Add(uint64(i)+1, terms); err != nil {
			t.Fatal(err)
		}
	}
	return e.Done(), bytes
}

// TestJudged holds BM25 alone to what the prototype reached with stemming.
func TestJudged(t *testing.T) {
	for _, c := range []struct {
		set  string
		ndcg float64 // at least, × 100
	}{{"scifact", 68}, {"capret-en", 71}} {
		t.Run(c.set, func(t *testing.T) {
			j, a := readJudged(t, c.set), analyzer(t)
			x, _ := build(t, a, j.passages)
			sum, n := 0.0, 0
			for _, q := range j.queries {
				answers, err := x.Search(t.Context(), nil, a.Asked(nil, q.text()), 10, nil)
				if err != nil {
					t.Fatal(err)
				}
				if v := j.ndcg(q, answers); !math.IsNaN(v) {
					sum += v
					n++
				}
			}
			got := 100 * sum / float64(n)
			t.Logf("nDCG@10 %.2f over %d queries", got, n)
			if got < c.ndcg {
				t.Errorf("nDCG@10 is %.2f, want %.0f or more", got, c.ndcg)
			}
		})
	}
}
