package cli

import (
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

func TestSnippet(t *testing.T) {
	long := strings.Repeat("filler words that say nothing of note. ", 40) + "The signing keys rotate every ninety days. " + strings.Repeat("More filler. ", 40)
	lines := snippet(long, "how do signing keys rotate", 60, 2)
	joined := strings.Join(lines, " ")
	if len(lines) != 2 || !strings.Contains(joined, "signing keys rotate") || !strings.HasPrefix(joined, "…") || !strings.HasSuffix(joined, "…") {
		t.Errorf("snippet %q; want two lines around the words asked for", lines)
	}
	for _, l := range lines {
		if len([]rune(l)) > 60 {
			t.Errorf("line %q is wider than 60", l)
		}
	}
	if got := snippet("short\n\n text\x1b[31m", "q", 60, 2); len(got) != 1 || got[0] != `short text\u001b[31m` {
		t.Errorf("short text: %q; want one line without control characters", got)
	}
	if got := snippet(" \n", "q", 60, 2); got != nil {
		t.Errorf("blank text: %q", got)
	}
	if got := snippet(strings.Repeat("é", 500), "q", 60, 2); len(got) != 2 || len([]rune(got[1])) > 60 {
		t.Errorf("one long word: %q", got)
	}
	if got := snippet(long, "absent", 60, 2); !strings.HasPrefix(got[0], "filler") {
		t.Errorf("nothing found: %q; want the beginning", got)
	}
}

func TestStyle(t *testing.T) {
	plain := &app{Env: Env{StdoutTerminal: false}.withDefaults()}
	color := &app{Env: Env{StdoutTerminal: true}.withDefaults()}
	none := &app{Env: Env{StdoutTerminal: true, Getenv: func(k string) string { return map[string]string{"NO_COLOR": "1"}[k] }}.withDefaults()}
	if plain.highlight("the keys", "keys") != "the keys" || none.highlight("the keys", "keys") != "the keys" {
		t.Error("colours without a terminal, or against NO_COLOR")
	}
	if got := color.highlight("the Keys, the", "which keys"); got != "the \x1b[1mKeys\x1b[0m, the" {
		t.Errorf("highlight: %q", got)
	}
}

func TestDemoCell(t *testing.T) {
	a := &app{Env: Env{}.withDefaults()}
	for _, id := range []string{"fmt.Print", "net/http.ResponseController.SetReadDeadline"} {
		for _, target := range []string{"", id} {
			if got := a.demoCell(id, target); len([]rune(got)) != demoColumn {
				t.Errorf("cell %q has %d columns, want %d", got, len([]rune(got)), demoColumn)
			}
		}
	}
}

// A line of list does not end within a character.
func TestListedTextIsNotCutInACharacter(t *testing.T) {
	for blanks := 396; blanks < 400; blanks++ {
		var out strings.Builder
		a := &app{Env: Env{Stdout: &out, Width: 100}}
		if err := a.printLine(engine.Document{ID: "id", Text: "a" + strings.Repeat(" ", blanks-1) + "語 b"}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "\ufffd") {
			t.Errorf("%d blanks: %q", blanks, out.String())
		}
	}
}
