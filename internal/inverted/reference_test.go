package inverted_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// recorded is what testdata/record_bm25s.py wrote: scores of another
// implementation, with the factor k1+1.
type recorded struct {
	K1, B float64
	Small struct {
		Docs, Queries []string
		Scores        [][]float64 // of each query: those of all documents
	}
	Scifact []struct {
		Query string
		Top   [][2]any // id and score, best first
	}
}

func readRecorded(t *testing.T) (r recorded) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "bm25s.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

var ascii = regexp.MustCompile(`[a-z0-9]+`)

func asciiTerms(s string) []text.Term { return terms(ascii.FindAllString(strings.ToLower(s), -1)...) }

// TestReferenceSmall compares all scores of a small case with those of bm25s.
func TestReferenceSmall(t *testing.T) {
	r := readRecorded(t)
	x := newWords(t, inverted.Options{K1: r.K1, B: r.B})
	var ids []uint64
	for i, d := range r.Small.Docs {
		ids = append(ids, uint64(i))
		if err := x.Add(uint64(i), terms(strings.Fields(d)...)); err != nil {
			t.Fatal(err)
		}
	}
	got, found := make([]float64, len(ids)), 0
	for n, q := range r.Small.Queries {
		if err := x.Scores(t.Context(), got, terms(strings.Fields(q)...), ids); err != nil {
			t.Fatal(err)
		}
		for i := range ids {
			if math.Abs(got[i]-r.Small.Scores[n][i]) > 1e-9 {
				t.Errorf("%q: document %d scores %v, want %v", q, i, got[i], r.Small.Scores[n][i])
			}
			if got[i] > 0 {
				found++
			}
		}
	}
	if len(ids) != 60 || found < 300 {
		t.Errorf("%d scores of %d documents are too few to compare", found, len(ids))
	}
}

// TestReferenceScifact compares the ten best of scifact with those of bm25s.
func TestReferenceScifact(t *testing.T) {
	r := readRecorded(t)
	dir := dataDir(t, "scifact")
	x := newWords(t, inverted.Options{K1: r.K1, B: r.B})
	corpus := readRecords(t, filepath.Join(dir, "corpus.jsonl"))
	ids := map[string]uint64{}
	for i, p := range corpus {
		ids[p.ID] = uint64(i)
		if err := x.Add(uint64(i), asciiTerms(p.text())); err != nil {
			t.Fatal(err)
		}
	}
	queries := map[string]string{}
	for _, q := range readRecords(t, filepath.Join(dir, "queries.jsonl")) {
		queries[q.ID] = q.Text
	}
	worst := 0.0
	for _, want := range r.Scifact {
		query := asciiTerms(queries[want.Query])
		got, err := x.Search(t.Context(), nil, query, 10, nil)
		if err != nil || len(got) != len(want.Top) {
			t.Fatalf("query %s: %d answers, want %d: %v", want.Query, len(got), len(want.Top), err)
		}
		exact := make([]float64, 1)
		for i, w := range want.Top {
			score := w[1].(float64)
			if err := x.Scores(t.Context(), exact, query, []uint64{ids[w[0].(string)]}); err != nil {
				t.Fatal(err)
			}
			worst = max(worst, math.Abs(got[i].Score-score), math.Abs(exact[0]-score))
		}
	}
	if len(r.Scifact) < 50 || worst > 1e-4 {
		t.Errorf("over %d queries scores differ by up to %g, want 1e-4 or less", len(r.Scifact), worst)
	}
	t.Logf("greatest difference over %d queries: %.2g", len(r.Scifact), worst)
}
