package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/sage"
)

var cmdBenchSAGE = command{
	name:    "bench sage",
	summary: "SAGE: five tasks of semantic understanding",
	about: `
Compares the cosine of the model, plain and modulated (rlr), with Levenshtein ratio, ROUGE, Jaccard
and BM25 on five tasks: preference (needs pairs.jsonl), robustness (variants/summaries.jsonl),
sensitivity (corpus.jsonl), clustering (labels.tsv) and retrieval (a judged corpus). Each task runs
on the first folder of --data that has its files. If all five ran, their mean is printed. Versions
of texts are drawn by the seed.`,
	examples: []string{
		"lexsem bench sage --data $LEXSEM_DATA/pairs-stsb-en,$LEXSEM_DATA/sure-nq",
		"lexsem bench sage --data $LEXSEM_DATA/sure-fiqa --tasks sensitivity,retrieval --similarities jaccard,bm25 --json -",
	},
	declare: func(f *flags) action {
		data := f.str("data", "", "`DIR`folders of the data, separated by commas")
		tasks := f.str("tasks", "", "`LIST`of "+strings.Join(sage.Tasks(), ", ")+"; default all that have data")
		measures := f.str("similarities", "", "`LIST`of "+strings.Join(sage.Similarities(), ", ")+"; default all")
		limit := f.int("limit", 300, "texts per task that are varied or clustered; 0 for all")
		uncut := f.bool("uncut", "sensitivity uses only texts that the model reads to their end after every insertion")
		seed := f.seed("seed of draws")
		cache := f.str("encodings", "", "`DIR`folder in which encodings are kept for the next run")
		to := f.outFile("json", "", "`FILE`write the report as JSON; - prints it instead of the table")
		p := protocolFlags{data: data, seed: seed, cache: cache, json: to, perPassage: new(int)}
		*p.perPassage = 1
		return func(ctx context.Context, a *app, _ []string) error {
			dirs, err := p.folders()
			if err != nil {
				return err
			}
			if *limit < 0 {
				return usagef("--limit: use a number from 0")
			}
			var rep *sage.Report
			err = p.measure(ctx, a, func(enc encoder.Encoder, s bench.SettingOptions) (err error) {
				rep, err = sage.Run(ctx, enc, sage.Options{
					Data: dirs, Tasks: list(*tasks), Similarities: list(*measures), Limit: *limit, Uncut: *uncut, Seed: *seed,
					CacheDir: *cache, Version: versions().Version, Progress: s.Progress,
				})
				return err
			})
			if err != nil {
				return err
			}
			return writeReport(a, *to, func(w io.Writer) error { return bench.WriteJSON(w, rep) }, func(w io.Writer) error { return writeSAGE(w, rep) })
		}
	},
}

func writeSAGE(w io.Writer, rep *sage.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "task\tdata\titems\tsimilarity\tscore\tmade of")
	last := ""
	for _, r := range rep.Results {
		task, data, items := r.Task, r.Data, fmt.Sprint(r.Items)
		if task == last {
			task, data, items = "", "", ""
		}
		last = r.Task
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(r.Parts)) {
			if !strings.HasPrefix(name, "kept ") { // 18 of them stand in the JSON
				parts = append(parts, fmt.Sprintf("%s %.3f", name, r.Parts[name]))
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.3f\t%s\n", task, data, items, r.Similarity, r.Score, strings.Join(parts, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(rep.Overall)) {
		fmt.Fprintf(t, "overall\t\t\t%s\t%.3f\tmean of the five\n", name, rep.Overall[name])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rep.Results {
		if r.Cut != nil {
			_, err := fmt.Fprintf(w, "sensitivity: the model cuts %.1f %% of the texts as they are, %.1f %% in some version\n", 100*r.Cut["as-is"], 100*r.Cut["any"])
			return err
		}
	}
	return nil
}
