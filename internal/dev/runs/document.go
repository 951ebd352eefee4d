package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Documents lists the files below root whose figures come from runs.
func Documents(root string) ([]string, error) {
	var all []string
	for _, pattern := range []string{"README.md", "docs/method.md", "docs/results.md", "docs/results/*.md", "docs/decisions/*.md"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// mark is a comment that names the source of the figures below it:
//
//	<!-- run: NAME, NAME | {words} / {words} | option; option -->
//	<!-- published: where -->
//	<!-- constants: which -->
//	<!-- no run: why -->
//	<!-- end -->
type mark struct {
	kind  string // "run", "published", "constants", "no run"; "" above the first
	runs  []*Run
	book  *book
	cell  string            // what a cell shows, words in braces
	best  string            // "column" or "row": where the greatest is bold
	alias map[string]string // label -> words, or in braces what its cells show in place of cell
}

var markLine = regexp.MustCompile(`^<!-- (?:(run|published|constants|no run): (.+)|end) -->$`)

func parseMark(line string, all map[string]*Run) (*mark, error) {
	f := markLine.FindStringSubmatch(line)
	m := &mark{kind: f[1], cell: "{}", alias: map[string]string{}}
	if m.kind != "run" {
		return m, nil
	}
	fields := strings.Split(f[2], "|")
	for name := range strings.SplitSeq(fields[0], ",") {
		name = strings.TrimSpace(name)
		r := all[name]
		if r == nil {
			return nil, fmt.Errorf("there is no docs/runs/%s.json", name)
		}
		m.runs = append(m.runs, r)
	}
	var err error
	if m.book, err = newBook(m.runs); err != nil {
		return nil, err
	}
	if len(fields) > 1 && strings.TrimSpace(fields[1]) != "" {
		m.cell = strings.TrimSpace(fields[1])
	}
	if len(fields) > 2 {
		for option := range strings.SplitSeq(fields[2], ";") {
			option = strings.TrimSpace(option)
			where, isBest := strings.CutPrefix(option, "best in ")
			label, words, isAlias := strings.Cut(option, " = ")
			switch {
			case isBest && (where == "column" || where == "row"):
				m.best = where
			case isAlias:
				m.alias[strings.TrimSpace(label)] = strings.TrimSpace(words)
			default:
				return nil, fmt.Errorf("option %q is neither \"best in column\", \"best in row\" nor \"label = words\"", option)
			}
		}
	}
	if len(fields) > 3 {
		return nil, fmt.Errorf("more than three parts between |")
	}
	return m, nil
}

// firstName is the first run that a mark names, or "".
func firstName(line string) string {
	f := markLine.FindStringSubmatch(line)
	if f[1] != "run" {
		return ""
	}
	i := strings.IndexAny(f[2], ",|")
	if i < 0 {
		i = len(f[2])
	}
	return strings.TrimSpace(f[2][:i])
}

func joined(b block) string { return strings.Join(b.lines, "\n") }

// block is a group of lines in a document.
type block struct {
	line  int // of the first, from 1
	lines []string
	kind  string // "heading", "table", "code", "mark", "text"
}

// blocks divides a document into blocks; blank lines belong to none.
func blocks(text string) []block {
	var out []block
	lines := strings.Split(text, "\n")
	kind := func(i int) string {
		l := lines[i]
		switch {
		case markLine.MatchString(l):
			return "mark"
		case strings.HasPrefix(l, "#"):
			return "heading"
		case strings.HasPrefix(l, "|"):
			return "table"
		case strings.HasPrefix(l, "    ") && (i == 0 || strings.TrimSpace(lines[i-1]) == "" || len(out) > 0 && out[len(out)-1].kind == "code"):
			return "code"
		}
		return "text"
	}
	open := false
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "" {
			open = false
			continue
		}
		if strings.HasPrefix(lines[i], "```") {
			b := block{line: i + 1, kind: "code", lines: []string{lines[i]}}
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
				b.lines = append(b.lines, lines[i])
			}
			out, open = append(out, b), false
			continue
		}
		k := kind(i)
		if open && out[len(out)-1].kind == k && k != "mark" && k != "heading" {
			out[len(out)-1].lines = append(out[len(out)-1].lines, lines[i])
			continue
		}
		out, open = append(out, block{line: i + 1, kind: k, lines: []string{lines[i]}}), true
	}
	return out
}

// Findings are the differences between a document and the runs.
type Findings struct {
	Problems []string        // what is wrong, with document and line
	Used     map[string]bool // names of runs
	Held     int             // figures that agree with a run that commands record
	Copied   int             // figures that stand in a run that was written by hand
	Quoted   int             // figures of others, and constants that were chosen
	Unheld   int             // figures that no run holds
	Where    []string        // of these, document and line
}

