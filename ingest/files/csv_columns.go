package files

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table maps roles to column numbers; -1 means none.
type table struct {
	s                       *File
	names                   []string
	id, title, text, vector int
	vectorNamed             bool
	texts                   []bool // columns all cells of which are text; nil where that is not known
	joined                  []int  // columns that are the text together, where none is
}

// withTexts makes the columns of text the text, and reports whether there are some.
func (t *table) withTexts(say bool) bool {
	var names []string
	for i, text := range t.texts {
		if text && i != t.id && i != t.title {
			t.joined = append(t.joined, i)
			names = append(names, t.names[i])
		}
	}
	if say && len(names) > 0 {
		t.s.Warn(1, "no column %q; the text is that of the columns %s; name one of them, if it alone is the text", textNames[0], clip(strings.Join(names, ", "), 200))
	}
	return len(names) > 0
}

// newTable finds the columns of a table. It returns the table and ErrNoText if there is nothing to search for in them.
func (s *File) newTable(header []string) (*table, error) {
	c := s.o.Columns
	t := &table{s: s, names: make([]string, len(header)), vectorNamed: c.Vector != ""}
	seen := map[string]bool{}
	for i, name := range header {
		name = strings.TrimSpace(name)
		if !utf8.ValidString(name) || strings.Contains(name, "\x00") {
			return nil, Errorf(ErrBinary, "the header is not UTF-8 text; convert the file first")
		}
		if name == "" { // an index that a data frame wrote, for one
			name = "column" + strconv.Itoa(i+1)
		}
		for n, whole := 2, name; seen[name]; n++ {
			if name = whole + "~" + strconv.Itoa(n); !seen[name] {
				s.Warn(1, "two columns are named %q; the second is stored as %q", clip(whole, 80), clip(name, 80))
			}
		}
		seen[name] = true
		t.names[i] = name
	}
	if s.o.Rows {
		t.id, t.title, t.text, t.vector = -1, -1, -1, -1
		return t, nil
	}
	for _, f := range []struct {
		to    *int
		named string
		usual []string
	}{{&t.id, c.ID, idNames}, {&t.title, c.Title, titleNames}, {&t.text, c.Text, textNames}, {&t.vector, c.Vector, vectorNames}} {
		var err error
		if *f.to, err = t.find(f.named, f.usual); err != nil {
			return nil, err
		}
	}
	if t.title < 0 && t.text < 0 && t.vector < 0 {
		return t, Errorf(ErrNoText, "no column %q (nor %s); name the text column, one of %s", textNames[0], strings.Join(textNames[1:], ", "), t.list())
	}
	return t, nil
}

func (t *table) find(named string, usual []string) (int, error) {
	if named != "" {
		if i := slices.Index(t.names, named); i >= 0 {
			return i, nil
		}
		return -1, Errorf(ErrMalformed, "no column %q; the columns are %s", named, t.list())
	}
	for _, u := range usual {
		if i := slices.IndexFunc(t.names, func(n string) bool { return strings.EqualFold(n, u) }); i >= 0 {
			return i, nil
		}
	}
	return -1, nil
}

// list names the columns in a message.
func (t *table) list() string { return clip(strings.Join(t.names, ", "), 200) }

// record fills rec from a row. Cells that are JSON numbers, true or false become metadata
// of that type; empty cells are left out.
func (t *table) record(rec Record, row []string) (Record, error) {
	for i, cell := range row {
		switch i {
		case t.id:
			if rec.ID = strings.TrimSpace(cell); rec.ID == "" {
				if err := t.noID("column %q is empty", t.names[i]); err != nil {
					return rec, err
				}
			}
			continue
		case t.title:
			rec.Title = cell
			continue
		case t.text:
			rec.Text = cell
			continue
		case t.vector:
			vec, err := cellVector(cell)
			if err == nil {
				rec.Vector = vec
				continue
			}
			if t.vectorNamed || strings.HasPrefix(strings.TrimSpace(cell), "[") {
				if err := t.badVector(i, err); err != nil {
					return rec, err
				}
				continue
			}
		}
		if cell == "" {
			continue
		}
		if rec.Metadata == nil {
			rec.Metadata = make(map[string]any, len(row))
		}
		if t.texts != nil && t.texts[i] {
			rec.Metadata[t.names[i]] = cell
		} else {
			rec.Metadata[t.names[i]] = cellValue(cell)
		}
	}
	var lines []string
	for _, i := range t.joined {
		if i < len(row) && !blank(row[i]) {
			lines = append(lines, t.names[i]+": "+row[i])
		}
	}
	if lines != nil {
		rec.Text = strings.Join(lines, "\n")
	}
	return rec, nil
}

// noID handles a row without an id: its position becomes the id, or the row is refused if it has no
// position.
func (t *table) noID(format string, args ...any) error {
	if t.s.o.ID == "" {
		return Errorf(ErrMalformed, format+"; give every row an id", args...)
	}
	t.s.Warn(t.s.line, format+"; this row gets an id of its own", args...)
	return nil
}

// badVector handles a vector that cannot be read. It matters only where vectors are used.
func (t *table) badVector(i int, err error) error {
	if !t.s.o.DropVectors {
		return Errorf(ErrMalformed, "column %q: %w", t.names[i], err)
	}
	t.s.Warn(t.s.line, "column %q: %v; the vector is left out", t.names[i], err)
	return nil
}

// cellValue returns the value of a cell for metadata.
func cellValue(cell string) any {
	switch {
	case cell == "true":
		return true
	case cell == "false":
		return false
	case (cell[0] == '-' || '0' <= cell[0] && cell[0] <= '9') && json.Valid([]byte(cell)):
		if f, err := strconv.ParseFloat(cell, 64); err == nil && !math.IsInf(f, 0) {
			return json.Number(cell)
		}
	}
	return cell
}

// cellVector reads numbers between commas or white space, with or without brackets. An
// empty cell has no vector.
func cellVector(cell string) ([]float32, error) {
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return nil, nil
	}
	if inner, ok := strings.CutPrefix(cell, "["); ok {
		if cell, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, errors.New("the vector has no closing bracket")
		}
	}
	var out []float32
	for part := range strings.FieldsFuncSeq(cell, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
		f, err := strconv.ParseFloat(part, 32)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, errors.New(strconv.Quote(clip(part, 40)) + " is not a number that a vector can hold")
		}
		out = append(out, float32(f))
	}
	return out, nil
}
