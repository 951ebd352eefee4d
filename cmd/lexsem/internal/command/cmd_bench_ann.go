package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/lexsem/lexsem/internal/bench/ann"
)

var cmdBenchANN = command{
	name:    "bench ann",
	summary: "measure a vector index: recall against speed",
	about: `
Builds an index over the vectors of an .fbin file, or over generated vectors that are spread like
those of texts. Searches it with several candidate pools and compares the results with exact
search. Recall is the share of the true 10 nearest by cosine that is found.`,
	examples: []string{
		"lexsem bench ann --index hnsw --n 50000",
		"lexsem bench ann --base base.fbin --queries queries.fbin --index coder --ef 16,64 --json -",
	},
	declare: func(f *flags) action {
		o := annOptions{
			base:    f.str("base", "", "`FILE`vectors, .fbin; default generated vectors"),
			queries: f.str("queries", "", "`FILE`query vectors, .fbin"),
			truth:   f.str("truth", "", "`FILE`true neighbours, .ibin; default computed"),
			n:       f.int("n", 20_000, "vectors to generate"),
			dim:     f.int("dim", 384, "dimension of generated vectors"),
			made:    f.int("made-queries", 1_000, "queries to generate"),
			kind:    f.str("index", "hnsw", "`KIND`index: "+strings.Join(ann.Indexes(), ", ")),
			m:       f.int("m", 0, "links per node of a graph; default 16, for hnsw-fast 20, for hnsw-compact 12"),
			efc:     f.int("ef-construction", 0, "candidate pool while a graph is built; default 200, for hnsw-fast 600"),
			ef:      f.str("ef", "16,32,64,128", "`LIST`candidate pools of the searches"),
			threads: f.int("threads", 1, "searches that run at the same time"),
			delete:  f.float("delete", 0, "`SHARE`share of the vectors that is deleted before searching, from 0 to 1"),
			seed:    f.seed("seed of generated vectors and of deletes"),
			dir:     f.str("dir", "", "`DIR`keep the index in a memory-mapped file of this folder, so that it may be larger than memory; an interrupted run continues when it is started again"),
			step:    f.int("step", 2_500_000, "save an index in a folder after every N vectors"),
			json:    f.outFile("json", "", "`FILE`write the report as JSON; - prints it instead of the table"),
		}
		return o.run
	},
}

type annOptions struct {
	base, queries, truth, kind, ef, dir, json *string
	n, dim, made, m, efc, threads, step       *int
	delete                                    *float64
	seed                                      *uint64
}

func (o annOptions) run(ctx context.Context, a *app, _ []string) error {
	for _, c := range []struct {
		name      string
		value, to int
	}{{"-n", *o.n, 100_000_000}, {"--dim", *o.dim, 65_536}, {"--made-queries", *o.made, 1_000_000}, {"--threads", *o.threads, 10_000}, {"--step", *o.step, 100_000_000}} {
		if c.value < 1 || c.value > c.to {
			return usagef("%s %d: use a number from 1 to %s", c.name, c.value, thousands(c.to))
		}
	}
	opt := ann.Options{
		Base: *o.base, Queries: *o.queries, Truth: *o.truth, N: *o.n, Dim: *o.dim, NumQueries: *o.made, Seed: *o.seed,
		Index: *o.kind, M: *o.m, EfConstruction: *o.efc, Threads: *o.threads, Delete: *o.delete, Dir: *o.dir, Step: *o.step,
	}
	for _, s := range list(*o.ef) {
		ef, err := strconv.Atoi(s)
		if err != nil {
			return usagef("--ef %q: use numbers separated by commas", *o.ef)
		}
		opt.Ef = append(opt.Ef, ef)
	}
	p := a.progress()
	defer p.done()
	opt.Progress = p.bench
	rep, err := ann.Run(ctx, opt)
	p.done()
	if err != nil {
		return benchError(err)
	}
	return writeReport(a, *o.json, func(w io.Writer) error { return json.NewEncoder(w).Encode(rep) },
		func(w io.Writer) error { return writeANN(w, rep) })
}

func writeANN(w io.Writer, r *ann.Report) error {
	fmt.Fprintf(w, "%s over %s vectors of %d dimensions: built in %.1f s (%.1f CPU-seconds), %.0f bytes a vector\n",
		r.Index, thousands(r.N), r.Dim, r.BuildSeconds, r.BuildCPUSeconds, r.BytesPerVector)
	if r.OpenSeconds > 0 {
		fmt.Fprintf(w, "in a file: saved in %.1f s, mapped in %.3f s", r.SaveSeconds, r.OpenSeconds)
		if r.Resident != nil {
			fmt.Fprintf(w, "; %s MiB resident after searching, %s of them in no file", thousands(int(*r.Resident)), thousands(int(*r.Anonymous)))
		}
		fmt.Fprintln(w)
	}
	if r.Deleted > 0 {
		fmt.Fprintf(w, "%s vectors deleted before searching\n", thousands(r.Deleted))
	}
	if r.BuildPanics+r.DeletePanics > 0 {
		fmt.Fprintf(w, "%d calls panicked while building, %d while deleting\n", r.BuildPanics, r.DeletePanics)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nef\trecall@10\tqueries/s\tp50 µs\tp99 µs\tallocs\tpanics\tghosts\t")
	for _, p := range r.Points {
		fmt.Fprintf(t, "%d\t%.4f\t%.0f\t%.0f\t%.0f\t%.1f\t%d\t%d\t\n", p.Ef, p.Recall, p.QPS, p.P50, p.P99, p.Allocs, p.Panics, p.Ghosts)
	}
	return t.Flush()
}
