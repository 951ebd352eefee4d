package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/secret"
)

// Run executes the command line in env and returns the exit code: 0 ok, 1
// failure, 2 usage, 3 not found, 4 locked, 5 corrupt, 6 mismatch, 7
// unavailable, 130 interrupted. When ctx is cancelled, commands stop soon and
// leave databases whole. It may be called more than once.
func Run(ctx context.Context, env Env) int {
	env = env.withDefaults()
	env.Stdin = &cancelReader{ctx: ctx, r: env.Stdin}
	out := &resultWriter{w: env.Stdout}
	results := &screen{w: out, colours: env.coloured()}
	notes := &screen{w: env.Stderr}
	env.Stdout, env.Stderr = results, notes
	defer notes.flush()
	do, a, args, err := chosen(env)
	if err == nil && do != nil {
		err = do(ctx, a, args)
	}
	if e := results.flush(); err == nil {
		err = e
	}
	if err == nil {
		err = out.err
	}
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	// Any argument may be an address with a password, and any error may quote one.
	fmt.Fprintf(env.Stderr, "lexsem: %s\n", secret.Hide(summaryOf(err)))
	for _, d := range detailsOf(err) {
		fmt.Fprintf(env.Stderr, "  %s\n", secret.Hide(d))
	}
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(env.Stderr, "hint: %s\n", secret.Hide(hint))
	}
	return code
}

// resultWriter remembers the first error of writing results, since commands that print line by line do
// not check for it. It is not safe for concurrent use.
type resultWriter struct {
	w   io.Writer
	err error
}

func (r *resultWriter) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// chosen finds the command that the arguments name, and its arguments; do is nil if nothing is left to
// do.
func chosen(env Env) (do action, a *app, args []string, err error) {
	if slices.Equal(env.Args, []string{"--version"}) {
		env.Args = []string{cmdVersion.name}
	}
	args, leading, err := splitGlobals(env.Args)
	if err != nil {
		return nil, nil, nil, helpOr(err, env, command{})
	}
	if len(args) == 0 {
		if len(leading) == 0 {
			writeOverview(env.Stdout)
			return nil, nil, nil, nil
		}
		return nil, nil, nil, hinted(usagef("no command given"), "`lexsem help` lists the commands")
	}
	switch args[0] {
	case "help":
		return nil, nil, nil, help(env, args[1:])
	case completeCommand:
		return nil, nil, nil, complete(env.Stdout, args[1:])
	}
	c, rest, ok := match(args)
	if !ok {
		return nil, nil, nil, unknownCommand(args[0])
	}
	a = &app{Env: env, name: c.name}
	f := newFlags(c.name)
	do = c.declare(f)
	a.globals.declare(f)
	if args, err = f.parse(append(adapt(leading, f), rest...), env.Getenv); err != nil {
		return nil, nil, nil, helpOr(err, env, c)
	}
	if c.args == "" && c.name != cmdBench.name && len(args) > 0 {
		return nil, nil, nil, hinted(usagef("%s takes no arguments, got %q", c.name, args[0]), cmp.Or(c.instead, "name the database with --db"))
	}
	return do, a, args, nil
}

// program is the name under which the flag table lists the flags before the command.
const program = "lexsem"

// splitGlobals parses the flags before the command's name. It returns the
// arguments from the name on and the flags, as name=value, to be handed to the
// command.
func splitGlobals(args []string) (rest, leading []string, err error) {
	var g globals
	f := newFlags(program)
	g.declare(f)
	f.bool("json", "")
	if err := f.set.Parse(args); err != nil {
		return nil, nil, f.usage(err)
	}
	f.set.Visit(func(fl *flag.Flag) { leading = append(leading, "--"+fl.Name+"="+fl.Value.String()) })
	return f.set.Args(), leading, nil
}

// adapt handles the one global flag that differs between commands: --json is a switch for most and
// takes a file name for bench, where the switch means "-".
func adapt(leading []string, f *flags) []string {
	out := make([]string, 0, len(leading))
	for _, l := range leading {
		if fl := f.set.Lookup("json"); l == "--json=true" && fl != nil {
			if b, ok := fl.Value.(interface{ IsBoolFlag() bool }); !ok || !b.IsBoolFlag() {
				l = "--json=-"
			}
		}
		out = append(out, l)
	}
	return out
}

func helpOr(err error, env Env, c command) error {
	if !errors.Is(err, flag.ErrHelp) {
		return err
	}
	if c.name == "" {
		writeOverview(env.Stdout)
		return nil
	}
	return help(env, strings.Fields(c.name))
}

func unknownCommand(name string) error {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	hint := "`lexsem help` lists the commands"
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return hinted(usagef("unknown command %q", name), hint)
}

// oneLine puts an error on one line: joined errors contain line breaks. An error may also quote ids
// and names from outside.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return visible(strings.ReplaceAll(s, "\t", " "))
}
