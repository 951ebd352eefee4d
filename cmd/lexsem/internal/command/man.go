package command

import (
	"fmt"
	"io"
	"strings"
)

// manTopic is the topic of help that prints a man page of the whole program.
const manTopic = "man"

// writeMan prints the manual page lexsem.1 in the language of man(7), from the same table
// as help.
func writeMan(w io.Writer, version string) {
	m := manPage{w}
	m.line(".TH LEXSEM 1 \"\" %s \"User Commands\"", manQuoted("lexsem "+version))
	m.section("NAME")
	m.text("lexsem - search by meaning and by the words of the query")
	m.section("SYNOPSIS")
	m.text("lexsem COMMAND [flags] [arguments]")
	m.section("DESCRIPTION")
	m.text(overview)
	m.line(".PP")
	m.text(variablesText)
	m.section("COMMANDS")
	for _, c := range commands() {
		m.command(c)
	}
	m.section("FLAGS OF EVERY COMMAND")
	f := newFlags(program)
	new(globals).declare(f)
	m.flags(f)
	m.section("EXIT STATUS")
	for code := range strings.SplitSeq(exitCodesText, " · ") {
		number, meaning, _ := strings.Cut(code, " ")
		m.item(number, meaning)
	}
	m.section("EXAMPLES")
	m.examples(firstSteps)
}

type manPage struct{ w io.Writer }

// line prints a request; its arguments are already quoted.
func (m manPage) line(format string, args ...any) { fmt.Fprintf(m.w, format+"\n", args...) }

func (m manPage) section(name string) { m.line(".SH %s", manQuoted(name)) }

// text prints words as lines that man fills.
func (m manPage) text(s string) { fmt.Fprint(m.w, manText(wrap(s, 0, helpWidth))) }

func (m manPage) item(head, text string) {
	m.line(".TP\n\\fB%s\\fR", strings.TrimSuffix(manText(head), "\n"))
	m.text(text)
}

func (m manPage) command(c command) {
	m.line(".SS %s", manQuoted("lexsem "+c.name+" "+c.args))
	m.text(strings.ToUpper(c.summary[:1]) + c.summary[1:] + ".")
	for _, p := range paragraphs(c.about) {
		m.line(".PP")
		m.text(p)
	}
	f := newFlags(c.name)
	c.declare(f)
	m.flags(f)
	m.examples(c.examples)
}

func (m manPage) flags(f *flags) {
	for _, g := range f.groups {
		for _, name := range g.names {
			fl := f.set.Lookup(name)
			value, usage := valueName(fl)
			m.line(".TP\n\\fB%s\\fR %s", manText(dashed(name)), strings.TrimSpace("\\fI"+manText(value)+"\\fR"))
			m.text(usage + defaultOf(fl))
		}
	}
}

// examples prints command lines as they are.
func (m manPage) examples(lines []string) {
	if len(lines) == 0 {
		return
	}
	m.line(".PP\n.nf\n.RS 4")
	for _, l := range lines {
		m.line("%s", manText(l))
	}
	m.line(".RE\n.fi")
}

// manText escapes a text so that man prints it unchanged: backslashes and dashes are
// escaped, and no line begins like a request.
func manText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.SplitAfter(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "")
}

// manQuoted is manText as one argument of a request.
func manQuoted(s string) string { return `"` + strings.ReplaceAll(manText(s), `"`, `\(dq`) + `"` }
