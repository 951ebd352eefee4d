package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/lexsem/lexsem/bench"
)

// publishedRow is a row of Table 1 of LexSemBridge: nDCG@1 × 100 of each task of bridgeTasks on each
// corpus of publishedData.
type publishedRow struct {
	model   string
	figures [][]float64
}

var (
	bridgeTasks   = []string{"query", "keyword", "part:16", "part:32", "part:64"}
	publishedData = []string{"HotpotQA", "FEVER", "NQ"}
	published     = []publishedRow{
		{"DistilBERT-base as it is", [][]float64{{22.77, 58.72, 80.30, 96.30, 99.34}, {31.83, 50.03, 50.23, 70.51, 88.13}, {13.64, 39.12, 71.88, 92.00, 98.54}}},
		{"trained", [][]float64{{35.15, 66.54, 80.26, 96.86, 99.26}, {49.78, 56.97, 46.16, 69.91, 83.99}, {19.70, 49.91, 70.36, 91.30, 98.06}}},
		{"trained with SLR", [][]float64{{36.63, 69.16, 81.80, 97.02, 99.28}, {53.03, 59.69, 47.97, 70.71, 84.06}, {20.46, 52.92, 72.22, 91.60, 98.10}}},
		{"trained with LLR", [][]float64{{38.61, 76.31, 85.20, 97.40, 99.28}, {62.08, 66.01, 53.64, 73.58, 86.26}, {25.76, 63.47, 78.12, 93.06, 98.50}}},
		{"trained with CLR", [][]float64{{44.06, 79.03, 86.20, 97.64, 99.34}, {68.51, 72.81, 58.31, 77.39, 90.19}, {28.79, 67.78, 79.20, 93.98, 98.92}}},
		{"MPNet-base as it is", [][]float64{{6.44, 8.23, 50.36, 86.00, 98.50}, {15.35, 12.71, 22.75, 50.97, 75.05}, {5.30, 5.82, 41.40, 77.46, 96.08}}},
		{"trained", [][]float64{{40.10, 72.84, 85.62, 98.16, 99.44}, {79.60, 75.12, 61.91, 83.59, 94.13}, {27.27, 56.67, 79.02, 95.04, 99.04}}},
		{"trained with SLR", [][]float64{{42.08, 73.56, 85.78, 98.18, 99.46}, {80.63, 74.92, 62.91, 84.06, 94.33}, {29.55, 58.92, 79.36, 95.14, 99.14}}},
		{"trained with LLR", [][]float64{{43.56, 74.89, 86.32, 98.26, 99.44}, {81.10, 75.53, 63.51, 84.26, 94.26}, {28.79, 59.76, 79.74, 95.12, 99.04}}},
		{"trained with CLR", [][]float64{{44.55, 78.31, 87.52, 98.16, 99.46}, {82.79, 77.57, 63.38, 84.32, 94.20}, {31.82, 65.20, 81.88, 95.58, 99.12}}},
	}
)

var cmdBenchLexSemBridge = command{
	name:    "bench lexsembridge",
	summary: "LexSemBridge: Table 1, beside the paper's figures",
	about: `
Measures questions, keywords and spans of 16, 32 and 64 words by nDCG@1, in the layout of Table 1 of
LexSemBridge, and prints the paper's figures below. Here the encoder is frozen and the bridge is
fitted on the corpus; the paper trains the encoder with the bridge and draws other keywords and
passages. So compare what a row adds to the row without a bridge, not the figures themselves.
† differs from dense by more than chance (p < .05 with Holm's correction).`,
	examples: []string{
		"lexsem bench lexsembridge --data my-corpus",
		"lexsem bench lexsembridge --data beir/hotpotqa,beir/fever,beir/nq --clean --systems dense,slr,llr,clr --json table1.json",
	},
	declare: func(f *flags) action {
		p := declareProtocol(f, "dense,slr,llr,clr,rlr,rlr+slr").declareLanguage(f)
		p.declareLimit(f, "use at most N queries of each task; default all")
		clean := f.bool("clean", "draw spans from one half of each passage and fit bridges on the other, so that they share no run of words")
		return func(ctx context.Context, a *app, _ []string) error {
			dirs, err := p.folders()
			if err != nil {
				return err
			}
			reports, err := p.judged(ctx, a, dirs, []string{"ndcg@1"}, func(o *bench.Options) {
				o.Tasks, o.QueriesLimit, o.Clean, o.Commit = bridgeTasks, *p.limit, *clean, versions().Commit
			})
			if err != nil {
				return err
			}
			return writeReport(a, *p.json, eachJSON(reports), func(w io.Writer) error { return writeBridges(w, reports) })
		}
	},
}

// writeBridges writes the reports in the layout of Table 1, and that table.
func writeBridges(w io.Writer, reports []*bench.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var names, notes []string
	for _, r := range reports {
		names = append(names, r.Data)
		for _, n := range r.Notes() {
			notes = append(notes, r.Data+": "+n)
		}
	}
	bridgeHead(t, reports[0].Encoder, names)
	systems := []string{}
	for _, res := range reports[0].Results {
		if !slices.Contains(systems, res.System) {
			systems = append(systems, res.System)
		}
	}
	for _, system := range systems {
		fmt.Fprint(t, system)
		for _, r := range reports {
			for _, task := range bridgeTasks {
				i := slices.IndexFunc(r.Results, func(x bench.Result) bool { return x.System == system && x.Task == task })
				if i < 0 {
					fmt.Fprint(t, "\t–")
					continue
				}
				mark := ""
				if d, ok := r.Results[i].VsDenseBy["ndcg@1"]; ok && d.PHolm < .05 {
					mark = "†"
				}
				fmt.Fprintf(t, "\t%s%.1f", mark, 100*r.Results[i].Metrics["ndcg@1"])
			}
		}
		fmt.Fprint(t, "\t\n")
	}
	bridgeHead(t, "\npublished", publishedData)
	for _, row := range published {
		fmt.Fprint(t, row.model)
		for _, of := range row.figures {
			for _, x := range of {
				fmt.Fprintf(t, "\t%.2f", x)
			}
		}
		fmt.Fprint(t, "\t\n")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	first := reports[0]
	_, err := fmt.Fprintf(w, "\nnDCG@1 × 100, seed %d%s. † differs from dense (p < .05, Holm). Published: LexSemBridge, Table 1.\nCompare what a row adds: the paper trains the encoder with the bridge.\n", first.Seed, first.Asked(", "))
	for _, n := range notes {
		if err == nil {
			_, err = fmt.Fprintln(w, n)
		}
	}
	return err
}

// bridgeHead writes the two lines above a block of figures.
func bridgeHead(w io.Writer, what string, data []string) {
	fmt.Fprint(w, what)
	for _, name := range data {
		fmt.Fprintf(w, "\t%s%s", name, strings.Repeat("\t", len(bridgeTasks)-1))
	}
	fmt.Fprint(w, "\t\n")
	for range data {
		fmt.Fprint(w, "\t"+strings.Join(bridgeTasks, "\t"))
	}
	fmt.Fprint(w, "\t\n")
}
