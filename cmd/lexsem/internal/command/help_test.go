package command

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every help text fits a terminal of 80 columns and says all there is to say.
func TestHelpFits(t *testing.T) {
	pages := map[string]string{}
	var b bytes.Buffer
	writeOverview(&b)
	pages["overview"] = b.String()
	for _, c := range commands() {
		var b bytes.Buffer
		writeHelp(&b, c)
		pages[c.name] = b.String()
		for _, e := range c.examples {
			folded := strings.Join(strings.Fields(strings.ReplaceAll(b.String(), " \\\n", " ")), " ")
			if !strings.Contains(folded, strings.Join(strings.Fields(e), " ")) {
				t.Errorf("help %s does not show the example %q", c.name, e)
			}
		}
		squeezed := squeeze(b.String())
		for _, p := range append(paragraphs(c.about), c.summary) {
			if !strings.Contains(squeezed, squeeze(p)) {
				t.Errorf("help %s has lost words of %q", c.name, p)
			}
		}
	}
	for name, page := range pages {
		for line := range strings.SplitSeq(page, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 || strings.TrimRight(line, " ") != line {
				t.Errorf("help %s: a line of %d columns: %q", name, n, line)
			}
		}
	}
}

// squeeze leaves white space out.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in            string
		indent, width int
		want          string
	}{
		{"a bb  ccc\nd", 2, 8, "  a bb\n  ccc d\n"},
		{"éé ü", 0, 4, "éé ü\n"},
		{`see {"aa","bb","cc"} for it`, 0, 10, "see {\"aa\",\n\"bb\",\"cc\"}\nfor it\n"},
		{"longwordwithoutcomma x", 0, 5, "longwordwithoutcomma\nx\n"},
		{"", 1, 5, " \n"},
	} {
		if got := wrap(c.in, c.indent, c.width); got != c.want {
			t.Errorf("wrap(%q, %d, %d) = %q, want %q", c.in, c.indent, c.width, got, c.want)
		}
	}
	if got, want := shellWords(`a "b c" 'd "e' f`), []string{"a", `"b c"`, `'d "e'`, "f"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("shell words %q, want %q", got, want)
	}
}

// The man page has every command, flag and example, and nothing in it is taken for a
// request that is none.
func TestMan(t *testing.T) {
	var b bytes.Buffer
	writeMan(&b, "1.2.3")
	page := b.String()
	if !strings.HasPrefix(page, ".TH LEXSEM 1 \"\" \"lexsem 1.2.3\"") {
		t.Errorf("it begins with %.60q", page)
	}
	for _, c := range commands() {
		if !strings.Contains(page, manText("lexsem "+c.name)) {
			t.Errorf("no command %s", c.name)
		}
		f := tableOf(c)
		for _, g := range f.groups {
			for _, name := range g.names {
				if !strings.Contains(page, "\\fB"+manText(dashed(name))+"\\fR") {
					t.Errorf("%s: no flag %s", c.name, name)
				}
			}
		}
		for _, e := range c.examples {
			if !strings.Contains(page, manText(e)) {
				t.Errorf("%s: no example %q", c.name, e)
			}
		}
	}
	for line := range strings.SplitSeq(page, "\n") {
		if strings.HasPrefix(line, "'") {
			t.Errorf("a line that man does not print: %q", line)
		}
		if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(line, ".") {
			switch name {
			case ".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi", ".RS", ".RE":
			default:
				t.Errorf("a line that man does not print: %q", line)
			}
		}
	}
	if got, want := manText(".x\n'y -\\z"), "\\&.x\n\\&'y \\-\\ez"; got != want {
		t.Errorf("manText is %q, want %q", got, want)
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		cmd := exec.Command(groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z")
		cmd.Stdin = strings.NewReader(page)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("groff: %v\n%s", err, out)
		}
		for line := range strings.SplitSeq(string(out), "\n") {
			if strings.Contains(line, "warning") && !strings.Contains(line, "cannot adjust") && !strings.Contains(line, "cannot break") || strings.Contains(line, "error") {
				t.Errorf("groff: %s", line)
			}
		}
	}
}

// TestHelpOfBench: the parts of bench fit a screen, each in one group; its flags stand behind "flags".
func TestHelpOfBench(t *testing.T) {
	page := func(topics ...string) string {
		t.Helper()
		var b bytes.Buffer
		if err := help(Env{Stdout: &b}, topics); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	short := page("bench")
	if n := strings.Count(short, "\n"); n > 40 {
		t.Errorf("it has %d lines", n)
	}
	for _, c := range commands() {
		if c.name != "bench" && !strings.HasPrefix(c.name, "bench ") {
			continue
		}
		in := 0
		for _, part := range benchParts {
			for _, name := range part.names {
				if name == c.name {
					in++
				}
			}
		}
		if in != 1 || !strings.Contains(short, "\n  "+c.name+" ") {
			t.Errorf("%s stands in %d groups", c.name, in)
		}
		if c.name != "bench" && strings.Contains(page(), "  "+c.name+" ") {
			t.Errorf("the list of commands has %s, which help bench lists", c.name)
		}
	}
	for _, line := range strings.Split(short, "\n") {
		if n := utf8.RuneCountInString(line); n > helpWidth {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
	if long := page("bench", flagsTopic); !strings.Contains(long, "\n  --keep-self ") || strings.Contains(short, "--keep-self") {
		t.Errorf("the flags are not behind %s", flagsTopic)
	}
	if err := help(Env{Stdout: &bytes.Buffer{}}, []string{"search", flagsTopic}); err == nil {
		t.Error("help search flags is no page")
	}
}
