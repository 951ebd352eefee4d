package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

func completed(t *testing.T, words ...string) (found []string, offer string) {
	t.Helper()
	var b bytes.Buffer
	if err := complete(&b, words); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for _, l := range lines[:len(lines)-1] {
		word, _, ok := strings.Cut(l, "\t")
		if !ok {
			t.Errorf("a line without a tab: %q", l)
		}
		found = append(found, word)
	}
	return found, lines[len(lines)-1]
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		words string // the last is at the cursor
		want  string // candidates
		offer string
	}{
		{"=sea", "search", offerNothing},
		{"--offline --model hash =set", "setup", offerNothing},
		{"--db =", "", offerFolders},
		{"--model =all", "all-MiniLM-L6-v2 all-MiniLM-L6-v2-int8 all-MiniLM-L6-v2-q", offerFolders},
		{"search --model =ol", "ollama:", offerFolders},
		{"=--off", "--offline", offerNothing},
		{"--backend =n", "native", offerNothing},
		{"=nonsense", "", offerNothing},
		{"nonsense =", "", offerNothing},
		{"search --mode =", "auto dense lexical hybrid", offerNothing},
		{"search --mode dense --format =", "text json trec", offerNothing},
		{"embed --format =", "jsonl npy fbin", offerNothing},
		{"search -mode =d", "dense", offerNothing},
		{"search =--mode=", "--mode=auto --mode=dense --mode=lexical --mode=hybrid", offerNothing},
		{"search =--mode=h", "--mode=hybrid", offerNothing},
		{"search =--db=x", "", offerFolders},
		{"search =--nonsense=", "", offerNothing},
		{"search --queries =", "", offerFiles},
		{"search --filter =", "", offerNothing},
		{"search --json =--colla", "--collapse", offerNothing},
		{"search -- =--col", "", offerFiles},
		{"search --backend=native =--colla", "--collapse", offerNothing},
		{"search a query =--colla", "--collapse", offerNothing},
		{"index --db d =", "", offerFiles},
		{"delete --db d =", "", offerNothing},
		{"index =--batch", "--batch", offerNothing},
		{"bench =en", "engine", offerNothing},
		{"bench =ca", "capretrieval", offerNothing},
		{"bench engine =--docs", "--docs", offerNothing},
		{"bench engine --parts =op", "open", offerNothing},
		{"bench engine --parts open,clo =open,clo", "", offerNothing},
		{"bench engine --parts =open,cl", "open,close", offerNothing},
		{"bench --systems =dense,rr", "dense,rrf", offerNothing},
		{"help =exp", "explain export", offerNothing},
		{"help bench =a", "ann", offerNothing},
		{"help bench =fl", "flags", offerNothing},
		{"completion =", "bash zsh fish powershell", offerNothing},
		{"completion bash =", "", offerNothing},
		{"mcp =un", "uninstall", offerNothing},
		{"mcp install =c", "claude codex cursor", offerNothing},
		{"mcp install claude =", "", offerNothing},
	} {
		found, offer := completed(t, strings.Split(c.words, " ")...)
		if got := strings.Join(found, " "); got != c.want || offer != c.offer {
			t.Errorf("%s: %q, %s; want %q, %s", c.words, got, offer, c.want, c.offer)
		}
	}
	if found, _ := completed(t); !slices.Contains(found, "help") || slices.Contains(found, completeCommand) {
		t.Errorf("the commands are %q", found)
	}
}

// Every entry of the table of values is of a flag that there is, and every value of
// the flags that check theirs at once is taken.
func TestKnownValues(t *testing.T) {
	used := map[string]bool{}
	for _, c := range commands() {
		f := tableOf(c)
		for _, g := range f.groups {
			for _, name := range g.names {
				used[name], used[c.name+" "+name] = true, true
				if found, _ := values(c.name, f.set.Lookup(name), ""); slices.ContainsFunc(found, func(v candidate) bool { return v.word == "" || strings.ContainsAny(v.word, " \t\n") }) {
					t.Errorf("%s --%s has the values %q", c.name, name, found)
				}
			}
		}
	}
	for key, known := range knownValues {
		if !used[key] {
			t.Errorf("there is no flag %q", key)
		}
		if len(known()) == 0 {
			t.Errorf("%q has no values", key)
		}
	}
	for _, v := range knownValues["backend"]() {
		if err := (&globals{backend: v}).checkBackend(); err != nil {
			t.Error(err)
		}
	}
}

