package runs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// table is a table of a document. Its first column, and the following ones without a figure,
// are labels of the rows.
type table struct {
	line   int
	lines  []string
	head   []string
	rows   [][]string // of text, without bold; rows[i] stands at line+2+i
	bold   [][]bool
	labels int
}

type problem struct {
	line int
	text string
}

func splitRow(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var cells []string
	for c := range strings.SplitSeq(line, "|") {
		cells = append(cells, strings.TrimSpace(c))
	}
	return cells
}

func parseTable(b block) (*table, error) {
	t := &table{line: b.line, lines: b.lines}
	if len(b.lines) < 3 {
		return nil, fmt.Errorf("a table without a head, a rule and a row")
	}
	t.head = splitRow(b.lines[0])
	for i, l := range b.lines[2:] {
		row := splitRow(l)
		if len(row) != len(t.head) {
			return nil, fmt.Errorf("row %d has %d cells, the head %d", i+1, len(row), len(t.head))
		}
		bold := make([]bool, len(row))
		for j := range row {
			if inner, ok := strings.CutPrefix(row[j], "**"); ok && strings.HasSuffix(inner, "**") {
				row[j], bold[j] = strings.TrimSuffix(inner, "**"), true
			}
		}
		t.rows, t.bold = append(t.rows, row), append(t.bold, bold)
	}
	for t.labels = 1; t.labels < len(t.head)-1; t.labels++ {
		if slices.ContainsFunc(t.rows, func(r []string) bool { return isFigure(r[t.labels]) }) {
			break
		}
	}
	return t, nil
}

var startsWithNumber = regexp.MustCompile(`^[*+−≤≥<>~-]*\.?\d`)

// isFigure reports whether a cell begins with a number.
func isFigure(cell string) bool { return startsWithNumber.MatchString(cell) }

func empty(cell string) bool { return cell == "" || cell == "–" }

func cellsWithFigures(b block) int {
	n := 0
	for _, l := range b.lines {
		for _, c := range splitRow(l)[1:] {
			if isFigure(c) {
				n++
			}
		}
	}
	return n
}

// figures counts the numeric cells that are not labels.
func (t *table) figures() int {
	n := 0
	for _, row := range t.rows {
		for _, c := range row[t.labels:] {
			if isFigure(c) {
				n += len(numbers(c))
			}
		}
	}
	return n
}

// label returns the labels of row i; a blank one means the one above.
func (t *table) label(i int) []string {
	var out []string
	for j := range t.labels {
		for k := i; k >= 0; k-- {
			if t.rows[k][j] != "" || k == 0 {
				if t.rows[k][j] != "" {
					out = append(out, t.rows[k][j])
				}
				break
			}
		}
	}
	return out
}

// name is the name of a cell in a run written by hand: the text above the labels of the table,
// the labels of the row, and the head of the column.
func (t *table) name(i, j int) string {
	var names []string
	for _, h := range append(slices.Clone(t.head[:t.labels]), t.label(i)...) {
		if h != "" {
			names = append(names, h)
		}
	}
	return strings.Join(names, ", ") + " | " + t.head[j]
}

// compare returns the differences from the runs.
func (t *table) compare(m *mark) []problem {
	var out []problem
	fresh, bold, bad := t.fill(m)
	out = append(out, bad...)
	for i, row := range t.rows {
		for j := t.labels; j < len(row); j++ {
			if row[j] != fresh[i][j] {
				out = append(out, problem{t.line + 2 + i, fmt.Sprintf("%q says %q and %s %q; .ci/figures tables writes it", t.name(i, j), row[j], m.names(), fresh[i][j])})
			} else if t.bold[i][j] != bold[i][j] {
				out = append(out, problem{t.line + 2 + i, fmt.Sprintf("%q is or is not the best in its %s; .ci/figures tables marks it", t.name(i, j), m.best)})
			}
		}
	}
	return out
}

// render returns the lines of the table with the values of the runs.
func (t *table) render(m *mark) ([]string, error) {
	fresh, bold, bad := t.fill(m)
	if len(bad) > 0 {
		return nil, fmt.Errorf("%s", bad[0].text)
	}
	lines := slices.Clone(t.lines)
	for i, row := range fresh {
		changed := false
		cells := splitRow(t.lines[2+i])
		for j := t.labels; j < len(row); j++ {
			c := row[j]
			if bold[i][j] {
				c = "**" + c + "**"
			}
			changed = changed || c != cells[j]
			cells[j] = c
		}
		if changed {
			lines[2+i] = strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |", "|  |", "| |")
		}
	}
	if again, err := parseTable(block{lines: lines}); err != nil || again.labels != t.labels {
		return nil, fmt.Errorf("its cells would not begin with figures; let what cells show, %q, begin with a place in braces", m.cell)
	}
	return lines, nil
}

