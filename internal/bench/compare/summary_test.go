package compare

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/corpustest"
)

// made is a report of one corpus: the scores of two systems on each task, one
// for each id.
func made(data string, ids []string, tasks map[string][2][]float64) *bench.Report {
	r := &bench.Report{Data: data, Encoder: "enc", Version: "v1", Seed: 1, Distinct: 30, BytesPerPassage: map[string]float64{"dense": 100, "hybrid": 300}}
	for _, task := range []string{"query", "keyword", "keyword-rake", "part:8", "part:16", "poem"} {
		scores, ok := tasks[task]
		if !ok {
			continue
		}
		r.Tasks = append(r.Tasks, bench.TaskQueries{Task: task, Queries: ids})
		for i, name := range []string{"dense", "hybrid"} {
			r.Results = append(r.Results, bench.Result{System: name, Task: task, CPUMsPerQuery: float64(i + 1), PerQuery: map[string][]float64{"ndcg@10": scores[i]}})
		}
	}
	return r
}

// "1" and "q1" are in the test half, "2" and "q2" in the dev half.
func TestSummaryWeighsKindsAndCorporaAlike(t *testing.T) {
	reports := []*bench.Report{
		made("a", []string{"1", "2", "q1", "q2"}, map[string][2][]float64{
			"query":        {{.2, 1, .4, 1}, {1, 1, 1, 1}},
			"keyword":      {{0, 1, 0, 1}, {1, 1, 1, 1}},
			"keyword-rake": {{1, 1, 1, 1}, {1, 1, 1, 1}},
			"poem":         {{0, 0, 0, 0}, {0, 0, 0, 0}},
		}),
		made("b+c", []string{"b:1", "c:2", "b:q1", "c:q2"}, map[string][2][]float64{
			"keyword": {{1, 0, 1, 0}, {.5, 0, .5, 0}},
			"part:8":  {{.7, 0, .9, 0}, {1, 0, 1, 0}},
		}),
	}
	reports[1].Distinct, reports[1].BytesPerPassage["hybrid"] = 10, 700 // (30·300 + 10·700) / 40 = 400
	test, err := Summarize(reports, bench.TestHalf, "ndcg@10", 1)
	if err != nil {
		t.Fatal(err)
	}
	// dense: questions .3; keywords ½(½(0+1) + 1) = .75; spans .8.
	for i, want := range [][]float64{{(.3 + .75 + .8) / 3, .3, .75, .8}, {(1 + .75 + 1) / 3, 1, .75, 1}} {
		row := test.Rows[i]
		if len(row.Cells) != 4 || row.CPUMsPerQuery != float64(i+1) || row.BytesPerPassage != []float64{100, 400}[i] {
			t.Fatalf("row %+v", row)
		}
		for c, cell := range row.Cells {
			if math.Abs(cell.Mean-want[c]) > 1e-12 || cell.Low > cell.Mean+1e-12 || cell.High < cell.Mean-1e-12 {
				t.Errorf("%s, column %d: %+v, want %v", row.System, c, cell, want[c])
			}
		}
	}
	if iv := test.Rows[0].Cells[1]; math.Abs(iv.Low-.2) > 1e-12 || math.Abs(iv.High-.4) > 1e-12 {
		t.Errorf("interval of two questions: %+v", iv)
	}
	if k := test.Kinds[1]; k.Kind != "keywords" || k.Queries != 6 || strings.Join(k.Corpora, " ") != "a b+c" {
		t.Errorf("keywords: %+v", k)
	}
	dev, err := Summarize(reports, bench.DevHalf, "ndcg@10", 1)
	if err != nil || math.Abs(dev.Rows[0].Cells[1].Mean-1) > 1e-12 || dev.Rows[0].Cells[3].Mean != 0 {
		t.Fatalf("dev half: %+v, %v", dev, err)
	}
	var out strings.Builder
	if err := WriteSummaries(&out, []*Summary{dev, test}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`\| dev half, ndcg@10 × 100 \| mean \| questions \(1\) \| keywords \(2\) \| spans \(1\) \| CPU µs a query \| bytes a passage \|`,
		`\| hybrid \| \*\*91\.7\*\* \(91\.7–91\.7\) \| \*\*100\.0\*\* \(100\.0–100\.0\) \| \*\*75\.0\*\* .* \| 2000 \| 400 \|`,
		`\| dense \| 61\.7 .* \| 30\.0 \(20\.0–40\.0\) \| \*\*75\.0\*\* `,
		`Keywords: a, b\+c \(6 and 6 queries\)`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

// What cannot be put into one table is refused, and says what differs.
func TestSummaryRefuses(t *testing.T) {
	one := func() *bench.Report {
		return made("a", []string{"1", "2"}, map[string][2][]float64{"query": {{1, 0}, {1, 1}}})
	}
	for want, change := range map[string]func(*bench.Report){
		"two of a":               func(r *bench.Report) { r.Data = "a" },
		`"v1", true`:             func(r *bench.Report) { r.Clean = true },
		"other":                  func(r *bench.Report) { r.Encoder = "other" },
		"no hybrid on query":     func(r *bench.Report) { r.Results = r.Results[:1] },
		"no scores":              func(r *bench.Report) { r.Results[1].PerQuery = nil },
		"asks the dev half":      func(r *bench.Report) { r.Half = bench.DevHalf },
		`program "v2"|"v2", fal`: func(r *bench.Report) { r.Version = "v2" },
	} {
		r := one()
		r.Data = "b"
		change(r)
		if _, err := Summarize([]*bench.Report{one(), r}, bench.TestHalf, "ndcg@10", 1); !errors.Is(err, ErrReport) || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := Summarize(nil, bench.TestHalf, "ndcg@10", 1); !errors.Is(err, ErrReport) {
		t.Errorf("nothing: %v", err)
	}
	half := one()
	half.Half, half.Tasks[0].Queries = bench.DevHalf, []string{"2", "q2"}
	if s, err := Summarize([]*bench.Report{half}, bench.DevHalf, "ndcg@10", 1); err != nil || s.Kinds[0].Queries != 2 {
		t.Errorf("a report of the half itself: %v", err)
	}
}

// Reports of a run carry all that a table shows.
func TestSummaryOfRuns(t *testing.T) {
	r := measured(t, bench.Options{Data: corpustest.Town(t, 60), Systems: []string{"dense", "rlr", "slr", "rlr-local", "bm25", "hybrid"}, Tasks: []string{"query", "part:4"}})
	s, err := Summarize([]*bench.Report{r}, bench.TestHalf, "ndcg@10", 1)
	if err != nil {
		t.Fatal(err)
	}
	bytes := map[string]float64{}
	for _, row := range s.Rows {
		bytes[row.System] = row.BytesPerPassage
		if !(row.CPUMsPerQuery > 0) || !(row.BytesPerPassage > 0) {
			t.Errorf("%+v costs nothing", row)
		}
	}
	if dense := bytes["dense"]; dense < 4*32 || bytes["rlr"] <= dense || bytes["slr"] <= dense || bytes["rlr-local"] <= dense || math.Abs(bytes["hybrid"]-bytes["rlr"]-bytes["bm25"]) > 1e-6 {
		t.Errorf("bytes a passage: %v", bytes)
	}
}
