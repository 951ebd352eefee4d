package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader("1\n2.5\n\n 4\n"), &out, .5, 1000, 1); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.HasPrefix(s, "one shard, 3 requests: p50 2.50, p99 4.00\n") || !strings.Contains(s, "\n  1000     4.00     4.00") {
		t.Error(s)
	}
	for _, in := range []string{"", "\n", "x", "-1", "1\nNaN", "1e300"} {
		if err := run(strings.NewReader(in), &out, .5, 10, 1); err == nil {
			t.Errorf("%q was taken", in)
		}
	}
	if err := run(strings.NewReader("1"), &out, 2, 10, 1); err == nil {
		t.Error("hedging after a share of 2 was taken")
	}
}
