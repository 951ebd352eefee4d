package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/internal/problems"
)

// problemsSummary is the output of index --problems --json.
type problemsSummary struct {
	DB       string             `json:"db"`
	Problems []problems.Problem `json:"problems"` // the gravest first
	LeftOut  problems.LeftOut   `json:"left_out"` // of all folders
}

// runProblems lists the parts of the indexed files that a database lacks.
func runProblems(ctx context.Context, a *app, dir string, asJSON bool) error {
	stats, _, err := a.statsOf(ctx, dir)
	if err != nil {
		return err
	}
	s := problemsSummary{DB: dir}
	if s.Problems, s.LeftOut, err = problems.All(stats.Dir); err != nil {
		return err
	}
	if asJSON {
		s.Problems = append([]problems.Problem{}, s.Problems...)
		return json.NewEncoder(a.Stdout).Encode(s)
	}
	for _, p := range s.Problems {
		fmt.Fprintln(a.Stdout, problemLine(p))
	}
	if !s.LeftOut.Zero() {
		fmt.Fprintf(a.Stdout, "left out in folders: %s\n", leftOutWords(s.LeftOut))
	}
	if len(s.Problems) == 0 {
		fmt.Fprintf(a.Stdout, "%s: nothing of its files failed, is stale or has a warning\n", dir)
	}
	return nil
}

// problemLine is one problem in a line.
func problemLine(p problems.Problem) string {
	b := badInput{file: p.Source, line: p.Line, err: errors.New(oneLine(p.Reason))}
	if p.Path != "" {
		b.file = filepath.Join(p.Source, filepath.FromSlash(p.Path))
	}
	kept := ""
	if p.Documents > 0 {
		kept = "; " + count(p.Documents, "document stays as it was", "documents stay as they were")
	}
	return fmt.Sprintf("%-6s  %s  %s%s", p.State, p.Time, b.Error(), kept)
}

// leftOutWords says how many entries of each kind the sync left out.
func leftOutWords(l problems.LeftOut) string {
	line := fmt.Sprintf("%d hidden, %d ignored, %d binary, %d empty, %d of other kinds", l.Hidden, l.Ignored, l.Binary, l.Empty, l.Other)
	var kinds []string
	for _, k := range l.Kinds {
		name := k.Extension
		name = cmp.Or(name, "no extension")
		kinds = append(kinds, fmt.Sprintf("%s %d, such as %s", name, k.Files, oneLine(path.Clean(k.Example))))
	}
	if l.BinaryExample != "" {
		kinds = append(kinds, "binary: "+oneLine(l.BinaryExample))
	}
	if len(l.Usual) > 0 {
		kinds = append(kinds, "ignored by default: "+oneLine(strings.Join(l.Usual, ", "))+"; --no-default-excludes reads them")
	}
	if len(kinds) > 0 {
		line += " (" + strings.Join(kinds, "; ") + ")"
	}
	return line
}

// problemCounts counts the parts that a database lacks; "" if it lacks none.
func problemCounts(s problems.Summary) string {
	if s.Total() == 0 {
		return ""
	}
	return fmt.Sprintf("%d failed, %d stale, %s; `lexsem index --problems` lists them", s.Failed, s.Stale, count(s.Warned, "warning", "warnings"))
}
