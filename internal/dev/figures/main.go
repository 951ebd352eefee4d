// Command figures measures the runs of docs/runs. Start reading at record.go.
//
//	.ci/figures all|again|sample|tables|adopt [PREFIX of a run's name]
//	.ci/figures speed COMMIT
//
// all records runs that are not recorded, again measures them again, sample repeats some runs, tables writes
// recorded values into the documents, adopt reads figures that were written by hand. speed compares with a commit.
// LEXSEM_FIGURES_ENCODINGS names a folder that keeps encodings and bridges between runs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// verbs are the operations on the runs of docs/runs.
var verbs = map[string]func(ctx context.Context, prefix string) error{
	"all": record, "again": again, "sample": sample, "speed": speed,
	"tables": func(context.Context, string) error { return tables() },
	"adopt":  func(_ context.Context, prefix string) error { return adopt(prefix) },
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	if len(args) == 1 {
		args = append(args, "")
	}
	if len(args) != 2 || verbs[args[0]] == nil {
		fmt.Fprintln(os.Stderr, "usage: figures all|again|sample|tables|adopt [PREFIX of a run's name] | speed COMMIT")
		return 2
	}
	if err := verbs[args[0]](ctx, args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "figures %s: %v\n", args[0], err)
		return 1
	}
	return 0
}
