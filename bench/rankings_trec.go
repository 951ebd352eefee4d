package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writeRun writes rankings as a TREC run file, sorted by query id; see WriteRun.
func writeRun(w io.Writer, tag string, r Rankings) error {
	bw := bufio.NewWriter(w)
	for _, query := range slices.Sorted(maps.Keys(r)) {
		if err := WriteRun(bw, tag, query, r[query]); err != nil {
			return err
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("writing a run: %w", err)
	}
	return nil
}

// WriteRun writes the ranking of one query as lines of a TREC run file: "query Q0 passage rank score
// tag". Scores fall strictly in single precision, in which trec_eval reads them, so every reader finds
// the order of hits. White space in ids and tag is written as visible signs, which ReadRun reads back.
// An empty id is an error.
func WriteRun(w io.Writer, tag, query string, hits []Ranked) error {
	tag, err := runField(tag)
	if err != nil {
		return err
	}
	if query, err = runField(query); err != nil {
		return err
	}
	scores := fallingScores(hits)
	for i, hit := range hits {
		p, err := runField(hit.ID)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s Q0 %s %d %s %s\n", query, p, i+1, runScore(scores[i]), tag); err != nil {
			return fmt.Errorf("writing a run: %w", err)
		}
	}
	return nil
}

// runScore writes a score as briefly as readers allow that parse it in double precision and then round, as trec_eval
// and ReadRun do: rounding twice may give another number than rounding once.
func runScore(score float32) string {
	s := strconv.FormatFloat(float64(score), 'g', -1, 32)
	if again, err := strconv.ParseFloat(s, 64); err != nil || float32(again) != score {
		return strconv.FormatFloat(float64(score), 'g', -1, 64)
	}
	return s
}

// fallingScores returns the scores of hits in strictly falling order: each score that is not lower
// than its predecessor becomes the next smaller number. If no smaller number exists, the scores count
// down from the number of hits.
func fallingScores(hits []Ranked) []float32 {
	out := make([]float32, len(hits))
	last := float32(math.Inf(1))
	for i, hit := range hits {
		s := float32(hit.Score)
		if !(s < last) || math.IsInf(float64(s), -1) {
			s = math.Nextafter32(last, float32(math.Inf(-1)))
		}
		if math.IsInf(float64(s), -1) {
			for j := range out {
				out[j] = float32(len(hits) - j)
			}
			return out
		}
		out[i], last = s, s
	}
	return out
}

// ReadRun reads a TREC run file. As in trec_eval, the order is that of the scores in single precision,
// and the rank column is ignored. Ties are broken as by Rank. Unusable lines are a *LineError; see
// ReadOptions.OnProblem.
func ReadRun(r io.Reader, name string, o ReadOptions) (Rankings, error) {
	type pair struct{ query, passage string }
	out, seen := Rankings{}, map[pair]struct{}{}
	err := EachLine(r, name, o, func(_ int, b []byte) error {
		f := runFields(b)
		if len(f) != 6 {
			return fmt.Errorf("%w: %d fields, want query, Q0, passage, rank, score and tag", ErrBrokenLine, len(f))
		}
		score, err := strconv.ParseFloat(f[4], 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(score) {
			return fmt.Errorf("%w: score %q is not a number", ErrBrokenLine, f[4])
		}
		p := pair{runID(f[0]), runID(f[2])}
		if _, dup := seen[p]; dup {
			return fmt.Errorf("%w: query %q has passage %q twice; keep one line", ErrDuplicateID, p.query, p.passage)
		}
		seen[p] = struct{}{}
		out[p.query] = append(out[p.query], Ranked{ID: p.passage, Score: float64(float32(score))})
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

// writeTrecQrels writes judgements as trec_eval reads them, with ids as in run files: query id, 0,
// passage id and grade.
func writeTrecQrels(w io.Writer, q Qrels) error {
	bw := bufio.NewWriter(w)
	for _, query := range slices.Sorted(maps.Keys(q)) {
		of, err := runField(query)
		if err != nil {
			return err
		}
		for _, passage := range slices.Sorted(maps.Keys(q[query])) {
			id, err := runField(passage)
			if err != nil {
				return err
			}
			fmt.Fprintf(bw, "%s 0 %s %d\n", of, id, q[query][passage])
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("writing judgements: %w", err)
	}
	return nil
}

// writeQrels writes judgements in the BEIR format that eachQrel reads.
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

// runFields returns the fields of a line that white space separates.
func runFields(b []byte) []string {
	return strings.FieldsFunc(string(b), func(r rune) bool { return strings.ContainsRune(runSpace, r) })
}

// Signs that replace characters in the written form of an id. An openBox replaces a blank. An escape,
// a hexadecimal number and a semicolon replace the character with that number: other white space, byte
// order marks, and the two signs themselves.
const (
	openBox = '␣'
	escape  = '␛'
)

// runField returns the written form of an id or tag: without white space that C or Python splits at, and
// without byte order marks, which readers drop at the start of a line.
func runField(id string) (string, error) {
	if id == "" || !utf8.ValidString(id) {
		return "", fmt.Errorf("%w: id %q cannot stand in a run file; give it a name in UTF-8", ErrBrokenLine, id)
	}
	var out strings.Builder
	for _, r := range id {
		switch {
		case r == ' ':
			out.WriteRune(openBox)
		case r == openBox, r == escape, r == '\ufeff', unicode.IsSpace(r), r >= 0x1c && r <= 0x1f:
			fmt.Fprintf(&out, "%c%X;", escape, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String(), nil
}

var escaped = regexp.MustCompile(string(escape) + `([0-9A-F]{1,6});`)

// runID is the id that runField wrote as field.
func runID(field string) string {
	if !strings.ContainsAny(field, string([]rune{openBox, escape})) {
		return field
	}
	return escaped.ReplaceAllStringFunc(strings.ReplaceAll(field, string(openBox), " "), func(s string) string {
		n, err := strconv.ParseInt(escaped.FindStringSubmatch(s)[1], 16, 32)
		if err != nil || !utf8.ValidRune(rune(n)) {
			return s
		}
		return string(rune(n))
	})
}
