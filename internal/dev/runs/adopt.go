package runs

import "fmt"

// Adopt copies the cells of tables and the figures of paragraphs below the marks of runs into these runs. It
// skips marks of other runs, and keeps cells that no table shows. Two tables may show the same cell if they
// agree: taken, which is initially empty, holds the cells from earlier documents, by run and name.
func Adopt(text string, into map[string]*Run, taken map[[2]string]bool) error {
	var r *Run
	var m *mark
	for _, b := range blocks(text) {
		switch b.kind {
		case "heading":
			r = nil
		case "mark":
			r = nil
			name := firstName(b.lines[0])
			if into[name] == nil {
				continue
			}
			var err error
			if m, err = parseMark(b.lines[0], into); err != nil {
				return fmt.Errorf("line %d: %w", b.line, err)
			}
			if len(m.runs) != 1 {
				return fmt.Errorf("line %d: a run that is written by hand stands alone in its mark", b.line)
			}
			r = m.runs[0]
		case "text":
			if r == nil {
				continue
			}
			for _, x := range figuresOf(joined(b)) {
				if !m.says(x) {
					r.Said = append(r.Said, x.text)
				}
			}
		case "table":
			if r == nil {
				continue
			}
			t, err := parseTable(b)
			if err != nil {
				return fmt.Errorf("line %d: %w", b.line, err)
			}
			for i, row := range t.rows {
				for j := t.labels; j < len(row); j++ {
					if empty(row[j]) {
						continue
					}
					name := t.name(i, j)
					if taken[[2]string{r.Name, name}] && r.Cells[name] != row[j] {
						return fmt.Errorf("line %d: two cells of %s are named %q and differ; give the rows labels of their own, or make them equal", b.line, r.Name, name)
					}
					taken[[2]string{r.Name, name}] = true
					r.Cells[name] = row[j]
				}
			}
		}
	}
	return nil
}
