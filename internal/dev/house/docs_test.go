package house_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inTicks finds what documents put in back-ticks, linked finds links, and goBlock Go.
var (
	inTicks = regexp.MustCompile("`([^`\n]+)`")
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	linked  = regexp.MustCompile(`\]\(([^)#]+)\)`)
	path    = regexp.MustCompile(`^(\.ci|bench|cmd|docs|encoder|engine|examples|index|internal|modulate|store)(/[A-Za-z0-9_.-]+)*/?$`)
	command = regexp.MustCompile(`(?m)\blexsem (bench [a-z]+|[a-z]+)\b`)
)

// documents are the files users read.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := filepath.Glob("../../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(name, "../../../")] = string(raw)
		}
	}
	delete(all, "CHANGELOG.md") // names what is gone, too
	if len(all) < 5 {
		t.Fatalf("only %d documents found", len(all))
	}
	return all
}

func TestDocumentsNameWhatExists(t *testing.T) {
	for name, text := range documents(t) {
		text = goBlock.ReplaceAllString(text, "")
		for _, m := range inTicks.FindAllStringSubmatch(text, -1) {
			if path.MatchString(m[1]) && !strings.Contains(m[1], "NAME") { // NAME stands for any
				if _, err := os.Stat(filepath.Join("../../..", m[1])); err != nil {
					t.Errorf("%s names `%s`, which is not there", name, m[1])
				}
			}
		}
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../../..", filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
}

// TestDocumentsAreSmall: nobody reads what is long.
func TestDocumentsAreSmall(t *testing.T) {
	out, err := exec.Command("git", "-C", "../../..", "ls-files", "--", "*.md").Output()
	if err != nil {
		t.Skipf("NOT TESTED: the documents are listed by git: %v", err)
	}
	sum := 0
	for _, name := range strings.Fields(string(out)) {
		raw, err := os.ReadFile(filepath.Join("../../..", name))
		if err != nil {
			t.Fatal(err)
		}
		sum += len(raw)
		if most := map[string]int{"README.md": 7_000, "CONTRIBUTING.md": 4_000}[name]; most > 0 && len(raw) > most {
			t.Errorf("%s has %d bytes; cut it to %d", name, len(raw), most)
		}
	}
	if sum > 200_000 {
		t.Errorf("all documents have %d bytes; cut them to 200,000", sum)
	}
}

// TestDocumentsNameCommandsThatExist looks for "lexsem COMMAND" in back-ticks
// and code blocks.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	known := map[string]bool{"help": true}
	files, err := filepath.Glob("../../../cmd/lexsem/internal/command/cmd_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`name:\s+"([a-z ]+)"`).FindAllStringSubmatch(string(raw), -1) {
			known[m[1]] = true
		}
	}
	block := regexp.MustCompile("(?s)```.*?```|`[^`\n]+`|\n    [^\n]+")
	for name, text := range documents(t) {
		for _, code := range block.FindAllString(text, -1) {
			for _, m := range command.FindAllStringSubmatch(code, -1) {
				if !known[m[1]] {
					t.Errorf("%s shows `lexsem %s`, which is no command", name, m[1])
				}
			}
		}
	}
}
