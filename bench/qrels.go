package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Qrels are relevance judgements: query id → passage id → grade. Grades above zero are positive.
// Others mean judged and not relevant.
type Qrels map[string]map[string]int

// Add records a judgement. A second judgement of a pair is ErrDuplicateID.
func (q Qrels) Add(query, passage string, grade int) error {
	m := q[query]
	if m == nil {
		m = map[string]int{}
		q[query] = m
	}
	if _, dup := m[passage]; dup {
		return fmt.Errorf("%w: query %q and passage %q were judged earlier in the file; keep one judgement", ErrDuplicateID, query, passage)
	}
	m[passage] = grade
	return nil
}

// Best returns the passage with the highest positive grade of a query, or "" if there is none. Ties go to
// the smallest id.
func (q Qrels) Best(query string) string {
	id, grade := "", 0
	for p, g := range q[query] {
		if g > grade || g == grade && g > 0 && p < id {
			id, grade = p, g
		}
	}
	return id
}

// HasPositive reports whether query has a passage with a grade above zero. Only such queries enter a
// mean.
func (q Qrels) HasPositive(query string) bool {
	for _, g := range q[query] {
		if g > 0 {
			return true
		}
	}
	return false
}

// ReadQrels reads a file of judgements, which may be compressed (.gz) or a Parquet file; see eachQrel.
func ReadQrels(file string, o ReadOptions) (Qrels, error) {
	q := Qrels{}
	return q, eachLine(file, o, qrelLine(q.Add))
}

// eachQrel calls fn for every judgement of a file. A line has the columns of BEIR: query id, corpus id
// and an integer score, separated by tabs. Or it has those of TREC: query id, a column without meaning,
// passage id and grade, separated by tabs or blanks, with ids as WriteRun writes them. Or it is a JSON
// object with query-id, corpus-id and score, or query_id, doc_id and relevance. A heading
// whose last field is score, relevance, rel, grade or label is optional. An error of fn is a problem of that line.
func eachQrel(r io.Reader, name string, o ReadOptions, fn func(query, passage string, grade int) error) error {
	return EachLine(r, name, o, qrelLine(fn))
}

// qrelLine reads the lines of a file of judgements.
func qrelLine(fn func(query, passage string, grade int) error) func(int, []byte) error {
	return func(line int, b []byte) error {
		query, passage, score, err := qrelFields(b)
		if err != nil {
			return err
		}
		if line == 1 && slices.Contains([]string{"score", "relevance", "rel", "grade", "label"}, strings.ToLower(score)) {
			return nil
		}
		grade, err := strconv.Atoi(strings.TrimSuffix(score, ".0"))
		if err != nil {
			return fmt.Errorf("%w: score %q is not an integer; write 0, 1, 2, …", ErrBrokenLine, score)
		}
		if query == "" || passage == "" {
			return fmt.Errorf("%w: an empty id; want query id, corpus id and score", ErrBrokenLine)
		}
		return fn(query, passage, grade)
	}
}

// qrelFields returns the ids and the score of a line.
func qrelFields(b []byte) (query, passage, score string, err error) {
	if t := bytes.TrimSpace(b); t[0] == '{' {
		var q struct {
			Query   recordID    `json:"query-id"`
			Passage recordID    `json:"corpus-id"`
			Score   json.Number `json:"score"`

			QueryID   recordID    `json:"query_id"` // ir_datasets
			DocID     recordID    `json:"doc_id"`
			Relevance json.Number `json:"relevance"`
		}
		if err := json.Unmarshal(t, &q); err != nil {
			return "", "", "", fmt.Errorf("%w: %v; want an object with query-id, corpus-id and score", ErrBrokenLine, err)
		}
		return string(cmp.Or(q.Query, q.QueryID)), string(cmp.Or(q.Passage, q.DocID)), string(cmp.Or(q.Score, q.Relevance)), nil
	}
	f := strings.Split(string(b), "\t")
	if len(f) == 3 {
		return f[0], f[1], strings.TrimSpace(f[2]), nil
	}
	if len(f) != 4 {
		f = runFields(b)
	}
	if len(f) != 4 {
		return "", "", "", fmt.Errorf("%w: %d fields, want query id, corpus id and score separated by tabs, or query id, 0, passage id and grade separated by tabs or blanks", ErrBrokenLine, len(f))
	}
	return runID(strings.TrimSpace(f[0])), runID(strings.TrimSpace(f[2])), strings.TrimSpace(f[3]), nil
}
