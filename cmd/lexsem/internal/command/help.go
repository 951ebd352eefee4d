package command

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// helpWidth is the columns of every line that help prints.
const helpWidth = 80

func help(env Env, topics []string) error {
	switch {
	case len(topics) == 0:
		writeOverview(env.Stdout)
	case len(topics) == 1 && topics[0] == manTopic:
		writeMan(env.Stdout, versions().Version)
	default:
		c, rest, ok := match(topics)
		if !ok {
			return unknownCommand(topics[0])
		}
		if c.name == cmdBenchName && len(rest) == 0 {
			writeBench(env.Stdout, c)
			return nil
		}
		if c.name == cmdBenchName && len(rest) == 1 && rest[0] == flagsTopic {
			rest = nil
		}
		if len(rest) > 0 {
			return hinted(usagef("help takes one command, got %q after %s", rest[0], c.name), "`lexsem help` lists the commands")
		}
		writeHelp(env.Stdout, c)
	}
	return nil
}

// overview describes the program in two sentences.
const overview = "lexsem searches your documents by meaning and by exact words. It keeps one vector a passage, corrects the query vector by the words of the query, and combines the result with BM25."

// variablesText says how flags are set without the command line.
const variablesText = "Every flag can be set by a variable: --db by LEXSEM_DB, --ef-construction by LEXSEM_EF_CONSTRUCTION."

// firstSteps are the examples of the program as a whole.
var firstSteps = []string{
	"lexsem demo",
	"lexsem index --db notes.db ~/notes",
	`lexsem search --db notes.db "how do I rotate the keys"`,
}

func writeOverview(w io.Writer) {
	fmt.Fprintf(w, "%s\nUsage: lexsem COMMAND [flags] [arguments]\n\n", wrap(overview, 0, helpWidth))
	writeCommands(w, slices.DeleteFunc(commands(), func(c command) bool { return strings.HasPrefix(c.name, "bench ") }))
	fmt.Fprintf(w, "\n%s\nStart with:\n", wrap("`lexsem help COMMAND` shows flags, exit codes and examples, `lexsem help bench` all that can be measured; `lexsem help "+manTopic+"` prints a man page. "+variablesText, 0, helpWidth))
	writeExamples(w, firstSteps)
}

// writeCommands lists commands with their summaries.
func writeCommands(w io.Writer, list []command) {
	column := 0
	for _, c := range list {
		column = max(column, len(c.name)+4)
	}
	for _, c := range list {
		fmt.Fprintf(w, "  %-*s%s", column-2, c.name, wrap(c.summary, column, helpWidth)[column:])
	}
}

// flagsTopic after "help bench" prints the whole help of bench.
const flagsTopic = "flags"

const cmdBenchName = "bench"

// benchParts are the bench commands, grouped by what they measure.
var benchParts = []struct {
	title string
	names []string
}{
	{"Retrieval", []string{"bench", "bench curve", "bench tune", "bench compare", "bench report", "bench summary", "bench score", "bench samples"}},
	{"Index", []string{"bench ann"}},
	{"Database", []string{"bench engine", "bench soak"}},
	{"Papers", []string{"bench lexsembridge", "bench capretrieval", "bench sure", "bench correlate", "bench sage", "bench limit", "bench image"}},
}

// writeBench prints the parts of bench on one screen.
func writeBench(w io.Writer, c command) {
	fmt.Fprint(w, wrap("lexsem bench: "+c.summary, 0, helpWidth), "\nUsage: lexsem bench --data DIR [--systems LIST] [--tasks LIST] [flags]\n")
	for _, part := range benchParts {
		fmt.Fprintf(w, "\n%s:\n", part.title)
		writeCommands(w, slices.DeleteFunc(commands(), func(c command) bool { return !slices.Contains(part.names, c.name) }))
	}
	fmt.Fprintf(w, "\n%s\nExamples:\n", wrap("`lexsem help bench "+flagsTopic+"` lists the flags of bench with its systems, tasks and metrics, `lexsem help bench NAME` those of a part.", 0, helpWidth))
	writeExamples(w, c.examples)
}

