package command

import (
	"context"
	"fmt"
	"io"

	"github.com/lexsem/lexsem/bench"
)

var cmdBenchSamples = command{
	name:    "bench samples",
	summary: "write the queries that bridges are taught by, for trainers outside",
	about: `
Writes the training queries that bench makes from the passages of a corpus with the same flags, a line
of JSON each: "query", "passage" (its text), "id" and "split", which is train, or dev for the queries that
a fit chooses its epoch by. No model is needed. tools/finetune trains an encoder with them.`,
	examples: []string{
		"lexsem bench samples --data beir/scifact --out samples.jsonl",
		"lexsem bench samples --data my-corpus --clean --seed 2 --queries-per-passage 20 --out samples.jsonl",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		data := f.str("data", "", "`DIR`folder of the corpus, a .jsonl file or a folder of texts; several with commas")
		out := f.outFile("out", "-", "`FILE`file to write; - is standard output")
		clean := f.bool("clean", "leave the half of each passage alone that clean probes are drawn from")
		passages := f.int("passages-limit", 0, "passages of the corpus, drawn by the seed; default all")
		seed := f.uint64("seed", 1, "seed of the queries")
		perPassage := f.int("queries-per-passage", 10, "queries of each passage")
		most := f.int("max-fit-queries", 0, "training queries in all; default no limit")
		return func(ctx context.Context, a *app, args []string) error {
			if len(args) > 0 {
				return usagef("bench samples takes no arguments, got %q", args[0])
			}
			if *data == "" {
				return hinted(usagef("no corpus given"), "name its folder with --data DIR")
			}
			if *passages < 0 || *perPassage < 1 || *most < 0 {
				return usagef("--passages-limit and --max-fit-queries take numbers from 0, --queries-per-passage from 1")
			}
			if err := bench.CheckData(*data); err != nil {
				return err
			}
			n := 0
			write := func(w io.Writer) (err error) {
				n, err = bench.WriteSamples(ctx, w, bench.Options{
					Data: *data, Clean: *clean, PassagesLimit: *passages, Seed: *seed, QueriesPerPassage: *perPassage, MaxFitQueries: *most,
				})
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
