// Package command is the lexsem command line: one file a command (cmd_NAME.go), each with a table of its
// flags, and one place that turns errors into exit codes. Start with [Run], the only function that the
// program calls.
//
// Commands reach arguments, streams, environment and terminal only through [Env], so tests run them
// in-process. When the context ends, commands stop soon and leave databases whole.
package command

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Env is the process a command runs in.
type Env struct {
	Args           []string            // arguments without the program's name
	Stdin          io.Reader           // where "-" reads from
	Stdout, Stderr io.Writer           // results; progress, errors and hints
	Getenv         func(string) string // environment; an empty value counts as unset
	StdoutTerminal bool                // Stdout is a terminal: colours may be used
	StderrTerminal bool                // Stderr is a terminal: progress bars may be drawn
	Width          int                 // columns of the terminal; 0 means 80
}

// System returns the Env of the running process.
func System() Env {
	e := Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb",
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			e.Width = w
			break
		}
	}
	return e
}

// coloured reports whether results are printed in colours: on a terminal that has them, without NO_COLOR.
func (e Env) coloured() bool {
	return e.StdoutTerminal && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
}

func (e Env) withDefaults() Env {
	if e.Stdin == nil {
		e.Stdin = eof{}
	}
	if e.Stdout == nil {
		e.Stdout = io.Discard
	}
	if e.Stderr == nil {
		e.Stderr = io.Discard
	}
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	if e.Width <= 0 {
		e.Width = 80
	}
	return e
}

// eof is an empty input.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
