package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/store"
)

func TestExitCodes(t *testing.T) {
	missing := &provision.MissingError{Missing: []provision.Missing{
		{Artifact: "onnxruntime", Attempts: []provision.Attempt{{Route: "pip", Reason: errors.New("not on PATH")}}, Remedy: "install pip"},
		{Artifact: "bge", Attempts: []provision.Attempt{{Route: "mvn", Reason: errors.New("not on PATH")}}, Remedy: "install mvn"},
	}}
	cases := []struct {
		err  error
		code int
		hint string // part of it; "" where there is none
	}{
		{nil, 0, ""},
		{errors.New("anything"), 1, ""},
		{usagef("wrong"), 2, ""},
		{hinted(usagef("wrong"), "do it so"), 2, "do it so"},
		{engine.ErrNotFound, 3, ""},
		{engine.ErrNotFitted, 3, "lexsem fit"},
		{&store.LockedError{Dir: "d"}, 4, "wait"},
		{&store.CorruptError{Dir: "d", What: "w"}, 5, "doctor"},
		{&encoder.MismatchError{}, 6, "--model"},
		{&store.VersionError{}, 6, ""},
		{&store.DimensionError{}, 6, ""},
		{encoder.ErrUnavailable, 7, "lexsem setup"},
		{missing, 7, "install pip; install mvn"},
		{fmt.Errorf("encoding: %w: nobody there", encoder.ErrSource), 7, ""},
		{context.Canceled, 130, ""},
		{&interrupted{"stopped"}, 130, ""},
		{errors.Join(&store.CorruptError{}, errors.New("and closing failed")), 5, "doctor"},
	}
	for _, c := range cases {
		wrapped := c.err
		if wrapped != nil {
			wrapped = fmt.Errorf("doing: %w", c.err)
		}
		for _, err := range []error{c.err, wrapped} {
			if got := exitCode(err); got != c.code {
				t.Errorf("exitCode(%v) = %d, want %d", err, got, c.code)
			}
			if hint := hintOf(err); !strings.Contains(hint, c.hint) {
				t.Errorf("hintOf(%v) = %q, want %q in it", err, hint, c.hint)
			}
		}
	}
	if hint := hintOf(&store.VersionError{}); hint != "" {
		t.Errorf("a database of a later format: hint %q, which is for models", hint)
	}
	if s := summaryOf(missing); strings.Contains(s, "\n") || !strings.Contains(s, "onnxruntime and bge") {
		t.Errorf("summary %q", s)
	}
	if d := detailsOf(missing); len(d) != 2 || !strings.Contains(d[1], "bge by mvn: not on PATH") {
		t.Errorf("details %q", d)
	}
	if s := summaryOf(errors.Join(errors.New("a"), errors.New("b"))); s != "a; b" {
		t.Errorf("joined errors: %q, want one line", s)
	}
}

// TestUnwrittenResults: results that could not be written are a failure, in
// commands too that print line by line.
func TestUnwrittenResults(t *testing.T) {
	full := errors.New("no space left on device")
	for _, args := range [][]string{{"help"}, {"help", "search"}, {"version"}, {"setup", "--list", "--cache", t.TempDir()}} {
		var stderr strings.Builder
		if code := Run(t.Context(), Env{Args: args, Stdout: failing{full}, Stderr: &stderr}); code != exitFailure || !strings.Contains(stderr.String(), full.Error()) {
			t.Errorf("%v: exit code %d, %q", args, code, stderr.String())
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestErrorsDoNotSpeakToTheTerminal: what an error quotes from outside is shown
// with escapes for control characters.
func TestErrorsDoNotSpeakToTheTerminal(t *testing.T) {
	err := errors.New("document \x1b]0;title\x07\u009b31m:\tno text\nsecond")
	if s := summaryOf(err); s != `document \u001b]0;title\u0007\u009b31m: no text; second` {
		t.Errorf("%q", s)
	}
}

func TestInterruptedInWords(t *testing.T) {
	if s := summaryOf(context.Canceled); s != "interrupted" {
		t.Errorf("%q", s)
	}
	if s := summaryOf(fmt.Errorf("probe the model: %w", context.Canceled)); s != "probe the model: interrupted" {
		t.Errorf("%q", s)
	}
}
