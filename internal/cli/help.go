package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

const helpWidth = 96

func help(env Env, topics []string) error {
	switch {
	case len(topics) == 0:
		writeOverview(env.Stdout)
	default:
		c, rest, ok := match(topics)
		if !ok {
			return unknownCommand(topics[0])
		}
		if len(rest) > 0 {
			return hinted(usagef("help takes one command, got %q behind %s", rest[0], c.name), "`lexsem help` lists the commands")
		}
		writeHelp(env.Stdout, c)
	}
	return nil
}

func writeOverview(w io.Writer) {
	fmt.Fprint(w, `lexsem finds passages by meaning and by their very words: one vector a passage,
and a query vector that is bent towards the words the query holds.

Usage: lexsem COMMAND [flags] [arguments]

`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, `
`+"`lexsem help COMMAND`"+` shows flags, exit codes and examples. Every flag has a variable:
--db is LEXSEM_DB, --ef-construction is LEXSEM_EF_CONSTRUCTION.

Start with:
  lexsem demo
  lexsem index --db notes.db ~/notes && lexsem search --db notes.db "how do I rotate the keys"
`)
}

func writeHelp(w io.Writer, c command) {
	var g globals
	f := newFlags(c.name)
	c.declare(f)
	g.declare(f)
	fmt.Fprintf(w, "lexsem %s: %s\n\nUsage: lexsem %s [flags] %s\n", c.name, c.summary, c.name, c.args)
	if c.about != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.about))
	}
	for _, g := range f.groups {
		if len(g.names) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n", g.title)
		for _, name := range g.names {
			writeFlag(w, f.set.Lookup(name))
		}
	}
	fmt.Fprintf(w, "\nExit codes:\n%s", wrap(exitCodesText, 2, helpWidth))
	if len(c.examples) > 0 {
		fmt.Fprint(w, "\nExamples:\n")
		for _, e := range c.examples {
			fmt.Fprintf(w, "  %s\n", e)
		}
	}
}

// writeFlag prints one flag. Its usage starts with the name of its value in
// backquotes; numbers do without.
func writeFlag(w io.Writer, f *flag.Flag) {
	value, usage := "N", f.Usage
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		value = ""
	}
	if rest, ok := strings.CutPrefix(usage, "`"); ok {
		value, usage, _ = strings.Cut(rest, "`")
	}
	head := strings.TrimSpace(dashed(f.Name) + " " + value)
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
		usage += " (default " + f.DefValue + ")"
	}
	const column = 26
	text := wrap(usage, column, helpWidth)
	if len(head)+3 <= column {
		fmt.Fprintf(w, "  %-*s%s", column-2, head, text[column:])
	} else {
		fmt.Fprintf(w, "  %s\n%s", head, text)
	}
}

// dashed writes a flag as users type it: -k, --db.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// wrap breaks s at spaces into lines of at most width columns, each indented
// and ended with a line break.
func wrap(s string, indent, width int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", indent)
	line := pad
	for _, word := range strings.Fields(s) {
		if len(line) > indent && len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line = pad
		}
		if len(line) > indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
