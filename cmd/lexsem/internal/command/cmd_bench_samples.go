package command

import (
	"context"
	"fmt"
	"io"

	"github.com/lexsem/lexsem/bench"
)

var cmdBenchSamples = command{
	name:    "bench samples",
	summary: "write the training queries of bridges, for other trainers",
	about: `
Writes the training queries that bench makes from the passages of a corpus with the same flags, one
JSON object per line: "query", "passage" (its text), "id" and "split". The split dev holds the
queries by which a fit chooses its epoch; all others are train. No model is needed.
tools/finetune trains an encoder with the file.`,
	examples: []string{
		"lexsem bench samples --data beir/scifact --out samples.jsonl",
		"lexsem bench samples --data my-corpus --clean --seed 2 --queries-per-passage 20 --out samples.jsonl",
	},
	declare: func(f *flags) action {
		data := f.str("data", "", "`DIR`corpus: a folder, a .jsonl file or a folder of texts; separate several by commas")
		out := f.outFile("out", "-", "`FILE`file to write; - is standard output")
		clean := f.bool("clean", "use only the half of each passage from which no clean probes are drawn")
		passages := f.int("passages-limit", 0, "use N passages of the corpus, drawn by the seed; default all")
		seed := f.seed("seed of the queries")
		perPassage := f.int("queries-per-passage", 10, "queries per passage")
		most := f.int("max-fit-queries", 0, "most training queries; default no limit")
		return func(ctx context.Context, a *app, _ []string) error {
			if *data == "" {
				return hinted(usagef("no corpus given"), "name its folder with --data DIR")
			}
			if *passages < 0 || *perPassage < 1 || *most < 0 {
				return usagef("use numbers from 0 for --passages-limit and --max-fit-queries, and from 1 for --queries-per-passage")
			}
			if err := (bench.ReadOptions{}).Check(*data); err != nil {
				return err
			}
			n := 0
			write := func(w io.Writer) (err error) {
				n, err = bench.Options{
					Data: *data, Clean: *clean, PassagesLimit: *passages, Seed: *seed, QueriesPerPassage: *perPassage, MaxFitQueries: *most,
				}.WriteSamples(ctx, w)
				return benchError(err)
			}
			if standardOutput(*out) {
				return write(a.Stdout)
			}
			if err := writeFile(*out, write); err != nil {
				return err
			}
			if !a.quiet {
				fmt.Fprintf(a.Stderr, "%s: %s\n", *out, count(n, "sample", "samples"))
			}
			return nil
		}
	},
}