// Check compares the figures in a document with the runs. Figures are the cells of tables
// that begin with a number, and numbers in prose that have decimals, a sign or a unit.
func Check(name, text string, all map[string]*Run) *Findings {
	f := &Findings{Used: map[string]bool{}}
	m := &mark{}
	for i, bs := 0, blocks(text); i < len(bs); i++ {
		b := bs[i]
		bad := func(line int, format string, args ...any) {
			f.Problems = append(f.Problems, fmt.Sprintf("%s:%d: ", name, line)+fmt.Sprintf(format, args...))
		}
		switch b.kind {
		case "heading":
			m = &mark{}
		case "mark":
			next, err := parseMark(b.lines[0], all)
			if err != nil {
				bad(b.line, "%v", err)
				next = &mark{kind: "no run"}
			}
			m = next
			for _, r := range m.runs {
				f.Used[r.Name] = true
			}
		case "text":
			n := 0
			for _, x := range figuresOf(joined(b)) {
				n++
				if m.kind == "run" && !m.says(x) {
					bad(b.line, "the paragraph says %s, which %s does not; correct it, name the run that has it, or put <!-- no run: why --> above", x.text, m.names())
				}
			}
			f.count(m, n, fmt.Sprintf("%s:%d", name, b.line))
		case "table":
			t, err := parseTable(b)
			if err != nil {
				if cellsWithFigures(b) > 0 {
					bad(b.line, "%v", err)
				}
				continue
			}
			n := t.figures()
			if n > 0 && (i == 0 || bs[i-1].kind != "mark") {
				bad(b.line, "a table with figures has no <!-- run: NAME --> above it (docs/runs/README.md)")
			}
			if m.kind == "run" && m.empty() {
				bad(b.line, "%s holds no figure yet; .ci/figures all measures it, .ci/figures adopt takes what was written by hand", m.names())
			} else if m.kind == "run" {
				all := t.compare(m)
				for k, p := range all {
					if k == 3 {
						bad(p.line, "%d more of this table", len(all)-k)
						break
					}
					bad(p.line, "%s", p.text)
				}
			}
			f.count(m, n, fmt.Sprintf("%s:%d", name, b.line))
		}
	}
	return f
}

func (f *Findings) count(m *mark, n int, where string) {
	switch {
	case n == 0:
	case m.kind == "run" && slices.ContainsFunc(m.runs, func(r *Run) bool { return r.Recorded == ByCommand }):
		f.Held += n
	case m.kind == "run":
		f.Copied += n
	case m.kind == "published" || m.kind == "constants":
		f.Quoted += n
	default:
		f.Unheld += n
		f.Where = append(f.Where, where)
	}
}

func (m *mark) names() string {
	var names []string
	for _, r := range m.runs {
		names = append(names, "docs/runs/"+r.Name+".json")
	}
	return strings.Join(names, " and ")
}

// empty reports whether none of the runs has values.
func (m *mark) empty() bool {
	return !slices.ContainsFunc(m.runs, func(r *Run) bool { return len(r.Values)+len(r.Cells)+len(r.Said) > 0 })
}

// says reports whether one of the runs has the figure.
func (m *mark) says(x number) bool {
	for _, r := range m.runs {
		if slices.Contains(r.Said, x.text) {
			return true
		}
		for _, c := range r.Cells {
			for _, y := range numbers(c) {
				if y.value == x.value {
					return true
				}
			}
		}
	}
	return m.book.says(x.value, x.decimals)
}

// Rewrite puts the values of runs into the tables below their marks and returns the
// document. Labels, and cells without a value, stay unchanged. So do tables that cannot
// be written, which the error names.
func Rewrite(text string, all map[string]*Run) (string, error) {
	lines := strings.Split(text, "\n")
	var m *mark
	var failed []error
	for _, b := range blocks(text) {
		if b.kind == "mark" {
			var err error
			if m, err = parseMark(b.lines[0], all); err != nil {
				failed = append(failed, fmt.Errorf("line %d: %w", b.line, err))
			}
			continue
		}
		if b.kind == "table" && m != nil && m.kind == "run" && !m.empty() {
			t, err := parseTable(b)
			var fresh []string
			if err == nil {
				fresh, err = t.render(m)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("line %d: %w", b.line, err))
			}
			copy(lines[b.line-1:], fresh)
		}
		m = nil
	}
	return strings.Join(lines, "\n"), errors.Join(failed...)
}
