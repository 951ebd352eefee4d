package files_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

// TestLongLog: of a long log the beginning and the end are stored, in whole lines; other texts are stored whole.
func TestLongLog(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "line %d é\r\n", i)
	}
	in := b.String()
	recs, warned := warnings(t, "a.LOG", in, Options{ID: "x", MaxBytes: 16 << 10})
	text := recs[0].Text
	if len(recs) != 1 || len(warned) != 1 || !strings.Contains(warned[0], "the log is longer than 2048 bytes") || len(text) > 2048 || len(text) < 1700 {
		t.Fatalf("%d bytes, warned %q", len(text), warned)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	gap := 0
	for i, l := range lines {
		if l == "…" {
			gap = i
		} else if want := fmt.Sprintf("line %d é", i); gap == 0 && l != want {
			t.Errorf("line %d is %q", i, l)
		} else if want := fmt.Sprintf("line %d é", 1000-len(lines)+i); gap > 0 && l != want {
			t.Errorf("line %d is %q, want %q", i, l, want)
		}
	}
	if gap == 0 || recs[0].From != 1 || recs[0].To != 1000 || recs[0].Verbatim {
		t.Errorf("a gap at %d, lines %d to %d", gap, recs[0].From, recs[0].To)
	}
	for name, in := range map[string]string{"a.txt": in, "a.log": in[:2000], "one.log": strings.Repeat("word ", 1000)} {
		if recs, warned := warnings(t, name, in, Options{ID: "x", MaxBytes: 16 << 10}); len(warned) > 0 || len(recs[0].Text) < len(strings.ReplaceAll(in, "\r", "")) {
			t.Errorf("%s: %d of %d bytes, warned %q", name, len(recs[0].Text), len(in), warned)
		}
	}
}

// TestPrinted: a text has no colours, and no letters that are struck twice.
func TestPrinted(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31merror\x1b[0m \x1b[1;4mdisk\x1b[m full\n":            "error disk full\n",
		"N\bNA\bAM\bME\bE\n_\bh_\ba_\bt a\ba_\b_b\bb t\b_w\b_o\b_\n": "NAME\nhat a_b two\n",
		"\bx \x1b y\n": "\bx \x1b y\n",
	} {
		for _, name := range []string{"a.txt", "a.log"} {
			recs, _, err := filestest.ReadAll(t, name, in, Options{ID: "x"})
			if err != nil || len(recs) != 1 || recs[0].Text != want || recs[0].To != strings.Count(in, "\n") {
				t.Errorf("%s, %q: %+v, %v", name, in, recs, err)
			}
		}
	}
}
