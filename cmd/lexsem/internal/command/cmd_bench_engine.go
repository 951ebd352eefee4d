package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/bench/load"
)

var cmdBenchEngine = command{
	name:    "bench engine",
	summary: "measure a database: speed, stalls, deadlines, memory",
	about: `
Fills a database with generated texts and vectors and measures it as its users meet it: documents
added per second; searches at rest, after commits and during other work; deadlines; opening and
closing; backup; memory and disk. No model runs.

A stall is the longest search during some work, minus the longest search during an equally long
time with one busy goroutine. The best of several rounds counts. --parts selects what is measured;
the part graph fills a database of 50,000 documents of its own. --open fills nothing: it measures
how this process opens a database that was made with the same flags.

With --texts, documents are phrases of a corpus and --model encodes them while they are added. Of
reports of several sizes, ` + "`lexsem bench report`" + ` draws the growth.`,
	examples: []string{
		"lexsem bench engine --docs 2000 --dim 3072 --parts open,search,upsert --json -",
		"lexsem bench engine --docs 1000000 --texts corpus.jsonl --words 46 --model static --parts open,search,backup,add",
	},
	declare: func(f *flags) action {
		o := engineOptions{
			docs:    f.int("docs", 20_000, "documents"),
			dim:     f.int("dim", 384, "dimension of the vectors, without --texts"),
			words:   f.int("words", 120, "mean length of a document in words"),
			texts:   f.str("texts", "", "`DIR`corpus whose phrases make the documents, as --data of bench; default made words and vectors"),
			states:  f.str("token-states", "", "`WHEN`keep the state of every token: auto, on or off; default auto"),
			parts:   f.str("parts", "", "`LIST`what to measure: "+strings.Join(load.Parts, ", ")+", or stalls; default all"),
			rounds:  f.int("rounds", 3, "rounds; the best one counts"),
			readers: f.int("readers", 1, "goroutines that search during other work"),
			seed:    f.seed("seed of texts and vectors"),
			dir:     f.outDir("dir", "`DIR`folder for temporary databases; default the system's"),
			open:    f.str("open", "", "`DIR`measure how this process opens a database that the command made"),
			replace: f.bool("replace", "with --open: also replace ten documents"),
			json:    f.outFile("json", "", "`FILE`write the report as JSON; - prints it instead of the table"),
		}
		return o.run
	},
}

type engineOptions struct {
	docs, dim, words, rounds, readers *int
	parts, texts, states, dir         *string
	open, json                        *string
	seed                              *uint64
	replace                           *bool
}

func (o engineOptions) run(ctx context.Context, a *app, _ []string) error {
	for _, c := range []struct {
		name            string
		value, from, to int
	}{{"--docs", *o.docs, 20, 100_000_000}, {"--dim", *o.dim, 2, 65_536}, {"--words", *o.words, 4, 100_000}, {"--rounds", *o.rounds, 1, 1000}, {"--readers", *o.readers, 1, 1000}} {
		if c.value < c.from || c.value > c.to {
			return usagef("%s %d: use a number from %d to %s", c.name, c.value, c.from, thousands(c.to))
		}
	}
	opt := load.Options{
		Docs: *o.docs, Dim: *o.dim, Words: *o.words, Rounds: *o.rounds, Readers: *o.readers, Seed: *o.seed,
		Parts: list(*o.parts), Texts: *o.texts, TokenStates: *o.states, Dir: *o.dir, Fresh: a.freshProcess,
	}
	if opt.Texts != "" {
		enc, err := a.openBenched(ctx)
		if err != nil {
			return err
		}
		defer enc.Close()
		opt.Encoder = enc
	}
	if *o.open != "" {
		p, err := load.MeasureProcess(ctx, *o.open, opt, *o.replace)
		if err != nil {
			return benchError(err)
		}
		return json.NewEncoder(a.Stdout).Encode(p)
	}
	p := a.progress()
	defer p.done()
	opt.Progress = p.bench
	rep, err := load.Run(ctx, opt)
	p.done()
	if rep == nil {
		return benchError(err)
	}
	return errors.Join(benchError(err), writeReport(a, *o.json, func(w io.Writer) error { return json.NewEncoder(w).Encode(rep) }, rep.WriteTable))
}

// freshProcess measures the opening of a database in a separate process.
func (a *app) freshProcess(ctx context.Context, dir string, o load.Options, replace bool) (*load.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"bench", "engine", "--open", dir, "--docs", strconv.Itoa(o.Docs), "--dim", strconv.Itoa(o.Dim), "--words", strconv.Itoa(o.Words),
		"--seed", strconv.FormatUint(o.Seed, 10), "--replace=" + strconv.FormatBool(replace)}
	for _, f := range [][2]string{{"--texts", o.Texts}, {"--model", a.model}, {"--cache", a.cache}, {"--backend", a.backend}, {"--library", a.library}} {
		if f[1] != "" {
			args = append(args, f[0], f[1])
		}
	}
	c := exec.CommandContext(ctx, self, append(args, "--offline="+strconv.FormatBool(a.offline))...)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("a process that opens the database: %w\n%s", err, problems.Bytes())
	}
	p := &load.Process{}
	if err := json.Unmarshal(out.Bytes(), p); err != nil {
		return nil, fmt.Errorf("a process that opens the database: %w", err)
	}
	return p, nil
}
