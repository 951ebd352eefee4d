package report

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/repeat"
)

// paperReport has two tasks, ties for the best, and names that LaTeX would read.
func paperReport() *bench.Report {
	result := func(task, system string, ndcg, mrr float64, p float64) bench.Result {
		r := bench.Result{System: system, Task: task, Queries: 2, Metrics: map[string]float64{"ndcg@10": ndcg, "mrr": mrr}, PerQuery: map[string][]float64{"ndcg@10": {ndcg, ndcg}, "mrr": {mrr, mrr}}}
		if system != "dense" {
			r.VsDenseBy = map[string]bench.Difference{"ndcg@10": {Delta: .1, P: p / 2, PHolm: p}, "mrr": {Delta: .1, P: .5, PHolm: 1}}
		}
		return r
	}
	return &bench.Report{Data: "my_corpus & co", Documents: 500, Encoder: "a_b/c#1", Seed: 7, Version: "1.2", Commit: "0123456789abcdef",
		Tasks:   []bench.TaskQueries{{Task: "query", Queries: []string{"q1", "q,2"}}, {Task: "part:16", Queries: []string{"a", "b"}}},
		Results: []bench.Result{result("query", "dense", .5, .6004, 0), result("query", "rlr+slr", .7, .6001, .04), result("part:16", "dense", .9, .9, 0), result("part:16", "rlr+slr", .8, .95, .06)}}
}

func TestLaTeX(t *testing.T) {
	b := &Bundle{Benches: []*bench.Report{paperReport()}}
	var out strings.Builder
	if err := b.WriteLaTeX(&out, []string{"ndcg@10", "mrr", "absent@1"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"% Cite: @software{lexsem, author = {{The lexsem authors}}, title = {lexsem 1.2, commit 0123456789ab}, ", "\\begin{tabular}{lrr}", "system & nDCG@10 & MRR \\\\", "\\multicolumn{3}{l}{\\emph{query}} \\\\\ndense & 50.0 & \\textbf{60.0} \\\\\nrlr+slr & \\textbf{70.0}$^\\dagger$ & \\textbf{60.0} \\\\",
		"\\emph{part:16}} \\\\\ndense & \\textbf{90.0} & 90.0 \\\\\nrlr+slr & 80.0 & \\textbf{95.0} \\\\",
		"\\caption{my\\_corpus \\& co, 500 passages, a\\_b/c\\#1, seed 7, lexsem 1.2, commit 0123456789ab. ", "\\label{tab:my-corpus---co}",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	checkLaTeX(t, out.String())
}

// checkLaTeX tells whether braces and environments are closed, and every line of a table has its columns.
func checkLaTeX(t *testing.T, s string) {
	t.Helper()
	plain := regexp.MustCompile(`\\[\\{}&%$#_]`).ReplaceAllStringFunc(s, func(x string) string { return strings.Repeat(" ", len(x)) })
	if strings.Count(plain, "{") != strings.Count(plain, "}") || strings.Count(plain, "$")%2 != 0 {
		t.Errorf("braces or dollars are not closed:\n%s", s)
	}
	if strings.Count(s, "\\begin{") != strings.Count(s, "\\end{") {
		t.Errorf("environments are not closed:\n%s", s)
	}
	columns := len(regexp.MustCompile(`\\begin\{tabular\}\{(l r*|lr*)\}`).FindStringSubmatch(s)[1]) - 1
	for line := range strings.Lines(plain) {
		if strings.HasPrefix(line, "\\") || strings.HasPrefix(line, "%") || !strings.Contains(line, "&") {
			continue
		}
		if n := strings.Count(line, "&"); n != columns {
			t.Errorf("%d columns, want %d: %s", n, columns, line)
		}
	}
}

func TestCSV(t *testing.T) {
	b := &Bundle{Benches: []*bench.Report{paperReport()}}
	var means, queries strings.Builder
	if err := b.WriteCSV(&means); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(means.String())).ReadAll()
	if err != nil || len(rows) != 1+4*2 || !slices.Equal(rows[3], []string{"my_corpus & co", "a_b/c#1", "7", "query", "rlr+slr", "ndcg@10", "2", "0.7", "", "", "0.1", "0.02", "0.04"}) {
		t.Errorf("%d rows, %v, %v", len(rows), rows[3], err)
	}
	if err := b.WritePerQuery(&queries); err != nil {
		t.Fatal(err)
	}
	rows, err = csv.NewReader(strings.NewReader(queries.String())).ReadAll()
	if err != nil || len(rows) != 1+4*2*2 || !slices.Equal(rows[2], []string{"my_corpus & co", "a_b/c#1", "7", "query", "dense", "q,2", "ndcg@10", "0.5"}) {
		t.Errorf("%d rows, %v, %v", len(rows), rows[2], err)
	}
	b.Benches[0].Results[0].PerQuery = nil
	if err := b.WritePerQuery(&queries); err == nil || !strings.Contains(err.Error(), "dense on query has no scores of single queries") {
		t.Errorf("without scores: %v", err)
	}
}

// TestSeedsAsFiles: what RunSeeds wrote is read back as a report for each seed, and its means stand in LaTeX.
func TestSeedsAsFiles(t *testing.T) {
	s, err := repeat.RunSeeds(context.Background(), encoder.NewHash(32), bench.Options{Data: corpus(t), Systems: []string{"dense", "bm25"}, Tasks: []string{"keyword"}, Metrics: []string{"ndcg@10"}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "s.json")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WriteJSON(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := Read(name)
	if err != nil || len(b.Benches) != 2 || b.Benches[1].Seed != 2 {
		t.Fatalf("%+v, %v", b, err)
	}
	var out strings.Builder
	if err := (&Bundle{Benches: s.Reports, Seeds: s}).WriteLaTeX(&out, nil); err != nil {
		t.Fatal(err)
	}
	want := strconv.FormatFloat(100*s.Results[0].Metrics["ndcg@10"].Mean, 'f', 1, 64) + " $\\pm$ " + strconv.FormatFloat(100*s.Results[0].Metrics["ndcg@10"].SD, 'f', 1, 64)
	if !strings.Contains(out.String(), "dense & "+want) || !strings.Contains(out.String(), "over seeds 1 to 2") {
		t.Errorf("no %q in\n%s", want, out.String())
	}
	checkLaTeX(t, out.String())
}
