// Command figures measures what an issue asked to reach and holds it against
// the target: go run ./internal/figures NN, or .ci/figures NN. It prints a line
// a figure (PASS or MISS, id, target, measured value) and exits 1 on a MISS
// that docs/DECISIONS.md does not explain by naming the figure's id.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// sheet is the figures of one issue and the measurement that fills them.
type sheet struct {
	issue   string
	figures []figure
	// measures return values by figure id. A figure without a value is a MISS.
	measures []measure
}

type measure func(ctx context.Context) (map[string]float64, error)

// sheets holds one entry a file issue_NN.go.
var sheets []sheet

// register adds figures and how to measure them to the sheet of an issue,
// which may have several.
func register(issue string, m measure, figures ...figure) {
	i := slices.IndexFunc(sheets, func(s sheet) bool { return s.issue == issue })
	if i < 0 {
		i = len(sheets)
		sheets = append(sheets, sheet{issue: issue})
	}
	sheets[i].figures = append(sheets[i].figures, figures...)
	sheets[i].measures = append(sheets[i].measures, m)
}

// measure runs all measurements; one that fails leaves the others.
func (s sheet) measure(ctx context.Context) (map[string]float64, error) {
	values := map[string]float64{}
	var errs []error
	for _, m := range s.measures {
		got, err := m(ctx)
		maps.Copy(values, got)
		errs = append(errs, err)
	}
	return values, errors.Join(errs...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	i := -1
	if len(args) == 1 {
		i = slices.IndexFunc(sheets, func(s sheet) bool { return strings.TrimLeft(s.issue, "0") == strings.TrimLeft(args[0], "0") })
	}
	if i < 0 {
		known := make([]string, len(sheets))
		for i, s := range sheets {
			known[i] = s.issue
		}
		fmt.Fprintf(os.Stderr, "usage: figures NN, with NN one of %s\n", strings.Join(known, ", "))
		return 2
	}
	s := sheets[i]
	values, err := s.measure(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "figures %s: %v\n", s.issue, err)
	}
	decisions, readErr := os.ReadFile("docs/DECISIONS.md")
	if readErr != nil {
		fmt.Fprintf(os.Stderr, "figures: %v; run it from the root of the repository\n", readErr)
		return 1
	}
	status := 0
	for _, f := range s.figures {
		v, ok := values[f.id]
		sign, met := "≥", ok && v >= f.target
		if f.atMost {
			sign, met = "≤", ok && v <= f.target
		}
		got := "not measured"
		if ok {
			got = fmt.Sprintf("%.4g", v)
		}
		verdict := "PASS"
		if !met {
			verdict = "MISS"
			if strings.Contains(string(decisions), f.id) {
				got += " (explained in docs/DECISIONS.md)"
			} else {
				status = 1
			}
		}
		fmt.Printf("%s  %-28s target %s %-8.4g measured %s   %s\n", verdict, f.id, sign, f.target, got, f.what)
	}
	if err != nil {
		return 1
	}
	return status
}
