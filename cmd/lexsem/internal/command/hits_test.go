package command

import (
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

func TestSnippet(t *testing.T) {
	// hit is a hit of a chunk that begins at byte 100, whose span is part.
	hit := func(text, part string) engine.Hit {
		h := engine.Hit{Text: text, Start: 100, End: 100 + len(text)}
		if part != "" {
			at := strings.Index(text, part)
			h.Span = [2]int{100 + at, 100 + at + len(part)}
		}
		return h
	}
	const answer = "The signing keys rotate every ninety days."
	long := strings.Repeat("filler words that say nothing of note. ", 40) + answer + " " + strings.Repeat("More filler. ", 40)
	lines := snippet(hit(long, answer), 60, 2)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "…The signing keys rotate") || !strings.HasSuffix(lines[1], "…") {
		t.Errorf("snippet %q; want two lines from the span on", lines)
	}
	for _, l := range lines {
		if len([]rune(l)) > 60 {
			t.Errorf("line %q is wider than 60", l)
		}
	}
	if got := snippet(hit("short\n\n text\x1b[31m", ""), 60, 2); len(got) != 1 || got[0] != `short text\u001b[31m` {
		t.Errorf("short text: %q; want one line without control characters", got)
	}
	if got := snippet(hit(" \n", ""), 60, 2); got != nil {
		t.Errorf("blank text: %q", got)
	}
	if got := snippet(hit(strings.Repeat("é", 500), "éé"), 60, 2); len(got) != 2 || len([]rune(got[1])) > 60 {
		t.Errorf("one long word: %q", got)
	}
	if got := snippet(hit(long, ""), 60, 2); !strings.HasPrefix(got[0], "filler") {
		t.Errorf("no span: %q; want the beginning", got)
	}
	if got := snippet(hit("First this. "+long, "First this."), 60, 2); !strings.HasPrefix(got[0], "First") {
		t.Errorf("a span at the beginning: %q", got)
	}
	if got := snippet(hit("\n "+long, strings.Repeat("filler words that say nothing of note. ", 5)), 60, 2); !strings.HasPrefix(got[0], "filler") {
		t.Errorf("only white space before the span: %q", got)
	}
}

func TestStyle(t *testing.T) {
	plain := &app{Env: Env{StdoutTerminal: false}.withDefaults()}
	color := &app{Env: Env{StdoutTerminal: true}.withDefaults()}
	var none []*app
	for _, off := range []string{"NO_COLOR=1", "TERM=dumb"} {
		name, value, _ := strings.Cut(off, "=")
		none = append(none, &app{Env: Env{StdoutTerminal: true, Getenv: func(k string) string { return map[string]string{name: value}[k] }}.withDefaults()})
	}
	for _, a := range append(none, plain) {
		if a.highlight("the keys", "keys") != "the keys" {
			t.Error("colours without a terminal, against NO_COLOR, or on a terminal without them")
		}
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
