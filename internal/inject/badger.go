//go:build linux

package inject

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FilesOf are the names that a small database has, or gets, but for its derived parts.
func FilesOf(dir string) []string {
	all := []string{dir}
	for _, name := range []string{"LEXSEM", "LOCK", "RESERVE", "HEAD", "records", "derived"} {
		all = append(all, filepath.Join(dir, name))
	}
	records := filepath.Join(dir, "records")
	for _, name := range []string{"MANIFEST", "MANIFEST-REWRITE", "KEYREGISTRY", "REWRITE-KEYREGISTRY", "DISCARD", "LOCK", "TABLES"} {
		all = append(all, filepath.Join(records, name))
	}
	for i := range 40 {
		all = append(all, filepath.Join(records, fmt.Sprintf("%05d.mem", i)), filepath.Join(records, fmt.Sprintf("%06d.sst", i)))
	}
	for i := range 8 {
		all = append(all, filepath.Join(records, fmt.Sprintf("%06d.vlog", i)))
	}
	return all
}

// What a child says, in lines of its own.
const (
	SaysFailed  = "failed:"           // behind the name of a call: that it gave an error
	SaysDamaged = "called damaged:"   // that an error called the database damaged
	SaysEnd     = "came to its end\n" // at last
)

// Tally counts what became of children that faults hit.
type Tally struct {
	runs, failed int
	longest      time.Duration
}

// Take holds what Run gave to what a child may do: come to its end without a word of
// damage.
func (y *Tally) Take(t *testing.T, label, out string, took time.Duration, err error) {
	t.Helper()
	y.runs++
	y.longest = max(y.longest, took)
	switch {
	case err != nil || !strings.HasSuffix(out, SaysEnd) || strings.Contains(out, SaysDamaged):
		t.Errorf("%s: after %v %v\n%s", label, took, err, out)
	case strings.Contains(out, SaysFailed):
		y.failed++
	}
}

// Report logs the counts. Of more than a few runs in some a call must have failed.
func (y *Tally) Report(t *testing.T) {
	t.Helper()
	t.Logf("%d runs: in %d a call failed; the longest took %v", y.runs, y.failed, y.longest)
	if y.failed == 0 && y.runs > 5 {
		t.Error("no fault had an effect")
	}
}
