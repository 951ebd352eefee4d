package house_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/decisions/README.md anew")

const decisions = "../../../docs/decisions"

var (
	decisionName = regexp.MustCompile(`^(\d{3})-[a-z0-9-]+\.md$`)
	decision     = regexp.MustCompile(`(?s)\A# ([^\n]+)\n\n\*\*Question\.\*\* .+?\n\n(?:<!--[^\n]*-->\n)?\*\*Choice\.\*\*\s.+?\n\n(?:<!--[^\n]*-->\n)?\*\*Evidence\.\*\* (.+?)\n\n\*\*Date\.\*\* \d{4}-\d\d-\d\d\n\z`)
	testRun      = regexp.MustCompile("`go test (\\./[a-z/]+) -run (Test\\w+)`")
)

// decisionIndex is what docs/decisions/README.md says above and below the list.
const decisionIndex = `# Decisions

Each file has one choice that a contributor might question: the question, the choice, the evidence and its date.
Read the file before you change what it is about. New evidence may overturn a decision:
then change the file. A new decision takes the next number and the same four parts. This list is written by
` + "`go test ./internal/dev/house -run TestDecisions -update`" + `.

%s`

// TestDecisions: each decision has its four parts, its evidence is a link or a test that is there, and the index
// lists all of them.
func TestDecisions(t *testing.T) {
	names, err := filepath.Glob(decisions + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return filepath.Base(name) == "README.md" })
	if len(names) == 0 {
		t.Fatal("there are no decisions")
	}
	var list strings.Builder
	size := 0
	for i, file := range names {
		name := filepath.Base(file)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		size += len(raw)
		if number := decisionName.FindStringSubmatch(name); number == nil || number[1] != fmt.Sprintf("%03d", i+1) {
			t.Errorf("docs/decisions/%s: the name should be %03d-NAME.md, with NAME in lower case", name, i+1)
		}
		parts := decision.FindStringSubmatch(string(raw))
		if parts == nil {
			t.Errorf("docs/decisions/%s needs a heading and the parts **Question.**, **Choice.**, **Evidence.** and **Date.** (YEAR-MONTH-DAY), in this order, and nothing behind them", name)
			continue
		}
		tests := testRun.FindAllStringSubmatch(string(raw), -1)
		if !linked.MatchString(parts[2]) && len(tests) == 0 {
			t.Errorf("docs/decisions/%s: the evidence names neither a run, a page of results nor a test (`go test ./PACKAGE -run TestNAME`)", name)
		}
		for _, run := range tests {
			if !hasTest(t, run[1], run[2]) {
				t.Errorf("docs/decisions/%s: %s has no test %s", name, run[1], run[2])
			}
		}
		fmt.Fprintf(&list, "%d. [%s](%s)\n", i+1, parts[1], name)
	}
	want := fmt.Sprintf(decisionIndex, list.String())
	if size += len(want); size > 36_000 {
		t.Errorf("docs/decisions has %d bytes; a newcomer reads 36,000", size)
	}
	if t.Failed() {
		return
	}
	index := filepath.Join(decisions, "README.md")
	if *update {
		if err := os.WriteFile(index, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(index); err != nil || string(got) != want {
		t.Errorf("docs/decisions/README.md is not what the files say (%v); run go test ./internal/dev/house -run TestDecisions -update", err)
	}
}

// hasTest says whether -run with a name runs a test of a package.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(code), "\nfunc "+name)
	})
}
