package command

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/lexsem/lexsem/internal/bench/load"
)

var cmdBenchSoak = command{
	name:    "bench soak",
	summary: "use a database for long; check answers, memory and files",
	about: `
Fills a database with generated texts and vectors and uses it: of 100 operations 70 read, 20 store
a document and 10 delete one, each in a commit of its own. Every answer is compared with what was
stored. Memory, disk, files, goroutines and search times are sampled during the run. Then the
database is closed, opened, verified and compared. The command fails if an answer was wrong.
GOMEMLIMIT=512MiB in the environment sets a memory limit. ` + "`lexsem bench report`" + ` draws
the samples of --json.`,
	examples: []string{
		"lexsem bench soak --docs 2000 --minutes 1",
		"GOMEMLIMIT=512MiB lexsem bench soak --docs 100000 --minutes 60 --json soak.json",
	},
	declare: func(f *flags) action {
		docs := f.int("docs", 20_000, "documents")
		dim := f.int("dim", 384, "dimension of the vectors")
		minutes := f.float("minutes", 10, "how long the database is used after it was filled")
		samples := f.int("samples", 240, "samples of memory, disk and files during the run")
		workers := f.int("workers", 2, "goroutines that use the database")
		seed := f.seed("seed of texts, vectors and choices")
		dir := f.outDir("dir", "`DIR`folder for the temporary database; default the system's")
		out := f.outFile("json", "", "`FILE`write the report as JSON; - prints it instead of the table")
		return func(ctx context.Context, a *app, _ []string) error {
			if !(*minutes > 0 && *minutes <= 100_000) {
				return usagef("--minutes %v: use a number above 0, at most 100,000", *minutes)
			}
			moreCollections() // as serve
			p := a.progress()
			defer p.done()
			r, err := load.Soak(ctx, load.SoakOptions{
				Docs: *docs, Dim: *dim, For: time.Duration(*minutes * float64(time.Minute)), Samples: *samples, Workers: *workers,
				Seed: *seed, Dir: *dir, Progress: p.bench,
			})
			p.done()
			if r == nil {
				return benchError(err)
			}
			if shown := writeReport(a, *out, func(w io.Writer) error { return json.NewEncoder(w).Encode(r) }, r.WriteTable); shown != nil {
				return shown
			}
			return benchError(err)
		}
	},
}
