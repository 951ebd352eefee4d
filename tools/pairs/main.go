//go:build unix

// Command pairs compares this tree with another commit of the repository. It builds itself and lexsem in both, runs
// both in turn, and prints the differences of CPU and wall times, of space and of memory, and whether the results are
// the same.
//
//	lexsem export --db DB --vectors docs.jsonl
//	go run ./tools/pairs -against COMMIT docs.jsonl queries.jsonl
//
// With -commands it measures the commands of this tree alone: indexing docs, a search, a sync. See alone.go.
//
//	go run ./tools/pairs -commands CORPUS.jsonl [-json FILE]
//
// With -code it measures searches of source code, over folders with tree, queries.jsonl and qrels.tsv. See code.go.
//
//	go run ./tools/pairs -code DIR [-json FILE]
//
// With -limit 1.1 it fails if anything takes more than 1.1 times as much CPU time or space as in COMMIT.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	against := flag.String("against", "", "`COMMIT` to compare with")
	pairs := flag.Int("pairs", 10, "how many runs of each")
	limit := flag.Float64("limit", 0, "fail if a median ratio is above this `RATIO`; 0 means no limit")
	single := flag.Bool("measure", false, "measure this build alone, and print JSON")
	corpus := flag.String("commands", "", "measure commands of this tree over docs and the passages of `CORPUS`.jsonl")
	trees := flag.String("code", "", "measure searches of source code over the judged trees in `DIR`")
	out := flag.String("json", "", "`FILE` for the figures of -commands and -code")
	flag.Parse()
	if *corpus == "" && *trees == "" && ((*against != "") == *single || flag.NArg() != 2 || *pairs < 1 || *limit < 0) {
		fmt.Fprintln(os.Stderr, "usage: pairs -against COMMIT [-pairs N] [-limit RATIO] | -measure, DOCUMENTS QUERIES (both written by lexsem export --vectors); or pairs -commands CORPUS.jsonl [-json FILE]; or pairs -code DIR [-json FILE]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *corpus != "" {
		err = alone(ctx, *corpus, *out)
	} else if *trees != "" {
		err = code(ctx, *trees, *out)
	} else if *single {
		var r report
		if r, err = measure(ctx, flag.Arg(0), flag.Arg(1)); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
	} else {
		err = compare(ctx, os.Stdout, *against, *pairs, *limit, flag.Arg(0), flag.Arg(1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pairs:", err)
		stop()
		os.Exit(1)
	}
}

func compare(ctx context.Context, out io.Writer, commit string, pairs int, limit float64, documents, queries string) error {
	tmp, err := os.MkdirTemp("", "pairs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	other := filepath.Join(tmp, "tree")
	if err := tree(ctx, commit, other); err != nil {
		return err
	}
	for _, name := range []string{documents, queries} {
		if _, err := read(name); err != nil {
			return err
		}
	}
	var programs [2]string // the other's, this one's
	if programs[1], err = build(ctx, ".", filepath.Join(tmp, "this")); err != nil {
		return err
	}
	if programs[0], err = build(ctx, other, filepath.Join(tmp, "other")); err != nil {
		return err
	}
	both, err := newCommands(ctx, tmp, [2]string{other, "."}, documents)
	if err != nil {
		return err
	}
	if both.encoder != "" {
		fmt.Fprintf(out, "encoding: not run: %s\n\n", both.encoder)
	}
	var runs [2][]report
	for range pairs {
		for i, p := range programs {
			r, err := once(ctx, p, documents, queries)
			if err == nil {
				err = both.measure(ctx, i, &r)
			}
			if err != nil {
				return err
			}
			runs[i] = append(runs[i], r)
		}
	}
	said, worse := table(runs[0], runs[1], limit)
	if _, err := io.WriteString(out, said); err != nil || len(worse) == 0 {
		return err
	}
	return fmt.Errorf("worse than %s by more than the limit of %g: %s; find the cause, or run it again on a quiet machine", commit, limit, strings.Join(worse, ", "))
}

// tree writes the files of a commit to a folder, with the tools/pairs of this tree.
func tree(ctx context.Context, commit, dir string) error {
	const program = "tools/pairs"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	archive, to := dir+".tar", filepath.Join(dir, program)
	if err := run(exec.CommandContext(ctx, "git", "archive", "-o", archive, commit)); err != nil {
		return err
	}
	if err := run(exec.CommandContext(ctx, "tar", "-xf", archive, "-C", dir)); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(program))
}

func build(ctx context.Context, dir, program string) (string, error) {
	c := exec.CommandContext(ctx, "go", "build", "-o", program, "./tools/pairs")
	c.Dir = dir
	return program, run(c)
}

// run adds the output of a failed command to its error.
func run(c *exec.Cmd) error {
	if b, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, b)
	}
	return nil
}