// fill sets cells to the values of the runs. Cells without a figure stay unchanged.
func (t *table) fill(m *mark) (cells [][]string, bold [][]bool, bad []problem) {
	seen := map[string]string{} // what a cell shows -> the cell
	for i, row := range t.rows {
		fresh := slices.Clone(row)
		for j := t.labels; j < len(row); j++ {
			if empty(row[j]) {
				continue
			}
			text, shows, err := t.cell(m, i, j)
			if other, twice := seen[shows]; err == nil && twice && shows != "" {
				err = fmt.Errorf("it shows the value of %q; a label of either says nothing to %s", other, m.names())
			}
			seen[shows] = t.name(i, j)
			if err != nil {
				bad = append(bad, problem{t.line + 2 + i, fmt.Sprintf("%q: %v", t.name(i, j), err)})
				continue
			}
			fresh[j] = text
		}
		cells, bold = append(cells, fresh), append(bold, slices.Clone(t.bold[i]))
	}
	if m.best != "" {
		t.best(m.best, cells, bold)
	}
	return cells, bold, bad
}

// best makes a cell bold if its first number is the greatest of its row or column.
func (t *table) best(where string, cells [][]string, bold [][]bool) {
	first := func(i, j int) (float64, bool) {
		n := numbers(cells[i][j])
		if !isFigure(cells[i][j]) || len(n) == 0 { // it may be beyond float64
			return 0, false
		}
		return n[0].value, true
	}
	for i := range cells {
		for j := t.labels; j < len(cells[i]); j++ {
			v, ok := first(i, j)
			greatest := ok
			for k := range cells {
				if x, has := first(k, j); where == "column" && has && x > v {
					greatest = false
				}
			}
			for k := t.labels; k < len(cells[i]); k++ {
				if x, has := first(i, k); where == "row" && has && x > v {
					greatest = false
				}
			}
			bold[i][j] = greatest
		}
	}
}

var place = regexp.MustCompile(`\{[^{}]*\}`)

// cell is the text of one cell according to the runs, and the values that it shows.
func (t *table) cell(m *mark, i, j int) (text, shows string, err error) {
	for _, r := range m.runs {
		if text, ok := r.Cells[t.name(i, j)]; ok {
			return text, t.name(i, j), nil
		}
	}
	if len(m.book.values) == 0 {
		if !isFigure(t.rows[i][j]) {
			return t.rows[i][j], "", nil
		}
		return "", "", fmt.Errorf("%s has no such cell", m.names())
	}
	var w wanted
	w.cell = m.cell
	for _, label := range append(t.label(i), t.head[j]) {
		m.words(label, &w)
	}
	var failed error
	text = place.ReplaceAllStringFunc(w.cell, func(p string) string {
		own := w
		own.words = slices.Clone(w.words)
		own.decimals = -1
		inner := strings.Trim(p, "{}")
		if head, d, ok := strings.Cut(inner, ":."); ok { // {ndcg@10:.2}
			n, err := strconv.Atoi(d)
			if err != nil {
				failed = fmt.Errorf("%q: decimals are written {ndcg@10:.2}", p)
			}
			inner, own.decimals = head, n
		}
		if err := m.demand(inner, &own); err != nil {
			failed = err
		}
		s, key, err := m.book.find(own)
		if err != nil {
			failed = err
		}
		if key == "" {
			return "–"
		}
		shows += key
		return s
	})
	if failed == nil && shows == "" {
		failed = fmt.Errorf("no value has the words %q of %s", strings.Join(w.words, " "), m.names())
	}
	return text, shows, failed
}

// words adds the words of a label: its alias, where braces give the text of the cell; else all
// words before a comma or a bracket, if each of them is part of a key. Other labels add
// nothing.
func (m *mark) words(label string, w *wanted) {
	label = strings.Trim(label, "*")
	if alias, ok := m.alias[label]; ok && strings.HasPrefix(alias, "{") {
		w.cell = alias
		return
	} else if ok {
		m.demand(alias, w) // an alias that asks for nothing known leaves the cell without a value
		return
	}
	if i := strings.IndexAny(label, ",("); i >= 0 && !isFigure(label) {
		label = label[:i]
	}
	label = strings.ToLower(strings.TrimSpace(label))
	if isFigure(label) {
		label = strings.ReplaceAll(label, ",", "")
	}
	try := *w
	try.words = slices.Clone(w.words)
	if m.demand(strings.ReplaceAll(label, ": ", " "), &try) == nil {
		*w = try
	}
}

// demand adds words, "− system", "mean", and the choice among several seeds, to w.
func (m *mark) demand(s string, w *wanted) error {
	f := strings.Fields(s)
	var unknown error
	for i := 0; i < len(f); i++ {
		switch {
		case f[i] == "−" && i+1 < len(f):
			i++
			w.minus = f[i]
		case f[i] == "median" || f[i] == "least" || f[i] == "greatest":
			w.seeds = f[i]
		case f[i] == "holm":
			w.holm = true
		case f[i] == "mean" && !m.book.words["mean"]:
			w.mean = true
		default:
			if !m.book.words[f[i]] {
				unknown = fmt.Errorf("no value of %s has the word %q", m.names(), f[i])
			}
			w.words = append(w.words, f[i])
		}
	}
	return unknown
}
