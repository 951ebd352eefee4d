package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ä, 語, 👩‍🚀\n\t":        "plain, ä, 語, 👩‍🚀\n\t",
		"\x1b]0;t\x07\r":              `\u001b]0;t\u0007\u000d`,
		"\u009b31m\x7f":               `\u009b31m\u007f`,
		"a\u202eb\u2066c\u200f\u2028": `a\u202eb\u2066c\u200f\u2028`,
		"\U000e0041":                  `\udb40\udc41`,
		"a\xffb":                      "a\ufffdb",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		// By way of screen it is the same, wherever it is cut.
		for cut := range len(in) + 1 {
			var b bytes.Buffer
			s := &screen{w: &b, colours: cut%2 == 0}
			s.Write([]byte(in[:cut]))
			s.Write([]byte(in[cut:]))
			if err := s.flush(); err != nil || b.String() != want {
				t.Errorf("%q cut at %d: %q", in, cut, b.String())
			}
		}
	}
	styled := "\x1b[1mbold\x1b[0m \x1b[31mred\x1b[0m"
	for cut := range len(styled) + 1 {
		for _, colours := range []bool{true, false} {
			var b bytes.Buffer
			s := &screen{w: &b, colours: colours}
			s.Write([]byte(styled[:cut]))
			s.Write([]byte(styled[cut:] + "\x1b[2J"))
			if err := s.flush(); err != nil {
				t.Fatal(err)
			}
			want := visible(styled + "\x1b[2J")
			if colours {
				want = styled + visible("\x1b[2J")
			}
			if b.String() != want {
				t.Errorf("cut at %d, colours %t: %q, want %q", cut, colours, b.String(), want)
			}
		}
	}
}

// TestNothingSpeaksToTheTerminal runs commands on a database whose ids, titles,
// texts and metadata are made to drive a terminal.
func TestNothingSpeaksToTheTerminal(t *testing.T) {
	evil := "x\x1b]0;owned\x07\u202e\u009b31m\u2066"
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	corpus, queries := filepath.Join(dir, "c.jsonl"), filepath.Join(dir, "q.jsonl")
	for name, text := range map[string]string{
		corpus:  `{"_id": ` + string(quoted) + `, "title": ` + string(quoted) + `, "text": "apple ` + string(quoted)[1:] + `, "metadata": {"k": ` + string(quoted) + `}}`,
		queries: `{"_id": ` + string(quoted) + `, "text": "apple ` + string(quoted)[1:] + `}`,
	} {
		if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	db := filepath.Join(dir, "d\x1b[2J")
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"index", "--db", db, "--model", "hash-64", corpus}},
		{0, []string{"search", "--db", db, "apple"}},
		{0, []string{"search", "--db", db, "--json", "apple"}},
		{0, []string{"search", "--db", db, "--queries", queries}},
		{0, []string{"search", "--db", db, "--queries", queries, "--format", "trec"}},
		{0, []string{"search", "--db", db, "--queries", queries, "--format", "json"}},
		{0, []string{"explain", "--db", db, "--id", evil, "apple"}},
		{0, []string{"stats", "--db", db}},
		{0, []string{"doctor", "--db", db, "--model", "hash-64"}},
		{2, []string{"search", "--db", db, "--offline", "--model", "./" + evil, "apple"}},
		{3, []string{"delete", "--db", db, "no" + evil}},
		{2, []string{"stats", "--db", db, evil}},
		{2, []string{evil}},
	} {
		if said := silent(t, filepath.Join(dir, "cache"), c.code, c.args...); !strings.Contains(said, "1b") {
			t.Errorf("%q: no escape in %q", c.args, said)
		}
	}
}