// TestShells loads the script of each shell into that shell and completes by it.
// bash is nearly everywhere; the others are asked in long runs, where they are.
func TestShells(t *testing.T) {
	dir := t.TempDir()
	script := func(shell string) string {
		b, err := completionScripts.ReadFile("completion/lexsem." + shell)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "lexsem."+shell)
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, s := range shells() {
		script(s)
	}
	program, err := exec.LookPath("lexsem") // testscript puts this test's binary there
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Dir(program) + string(os.PathListSeparator) + os.Getenv("PATH")
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(filepath.Join(work, "a folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "a file.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ask := func(t *testing.T, shell string, args ...string) string {
		t.Helper()
		bin, err := exec.LookPath(shell)
		if err != nil {
			t.Skip("NOT TESTED: there is no " + shell + " here; install it")
		}
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), "PATH="+path, "HOME="+work)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", shell, err, out)
		}
		return string(out)
	}
	// lines of a shell that are completed, and what is offered
	cases := []struct {
		line []string
		want string
	}{
		{[]string{"sea"}, "search"},
		{[]string{"search", "--mode", ""}, "auto dense hybrid lexical"},
		{[]string{"search", "--colla"}, "--collapse"},
		{[]string{"--db", "a"}, "a folder"},
		{[]string{"backup", "a"}, "a file.txt|a folder"},
		{[]string{"bench", "engine", "--parts", "open,cl"}, "open,close"},
		{[]string{"delete", "a"}, ""},
	}
	check := func(t *testing.T, line []string, out, want string) {
		t.Helper()
		var got []string
		for l := range strings.SplitSeq(out, "\n") {
			l, _, _ = strings.Cut(l, "\t")
			if l = strings.TrimSuffix(strings.TrimSpace(strings.ReplaceAll(l, `\ `, " ")), "/"); l != "" {
				got = append(got, l)
			}
		}
		slices.Sort(got)
		separator := " "
		if strings.Contains(want, "a f") {
			separator = "|"
		}
		if s := strings.Join(slices.Compact(got), separator); s != want {
			t.Errorf("lexsem %s: %q, want %q", strings.Join(line, " "), s, want)
		}
	}
	t.Run("bash", func(t *testing.T) {
		for _, c := range append(cases, []struct {
			line []string
			want string
		}{
			{[]string{"search", "--mode", "="}, "auto dense hybrid lexical"},
			{[]string{"search", "--mode", "=", "d"}, "dense"},
			{[]string{"search", "--db", "=", "x", "--mode", "d"}, "dense"},
		}...) {
			var words strings.Builder
			for _, w := range c.line {
				fmt.Fprintf(&words, " '%s'", w)
			}
			check(t, c.line, ask(t, "bash", "--norc", "-c", fmt.Sprintf(
				`source ../lexsem.bash; COMP_WORDS=(lexsem%s); COMP_CWORD=%d; _lexsem; printf '%%s\n' "${COMPREPLY[@]}"`, words.String(), len(c.line))), c.want)
		}
	})
	t.Run("fish", func(t *testing.T) {
		if !trial.Long() {
			t.Skip("set LEXSEM_LONG to ask this shell")
		}
		for _, c := range cases {
			check(t, c.line, ask(t, "fish", "--no-config", "-c", fmt.Sprintf("source ../lexsem.fish; complete -C 'lexsem %s'", strings.Join(c.line, " "))), c.want)
		}
		check(t, []string{"search --mode=d"}, ask(t, "fish", "--no-config", "-c", "source ../lexsem.fish; complete -C 'lexsem search --mode=d'"), "--mode=dense")
	})
	t.Run("zsh", func(t *testing.T) {
		if !trial.Long() {
			t.Skip("set LEXSEM_LONG to ask this shell")
		}
		for _, c := range cases {
			// Candidates go through compadd; one that prints them stands in for it.
			words := make([]string, len(c.line))
			for i, w := range c.line {
				words[i] = "'" + w + "'"
			}
			check(t, c.line, ask(t, "zsh", "-f", "-c", fmt.Sprintf(`
compdef() { : }
_describe() { local x; for x in ${(P)4}; do print -r -- ${${x//\\:/$'\1'}%%%%:*}; done }
_files() { local f; for f in ${~PREFIX}*(N); do [[ $1 != -/ || -d $f ]] && print -r -- $f; done; true }
compset() { : }
source ../lexsem.zsh
words=(lexsem %s); CURRENT=%d; PREFIX=%s
_lexsem`, strings.Join(words, " "), len(words)+1, words[len(words)-1])), c.want)
		}
	})
	t.Run("powershell", func(t *testing.T) {
		if !trial.Long() {
			t.Skip("set LEXSEM_LONG to ask this shell")
		}
		out := ask(t, "pwsh", "-NoProfile", "-Command", ". ../lexsem.powershell; (TabExpansion2 'lexsem search --mode d' 22).CompletionMatches.CompletionText")
		check(t, []string{"search --mode d"}, out, "dense")
	})
}
