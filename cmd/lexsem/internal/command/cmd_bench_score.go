package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/lexsem/lexsem/bench"
)

var cmdBenchScore = command{
	name:    "bench score",
	args:    "RUN.trec…",
	summary: "score TREC run files of any program against judgements",
	about: `
Reads judgements of BEIR (query id, passage id, grade, separated by tabs) or TREC (query id, 0,
passage id, grade), and run files in TREC's format, each perhaps packed by gzip. Prints the metrics of each run: means over all
judged queries (trec_eval -c), of which those without an answer or a relevant passage count 0. As in
trec_eval 9, scores count in single precision, and equal ones are ordered by falling passage id.`,
	examples: []string{
		"lexsem bench score --qrels runs/keyword.qrels.tsv runs/keyword.dense.trec runs/keyword.rlr.trec",
		"lexsem bench score --qrels qrels/test.tsv --metrics ndcg@10,ndcg-exp@10 other.trec --json -",
	},
	declare: func(f *flags) action {
		qrels := f.str("qrels", "", "`FILE`judgements of BEIR or TREC")
		metrics := f.str("metrics", "ndcg@1,ndcg@10,mrr@10,recall@10,map@100", "`LIST`metrics: "+metricNames())
		relevance := f.int("relevance", 1, "least grade that counts as relevant; nDCG takes all grades as gains")
		to := f.outFile("json", "", "`FILE`write the scores as JSON; - prints them instead of the table")
		return func(_ context.Context, a *app, args []string) error {
			if *qrels == "" || len(args) == 0 {
				return hinted(usagef("judgements or run file missing"), "lexsem bench score --qrels FILE RUN.trec")
			}
			if *relevance < 1 {
				return usagef("--relevance %d: use the least grade that counts as relevant, from 1", *relevance)
			}
			ms, err := bench.ParseMetrics(list(*metrics), *relevance)
			if err != nil {
				return benchError(err)
			}
			judged, err := bench.ReadQrels(*qrels, bench.ReadOptions{})
			if err != nil {
				return err
			}
			type scored struct {
				Run     string             `json:"run"`
				Queries int                `json:"queries"`
				Metrics map[string]float64 `json:"metrics"`
			}
			var out []scored
			for _, name := range args {
				r, err := a.input(name)
				if err != nil {
					return err
				}
				rankings, err := bench.ReadRun(r, name, bench.ReadOptions{})
				if err := errors.Join(err, r.Close()); err != nil {
					return err
				}
				if !answers(rankings, judged) {
					return hinted(fmt.Errorf("%s answers no query that %s judges", name, *qrels), "the run and the judgements must use the same query ids")
				}
				s, err := bench.EvaluateJudged(judged, rankings, ms)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				out = append(out, scored{name, len(s.Queries), s.Mean})
			}
			return writeReport(a, *to, func(w io.Writer) error { return bench.WriteJSON(w, out) }, func(w io.Writer) error {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
				fmt.Fprint(t, "run\tqueries\t")
				for _, m := range ms {
					fmt.Fprintf(t, "%s\t", m.Name)
				}
				fmt.Fprintln(t)
				for _, s := range out {
					fmt.Fprintf(t, "%s\t%d\t", s.Run, s.Queries)
					for _, m := range ms {
						fmt.Fprintf(t, "%.2f\t", 100*s.Metrics[m.Name])
					}
					fmt.Fprintln(t)
				}
				return t.Flush()
			})
		}
	},
}

// answers reports whether rankings contain a query of judged.
func answers(rankings bench.Rankings, judged bench.Qrels) bool {
	for q := range rankings {
		if len(judged[q]) > 0 {
			return true
		}
	}
	return false
}
