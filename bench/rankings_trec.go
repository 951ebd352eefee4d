package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// writeRun writes rankings as a TREC run file: "query Q0 passage rank score tag" per line, sorted by
// query id. The format forbids spaces in ids, so they are written as ␣ (U+2423). An id that contains ␣
// or other ASCII white space is an error. Scores keep all digits, so that ReadRun gives the same
// ranking.
func writeRun(w io.Writer, tag string, r Rankings) error {
	tag, err := runField(tag)
	if err != nil {
		return err
	}
	bw := bufio.NewWriter(w)
	for _, query := range slices.Sorted(maps.Keys(r)) {
		q, err := runField(query)
		if err != nil {
			return err
		}
		for i, hit := range r[query] {
			p, err := runField(hit.ID)
			if err != nil {
				return err
			}
			fmt.Fprintf(bw, "%s Q0 %s %d %s %s\n", q, p, i+1, strconv.FormatFloat(hit.Score, 'g', -1, 64), tag)
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("writing a run: %w", err)
	}
	return nil
}

// ReadRun reads a TREC run file. As in trec_eval, the order is that of the scores, and the rank column
// is ignored. Ties are broken as by Rank. Unusable lines are a *LineError; see ReadOptions.OnProblem.
func ReadRun(r io.Reader, name string, o ReadOptions) (Rankings, error) {
	type pair struct{ query, passage string }
	out, seen := Rankings{}, map[pair]struct{}{}
	err := EachLine(r, name, o, func(_ int, b []byte) error {
		f := strings.FieldsFunc(string(b), func(r rune) bool { return strings.ContainsRune(runSpace, r) })
		if len(f) != 6 {
			return fmt.Errorf("%w: %d fields, want query, Q0, passage, rank, score and tag", ErrBrokenLine, len(f))
		}
		score, err := strconv.ParseFloat(f[4], 64)
		if err != nil || math.IsNaN(score) {
			return fmt.Errorf("%w: score %q is not a number", ErrBrokenLine, f[4])
		}
		p := pair{runID(f[0]), runID(f[2])}
		if _, dup := seen[p]; dup {
			return fmt.Errorf("%w: query %q has passage %q twice; keep one line", ErrDuplicateID, p.query, p.passage)
		}
		seen[p] = struct{}{}
		out[p.query] = append(out[p.query], Ranked{ID: p.passage, Score: score})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, hits := range out {
		Rank(hits)
	}
	return out, nil
}

// writeQrels writes judgements in the BEIR format that EachQrel reads.
func writeQrels(w io.Writer, q Qrels) error {
	bw := bufio.NewWriter(w)
	fmt.Fprint(bw, "query-id\tcorpus-id\tscore\n")
	for _, query := range slices.Sorted(maps.Keys(q)) {
		for _, passage := range slices.Sorted(maps.Keys(q[query])) {
			fmt.Fprintf(bw, "%s\t%s\t%d\n", query, passage, q[query][passage])
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("writing judgements: %w", err)
	}
	return nil
}

// writeQueries writes queries in the BEIR format that eachQuery reads.
func writeQueries(w io.Writer, queries []Query) error {
	bw := bufio.NewWriter(w)
	e := json.NewEncoder(bw)
	e.SetEscapeHTML(false)
	for _, q := range queries {
		if err := e.Encode(struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}{q.ID, q.Text}); err != nil {
			return fmt.Errorf("writing queries: %w", err)
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("writing queries: %w", err)
	}
	return nil
}

// runSpace ends a field of a run file, as trec_eval reads it (C's isspace).
const runSpace = " \t\r\n\v\f"

// openBox stands for a space inside an id, which would end the field.
const openBox = "␣"

// runField returns the written form of an id or tag.
func runField(id string) (string, error) {
	if id == "" || strings.ContainsAny(id, runSpace[1:]+openBox) {
		return "", fmt.Errorf("%w: id %q cannot stand in a run file (empty, or with %s or white space other than a blank); rename it", ErrBrokenLine, id, openBox)
	}
	return strings.ReplaceAll(id, " ", openBox), nil
}

func runID(field string) string { return strings.ReplaceAll(field, openBox, " ") }
