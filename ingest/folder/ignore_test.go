package folder

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

func TestIgnore(t *testing.T) {
	for _, c := range []struct {
		patterns string
		name     string
		folder   bool
		want     bool
	}{
		{"*.log", "a.log", false, true},
		{"*.log", "deep/in/a.log", false, true},
		{"*.log\n!keep.log", "keep.log", false, false},
		{"!keep.log\n*.log", "keep.log", false, true},
		{"/a.txt", "a.txt", false, true},
		{"/a.txt", "sub/a.txt", false, false},
		{"build/", "build", true, true},
		{"build/", "build", false, false},
		{"sub/a.txt", "sub/a.txt", false, true},
		{"sub/a.txt", "deep/sub/a.txt", false, false},
		{"**/tmp", "x/y/tmp", true, true},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**", "a/x", false, true},
		{"a/**", "a", true, false},
		{"a*b", "axb", false, true},
		{"/a*b", "ax/b", false, false},
		{"f?o", "foo", false, true},
		{"f?o", "f/o", false, false},
		{"[a-c].md", "b.md", false, true},
		{"[!a-c].md", "b.md", false, false},
		{"[!a-c].md", "d.md", false, true},
		{"[[:digit:]].md", "7.md", false, true},
		{"[a", "[a", false, false},
		{"# comment", "# comment", false, false},
		{`\#x`, "#x", false, true},
		{`\!x`, "!x", false, true},
		{"x ", "x", false, true},
		{`x\ `, "x ", false, true},
		{"x\r\ny\r\n", "x", false, true},
		{"\ufeffx", "x", false, true},
		{"", "x", false, false},
		{"/", "x", true, false},
	} {
		if got := ignored([]rules{parseRules("", []byte(c.patterns))}, c.name, c.folder); got != c.want {
			t.Errorf("%q on %q (folder %v): %v, want %v", c.patterns, c.name, c.folder, got, c.want)
		}
	}
}

// TestIgnoreNearest: a folder's own file speaks after the one above it.
func TestIgnoreNearest(t *testing.T) {
	in := []rules{parseRules("", []byte("*.md")), parseRules("sub", []byte("!/a.md"))}
	for name, want := range map[string]bool{"sub/a.md": false, "sub/b.md": true, "sub/x/a.md": true} {
		if got := ignored(in, name, false); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestIgnoreAsGit holds the patterns to git's own answers.
func TestIgnoreAsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("NOT TESTED: no git here to compare with")
	}
	dir := t.TempDir()
	run := func(in string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(in)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "XDG_CONFIG_HOME="+dir)
		out, err := cmd.Output()
		return string(out), err
	}
	if _, err := run("", "init", "-q"); err != nil {
		t.Skip("NOT TESTED: git makes no repository here:", err)
	}
	rng := rand.New(rand.NewPCG(trial.Seed(t), 1))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	for range trial.Rounds(t, 40, 2000) {
		var lines []string
		for range 1 + rng.IntN(4) {
			var b strings.Builder
			b.WriteString(pick("", "", "", "!", "/", "**/", "*", `\!`))
			for range 1 + rng.IntN(4) {
				b.WriteString(pick("a", "b", "ab", "*", "?", "**", "/", "/**/", "[ab]", "[!a]", "[a-b]", `\a`, `\*`, "[]a]", "[[:alpha:]]", "[[:x:]]", "[a", "***", "[a/]", "[^b]", "-", "[a-]", "."))
			}
			b.WriteString(pick("", "", "", "/", "/**", " ", `\ `, "/*"))
			lines = append(lines, b.String())
		}
		patterns := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(patterns), 0o644); err != nil {
			t.Fatal(err)
		}
		rs := []rules{parseRules("", []byte(patterns))}
		var names []string
		for range 40 {
			var parts []string
			for range 1 + rng.IntN(4) {
				parts = append(parts, pick("a", "b", "ab", "ba", "aab", "a*", "[a", "a-b", "]", "x", "a ", "a.b"))
			}
			names = append(names, strings.Join(parts, "/"))
		}
		// Nothing of it exists, so git takes all last names for files.
		out, err := run(strings.Join(names, "\x00")+"\x00", "check-ignore", "--no-index", "--verbose", "--non-matching", "-z", "--stdin")
		if err != nil && out == "" {
			t.Fatalf("%q: %v", patterns, err)
		}
		fields := strings.Split(out, "\x00")
		for i, name := range names {
			if len(fields) < 4*i+4 {
				t.Fatalf("git answered %d fields for %d names", len(fields), len(names))
			}
			p := fields[4*i+2]
			want := p != "" && !strings.HasPrefix(p, "!")
			if got := outOfWalk(rs, name); got != want {
				t.Errorf("%q on %q: left out %v, git says %v by %q", patterns, name, got, want, p)
			}
		}
	}
}

// outOfWalk asks as a walk does: a folder that is left out takes all below with it.
func outOfWalk(rs []rules, name string) bool {
	parts := strings.Split(name, "/")
	for i := range parts[:len(parts)-1] {
		if ignored(rs, strings.Join(parts[:i+1], "/"), true) {
			return true
		}
	}
	return ignored(rs, name, false)
}

// FuzzIgnore: no pattern panics, and none takes long.
func FuzzIgnore(f *testing.F) {
	f.Add("a/**/[!b-\\]x]*.md\n!c/", "a/b/c.md")
	f.Add("[[:alpha:]-z]", "é")
	f.Add("[z-a]", "b")
	f.Fuzz(func(t *testing.T, patterns, name string) {
		rs := []rules{parseRules("", []byte(patterns))}
		ignored(rs, name, true)
		if got, again := ignored(rs, name, false), ignored(rs, name, false); got != again {
			t.Errorf("%q on %q: %v, then %v", patterns, name, got, again)
		}
	})
}

// ignored reports whether rules leave a name out.
func ignored(in []rules, name string, folder bool) bool {
	out, _ := decided(in, name, folder)
	return out
}
