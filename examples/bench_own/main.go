// Command bench_own measures a bridge, a task and an encoder of its own, and writes a table for a paper.
// docs/study.md explains it.
//
//	go run ./examples/bench_own DIR [COMMAND…]
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/bench/report"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/process"
	"github.com/lexsem/lexsem/modulate"
)

// The bridge: a token weighs less the later it comes in the query.
var _ = modulate.Register(modulate.Variant{
	Name: "lead", Kind: modulate.Multiplicative,
	Weigh: func(modulate.Parts) (modulate.Weigher, error) { return lead{}, nil },
})

type lead struct{}

func (lead) Weigh(dst modulate.Lexical, in modulate.Input) modulate.Lexical {
	from := len(dst.IDs)
	dst.IDs = in.Tokens.Lexical(dst.IDs)
	for n := range dst.IDs[from:] {
		dst.Weights = append(dst.Weights, 4/float32(4+n))
	}
	return dst
}

// The task: the last six words of each passage seek the passage.
var _ = bench.RegisterTask(bench.TaskKind{
	Name: "ending", Usage: "ending", Doc: "the last six words of each passage",
	Make: func(_ string, in bench.TaskInput) (*bench.Task, error) {
		t := &bench.Task{Qrels: bench.Qrels{}}
		for i, text := range in.Targets.Texts {
			words, id := strings.Fields(text), in.Targets.ID(i)
			t.Queries = append(t.Queries, bench.Query{ID: id, Text: strings.Join(words[max(0, len(words)-6):], " ")})
			if err := t.Qrels.Add(id, id, 1); err != nil {
				return nil, err
			}
		}
		return t, nil
	},
})

func measure(ctx context.Context, enc encoder.Encoder, dir string) error {
	r, err := bench.Run(ctx, enc, bench.Options{
		Data: dir, Systems: []string{"dense", "slr", "lead", "rlr+lead"}, Tasks: []string{"query", "ending"},
	})
	if err != nil {
		return err
	}
	if err := r.WriteTable(os.Stdout, nil); err != nil {
		return err
	}
	b := report.Bundle{Benches: []*bench.Report{r}}
	return b.WriteLaTeX(os.Stdout, []string{"ndcg@10", "mrr@10"})
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: bench_own DIR [COMMAND…], a folder with corpus.jsonl and a program that encodes")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run uses the program named by command, or the encoder that needs no model.
func run(ctx context.Context, dir string, command []string) (err error) {
	enc := encoder.Encoder(encoder.NewHash(384))
	if len(command) > 0 {
		if enc, err = process.New(ctx, process.Options{Command: command, Stderr: os.Stderr}); err != nil {
			return err
		}
	}
	defer enc.Close()
	return measure(ctx, enc, dir)
}
