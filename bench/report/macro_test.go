package report

import (
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
)

// TestMacroMeans: corpora count alike whatever their queries and seeds, and only what all have is shown.
func TestMacroMeans(t *testing.T) {
	b := &Bundle{}
	add := func(data, enc string, seed uint64, queries int, scores map[string]float64, systems ...string) {
		r := &bench.Report{Data: data, Encoder: enc, Seed: seed}
		for _, s := range systems {
			r.Results = append(r.Results, bench.Result{System: s, Task: "query", Queries: queries, Metrics: map[string]float64{"ndcg@10": scores[s], "mrr": 1}})
		}
		b.Benches = append(b.Benches, r)
	}
	add("a_1", "e", 1, 10, map[string]float64{"dense": .2, "rlr": .4, "slr": .9}, "dense", "rlr", "slr")
	add("a_1", "e", 2, 10, map[string]float64{"dense": .4, "rlr": .6, "slr": .9}, "dense", "rlr", "slr")
	add("b", "e", 1, 1000, map[string]float64{"dense": .9, "rlr": .7}, "dense", "rlr")
	add("c", "other", 1, 10, map[string]float64{"dense": 1}, "dense")
	var md, tex, csv, html strings.Builder
	for _, err := range []error{b.WriteMarkdown(&md), b.WriteLaTeX(&tex, nil), b.WriteCSV(&csv), b.WriteHTML(&html)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for out, want := range map[*strings.Builder]string{
		&md:   "**query over 2 corpora**, e, ndcg@10 × 100\n\n| system | a_1 (10) | b (1000) | mean |\n|---|---|---|---|\n| dense | 30.0 | **90.0** | **60.0** |\n| rlr | **50.0** | 70.0 | **60.0** |\n",
		&tex:  "system & a\\_1 & b & mean \\\\\n\\midrule\ndense & 30.0 & \\textbf{90.0} & \\textbf{60.0} \\\\\nrlr & \\textbf{50.0} & 70.0 & \\textbf{60.0} \\\\\n\\bottomrule",
		&csv:  "mean of 2 corpora,e,,query,rlr,ndcg@10,1010,0.6,,,,,\n",
		&html: "<tr><td>rlr</td><td><b>50.0</b></td><td>70.0</td><td><b>60.0</b></td></tr>",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if n := strings.Count(csv.String(), "mean of"); n != 4 {
		t.Errorf("%d lines of means, want two systems by two metrics", n)
	}
	checkLaTeX(t, tex.String()[strings.LastIndex(tex.String(), "\\begin{table}"):])
	one := &Bundle{Benches: b.Benches[:2]}
	var alone strings.Builder
	if err := one.WriteMarkdown(&alone); err != nil || strings.Contains(alone.String(), "over") {
		t.Errorf("one corpus has a mean over corpora: %v\n%s", err, alone.String())
	}
}
