// Command bench_task adds a task to the bench: the passage typed with one mistake a word, as people type on
// telephones. One registration is all that is needed; the bench then knows "typos" in every list of tasks.
//
//	go run ./examples/bench_task DIR
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
)

// Typos queries with the first six words of each passage, with two neighbouring letters of each word
// swapped.
var Typos = bench.RegisterTask(bench.TaskKind{
	Name: "typos", Usage: "typos", Doc: "the first six words of each passage, mistyped",
	Make: func(_ string, in bench.TaskInput) (*bench.Task, error) {
		t := &bench.Task{Qrels: bench.Qrels{}}
		for i, text := range in.Targets.Texts {
			words := strings.Fields(text)
			if len(words) < 6 {
				t.LeftOut++
				continue
			}
			if in.Limit > 0 && len(t.Queries) == in.Limit {
				continue
			}
			rng := rand.New(rand.NewPCG(in.Seed, uint64(i)))
			for j, w := range words[:6] {
				words[j] = mistype(rng, w)
			}
			id := in.Targets.ID(i)
			t.Queries = append(t.Queries, bench.Query{ID: id, Text: strings.Join(words[:6], " ")})
			if err := t.Qrels.Add(id, id, 1); err != nil {
				return nil, err
			}
		}
		return t, nil
	},
})

func mistype(rng *rand.Rand, word string) string {
	r := []rune(word)
	if len(r) < 2 {
		return word
	}
	i := rng.IntN(len(r) - 1)
	r[i], r[i+1] = r[i+1], r[i]
	return string(r)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench_task DIR, a folder with corpus.jsonl")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run uses the encoder that needs no model; see the README for a real one.
func run(dir string, w io.Writer) error {
	report, err := bench.Run(context.Background(), encoder.NewHash(384), bench.Options{
		Data: dir, Systems: []string{"dense", "rlr", "bm25"}, Tasks: []string{"typos", "part:6"},
	})
	if err != nil {
		return err
	}
	return report.WriteTable(w, nil)
}
