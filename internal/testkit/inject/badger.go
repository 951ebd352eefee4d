//go:build linux

package inject

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FilesOf lists the files that a small database has or will have, except its derived parts.
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

// Lines that a child prints.
const (
	SaysFailed  = "failed:"           // after the name of a call: that it gave an error
	saysDamaged = "called damaged:"   // that an error called the database damaged
	saysLongest = "longest call"      // before a duration and a name: what one call took at most
	SaysEnd     = "came to its end\n" // at last
)

// Calls records the results of a child's calls, and the longest duration.
type Calls struct {
	bad     []error
	last    time.Time
	longest time.Duration
	name    string // of that call
}

// NewCalls begins with the first call. No call may return one of the errors bad, which would report the database as
// damaged.
func NewCalls(bad ...error) *Calls { return &Calls{bad: bad, last: time.Now()} }

// Calm is called after each call, and reports whether it returned no error.
func (c *Calls) Calm(what string, err error) bool {
	now := time.Now()
	if took := now.Sub(c.last); took > c.longest {
		c.longest, c.name = took, what
	}
	c.last = now
	if err != nil {
		fmt.Println(what, SaysFailed, err)
	}
	for _, bad := range c.bad {
		if errors.Is(err, bad) {
			fmt.Println(saysDamaged, err)
		}
	}
	return err == nil
}

// End is called at the end of the child.
func (c *Calls) End() {
	fmt.Println(saysLongest, c.longest, c.name)
	fmt.Print(SaysEnd)
}

// Tally counts the outcomes of children that faults hit.
type Tally struct {
	runs, failed int
	longest      time.Duration // run
	call         time.Duration // the longest call
	name, label  string        // of that, and of its run
}

// Take checks the result of Run: the child must have ended without a report of damage.
func (y *Tally) Take(t *testing.T, label, out string, took time.Duration, err error) {
	t.Helper()
	y.runs++
	y.longest = max(y.longest, took)
	if _, rest, ok := strings.Cut(out, saysLongest+" "); ok {
		words := strings.Fields(rest)
		call, err := time.ParseDuration(words[0])
		if err != nil {
			t.Errorf("%s: %v", label, err)
		}
		if call > y.call {
			y.call, y.name, y.label = call, words[1], label
		}
	}
	switch {
	case err != nil || !strings.HasSuffix(out, SaysEnd) || strings.Contains(out, saysDamaged):
		t.Errorf("%s: after %v %v\n%s", label, took, err, out)
	case strings.Contains(out, SaysFailed):
		y.failed++
	}
}

// Report logs the counts. If every fault was tried, at least one must have made a call fail.
func (y *Tally) Report(t *testing.T) {
	t.Helper()
	t.Logf("%d runs: in %d a call failed; the longest took %v, the longest call %v, %s of %s", y.runs, y.failed, y.longest, y.call, y.name, y.label)
	if y.failed == 0 && y.runs >= len(faults) {
		t.Error("no fault had an effect")
	}
}
