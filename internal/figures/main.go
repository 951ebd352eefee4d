// Command figures measures. .ci/figures all [PREFIX] records the runs of docs/runs
// that are not recorded, tables writes their values into the documents, sample
// repeats some, again [PREFIX] measures anew, adopt PREFIX takes what was written by
// hand. .ci/figures NN [PREFIX] measures what an issue asked to reach and holds it against
// the target; PREFIX leaves out figures whose id does not begin with it (04.local).
// It prints a line a figure (PASS or MISS, id, target, measured value) and exits
// 1 on a MISS that docs/DECISIONS.md does not explain by naming the figure's id.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// figure is one target.
type figure struct {
	id     string // "03.rlr.keyword", the name to explain a miss by
	what   string // what is measured, with its unit
	target float64
	atMost bool // the value must not exceed the target; else it must reach it
}

// goal is a figure that must reach its target, limit one that must not exceed
// it.
func goal(id, what string, target float64) figure {
	return figure{id: id, what: what, target: target}
}

func limit(id, what string, target float64) figure {
	return figure{id: id, what: what, target: target, atMost: true}
}

// group is figures of an issue that one measurement fills.
type group struct {
	issue   string
	figures []figure
	// measure returns values by figure id. A figure without a value is a MISS.
	measure measure
}

type measure func(ctx context.Context, w *workshop) (map[string]float64, error)

// groups holds those of all files issue_NN*.go.
var groups []group

// register adds figures and how to measure them to the sheet of an issue.
func register(issue string, m measure, figures ...figure) {
	groups = append(groups, group{issue, figures, m})
}

// sheet is the groups of an issue without the figures whose ids do not begin
// with prefix.
func sheet(issue, prefix string) []group {
	var chosen []group
	for _, g := range groups {
		g.figures = slices.DeleteFunc(slices.Clone(g.figures), func(f figure) bool { return !strings.HasPrefix(f.id, prefix) })
		if strings.TrimLeft(g.issue, "0") == strings.TrimLeft(issue, "0") && len(g.figures) > 0 {
			chosen = append(chosen, g)
		}
	}
	return chosen
}

// verbs are what is done with the runs of docs/runs.
var verbs = map[string]func(ctx context.Context, prefix string) error{
	"all": record, "again": again, "sample": sample,
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
	var chosen []group
	if len(args) == 2 {
		if verb := verbs[args[0]]; verb != nil {
			if err := verb(ctx, args[1]); err != nil {
				fmt.Fprintf(os.Stderr, "figures %s: %v\n", args[0], err)
				return 1
			}
			return 0
		}
		chosen = sheet(args[0], args[1])
	}
	if len(chosen) == 0 {
		var known []string
		for _, g := range groups {
			known = append(known, g.issue)
		}
		slices.Sort(known)
		fmt.Fprintf(os.Stderr, "usage: figures all|again|sample|tables|adopt [PREFIX of a run's name], or figures NN [PREFIX], with NN one of %s and PREFIX the beginning of an id\n", strings.Join(slices.Compact(known), ", "))
		return 2
	}
	decisions, err := os.ReadFile("docs/DECISIONS.md")
	if err != nil {
		fmt.Fprintf(os.Stderr, "figures: %v; run it from the root of the repository\n", err)
		return 1
	}
	w, err := newWorkshop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "figures: %v\n", err)
		return 1
	}
	defer w.close()
	status := 0
	for _, g := range chosen {
		values, err := g.measure(ctx, w)
		if err != nil { // the other groups are measured nevertheless
			fmt.Fprintf(os.Stderr, "figures %s: %v\n", args[0], err)
			status = 1
		}
		for _, f := range g.figures {
			if !f.print(values, string(decisions)) {
				status = 1
			}
		}
	}
	return status
}

// print writes the figure's line and reports whether it is met or its miss
// explained.
func (f figure) print(values map[string]float64, decisions string) bool {
	v, ok := values[f.id]
	sign, met := "≥", ok && v >= f.target
	if f.atMost {
		sign, met = "≤", ok && v <= f.target
	}
	got, verdict := "not measured", "PASS"
	if ok {
		got = fmt.Sprintf("%.4g", v)
	}
	explained := strings.Contains(decisions, f.id)
	if !met {
		verdict = "MISS"
		if explained {
			got += " (explained in docs/DECISIONS.md)"
		}
	}
	fmt.Printf("%s  %-28s target %s %-8.4g measured %s   %s\n", verdict, f.id, sign, f.target, got, f.what)
	return met || explained
}
