package command

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// recordedCommand is a command of the guide and the output that is recorded there.
type recordedCommand struct{ command, output string }

// recordedCommands reads the console blocks of a document.
func recordedCommands(text string) (all []recordedCommand) {
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				all = append(all, recordedCommand{command: strings.TrimSuffix(command, "\n")})
			} else {
				all[len(all)-1].output += line
			}
		}
	}
	return all
}

// TestWalkthrough runs the console blocks of docs/guide.md, in the order of the page, by the
// shell of its reader; other blocks are not run. LEXSEM_RECORD=1
// writes what it printed into the document instead.
func TestWalkthrough(t *testing.T) {
	if !trial.Long() {
		t.Skip("it builds the program and needs the default model; LEXSEM_LONG=1 runs it")
	}
	if runtime.GOOS == "windows" {
		t.Skip("its commands are of a POSIX shell")
	}
	const file = "../../../../docs/guide.md"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(t.TempDir(), "lexsem")
	if out, err := exec.Command("go", "build", "-o", bin, "../../../../cmd/lexsem").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	recorded := recordedCommands(string(raw))
	if len(recorded) < 10 {
		t.Fatalf("only %d commands found", len(recorded))
	}
	const end = "--- end of this command ---"
	var script strings.Builder
	for _, r := range recorded {
		script.WriteString(r.command + "\necho '" + end + "'\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-s")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script.String())
	cmd.Env = append(os.Environ(), "LEXSEM_VECTOR_CACHE=0", "PATH="+filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, errs.Bytes())
	}
	got := strings.Split(string(out), end+"\n")
	if len(got) != len(recorded)+1 {
		t.Fatalf("%d of %d commands ended: %s\n%s", len(got)-1, len(recorded), out, errs.Bytes())
	}
	if os.Getenv("LEXSEM_RECORD") != "" {
		text := string(raw)
		for i, r := range recorded {
			text = strings.Replace(text, "$ "+r.command+"\n"+r.output, "$ "+r.command+"\n"+got[i], 1)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	number := regexp.MustCompile(`[0-9][0-9.,]*`)
	for i, r := range recorded {
		if number.ReplaceAllString(got[i], "#") != number.ReplaceAllString(r.output, "#") {
			t.Errorf("$ %s\nprints\n%s\nand is recorded as\n%s", r.command, got[i], r.output)
		}
	}
	if errs.Len() > 0 {
		t.Errorf("on stderr:\n%s", errs.Bytes())
	}
}