func once(ctx context.Context, program, documents, queries string) (r report, err error) {
	c := exec.CommandContext(ctx, program, "-measure", documents, queries)
	c.Stderr = os.Stderr
	b, err := c.Output()
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	return r, err
}

// table has for each measure the medians of both, and the median, minimum and maximum of the ratio within a
// pair. It also returns the measures whose median ratio of CPU time or space is above the limit.
func table(other, this []report, limit float64) (_ string, worse []string) {
	var b strings.Builder
	b.WriteString("| | other, CPU | this | this over other: CPU | wall | same rankings | largest difference of a score |\n|---|---|---|---|---|---|---|\n")
	row := func(name, format string, of func(report) times, same string) {
		cpu, wall := ratios(other, this, func(r report) float64 { return of(r).CPU }), ratios(other, this, func(r report) float64 { return of(r).Wall })
		fmt.Fprintf(&b, "| %s | "+format+" | "+format+" | %.2f (%.2f to %.2f) | %.2f (%.2f to %.2f) | %s |\n", name,
			median(each(other, func(r report) float64 { return of(r).CPU })), median(each(this, func(r report) float64 { return of(r).CPU })),
			median(cpu), slices.Min(cpu), slices.Max(cpu), median(wall), slices.Min(wall), slices.Max(wall), same)
		if limit > 0 && median(cpu) > limit {
			worse = append(worse, fmt.Sprintf("%s (%.2f)", name, median(cpu)))
		}
	}
	row("adding all", "%.2f s", func(r report) times { return r.Add }, "| ")
	row("opening", "%.1f ms", func(r report) times { return r.Open }, "| ")
	row("space on disk", "%.0f bytes", func(r report) times { return times{r.Bytes, r.Bytes} }, "| ")
	for i, s := range this[0].Steps {
		row(s.Name, s.Format, func(r report) times { return r.Steps[i].times }, "| ")
	}
	for _, name := range slices.Sorted(maps.Keys(this[0].Search)) {
		same, off := alike(other[0].Hits[name], this[0].Hits[name])
		row(strings.TrimSpace(name), "%.0f µs", func(r report) times { return r.Search[name] }, fmt.Sprintf("%d of %d | %.1g", same, len(this[0].Hits[name]), off))
	}
	return b.String(), worse
}

// alike counts the queries with the same hits in the same order, and returns the maximum difference of the
// scores of the same document.
func alike(a, b [][]hit) (same int, off float64) {
	for q := range min(len(a), len(b)) {
		if slices.EqualFunc(a[q], b[q], func(x, y hit) bool { return x.ID == y.ID }) {
			same++
		}
		scores := map[string]float32{}
		for _, h := range a[q] {
			scores[h.ID] = h.Score
		}
		for _, h := range b[q] {
			if s, ok := scores[h.ID]; ok {
				off = max(off, math.Abs(float64(s)-float64(h.Score)))
			}
		}
	}
	return same, off
}

func ratios(a, b []report, of func(report) float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = of(b[i]) / of(a[i])
	}
	return out
}

func each(a []report, of func(report) float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = of(a[i])
	}
	return out
}

// median is that of internal/stat, which older commits lack: this package must compile in every commit.
func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
