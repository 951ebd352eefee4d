package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/dev/runs"
)

var (
	benchFlag = regexp.MustCompile(`-bench '?([^' ]+)'?`)
	benchPkg  = regexp.MustCompile(`\./[a-z0-9/]+`)
	benchFunc = regexp.MustCompile(`(?m)^func (Benchmark\w+)\(`)
)

// TestBenchmarksOfRuns: a run that is measured by a benchmark can be repeated only while there is one of that name.
// go test says nothing where a pattern matches none.
func TestBenchmarksOfRuns(t *testing.T) {
	all, err := runs.Load("../../../docs/runs")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for name, r := range all {
		for _, c := range r.Commands {
			flag := benchFlag.FindStringSubmatch(c.Run)
			if !strings.Contains(c.Run, "go test ") || flag == nil {
				continue
			}
			checked++
			pkg := benchPkg.FindString(c.Run)
			there := benchmarks(t, filepath.Join("../../..", pkg))
			for one := range strings.SplitSeq(flag[1], "|") {
				want, err := regexp.Compile(strings.Split(one, "/")[0])
				if err != nil {
					t.Errorf("docs/runs/%s.json: %s: %v", name, c.Run, err)
				} else if !slices.ContainsFunc(there, want.MatchString) {
					t.Errorf("docs/runs/%s.json: %s: %s has no benchmark %q", name, c.Run, pkg, one)
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no run names a benchmark: the flag is not found any more")
	}
}

// benchmarks are the names of those in a package.
func benchmarks(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range benchFunc.FindAllStringSubmatch(string(b), -1) {
			names = append(names, m[1])
		}
	}
	return names
}