func writeHelp(w io.Writer, c command) {
	f := tableOf(c)
	fmt.Fprint(w, wrap("lexsem "+c.name+": "+c.summary, 0, helpWidth), "\n", wrap("Usage: lexsem "+c.name+" [flags] "+c.args, 0, helpWidth))
	for _, p := range paragraphs(c.about) {
		fmt.Fprintf(w, "\n%s", wrap(p, 0, helpWidth))
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
		writeExamples(w, c.examples)
	}
}

// tableOf declares the flags of a command and those of every command.
func tableOf(c command) *flags {
	var g globals
	f := newFlags(c.name)
	c.declare(f)
	g.declare(f)
	return f
}

// paragraphs returns the parts of a text between empty lines.
func paragraphs(text string) []string {
	var all []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			all = append(all, p)
		}
	}
	return all
}

// writeExamples prints command lines. A long line is broken between two words outside
// quotes, with a backslash.
func writeExamples(w io.Writer, examples []string) {
	for _, e := range examples {
		line := " "
		for _, word := range shellWords(e) {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > helpWidth-2 && len(line) > 4 {
				fmt.Fprintf(w, "%s \\\n", line)
				line = "   "
			}
			line += " " + word
		}
		fmt.Fprintln(w, line)
	}
}

// shellWords splits at spaces outside of quotes, and keeps the quotes.
func shellWords(s string) []string {
	quote := rune(0)
	return strings.FieldsFunc(s, func(r rune) bool {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		}
		return r == ' ' && quote == 0
	})
}

// writeFlag prints one flag. Its usage starts with the name of its value in backquotes;
// numbers have no name.
func writeFlag(w io.Writer, f *flag.Flag) {
	value, usage := valueName(f)
	head := strings.TrimSpace(dashed(f.Name) + " " + value)
	usage += defaultOf(f)
	const column = 26
	text := wrap(usage, column, helpWidth)
	if len(head)+3 <= column {
		fmt.Fprintf(w, "  %-*s%s", column-2, head, text[column:])
	} else {
		fmt.Fprintf(w, "  %s\n%s", head, text)
	}
}

// valueName splits the usage of a flag into the name of its value, "" for a switch and
// N for a number, and the text.
func valueName(f *flag.Flag) (value, usage string) {
	if rest, ok := strings.CutPrefix(f.Usage, "`"); ok {
		value, usage, _ = strings.Cut(rest, "`")
		return value, usage
	}
	if isBool(f) {
		return "", f.Usage
	}
	return "N", f.Usage
}

// defaultOf describes the default value of a flag, if it is worth showing.
func defaultOf(f *flag.Flag) string {
	if f.DefValue == "" || f.DefValue == "false" || f.DefValue == "0" {
		return ""
	}
	return " (default " + f.DefValue + ")"
}

// dashed writes a flag as users type it: -k, --db.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// wrap breaks s at spaces into lines of at most width columns, each indented and ended
// with a line break. A word longer than a line, such as JSON, is broken after commas.
func wrap(s string, indent, width int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", indent)
	line, n := pad, indent // n is its columns
	put := func(word, space string) {
		w := utf8.RuneCountInString(word)
		if n > indent && n+len(space)+w > width {
			b.WriteString(line + "\n")
			line, n = pad, indent
		}
		if n > indent {
			line, n = line+space, n+len(space)
		}
		line, n = line+word, n+w
	}
	for _, word := range strings.Fields(s) {
		space := " "
		if utf8.RuneCountInString(word) > width-indent {
			for part := range strings.SplitAfterSeq(word, ",") {
				put(part, space)
				space = ""
			}
			continue
		}
		put(word, space)
	}
	b.WriteString(line + "\n")
	return b.String()
}
