package files

import (
	"cmp"
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxStrings is the maximum number of texts that the cells of a workbook share.
const maxStrings = 2_000_000

// readXLSX reads a workbook: its sheets, each row a line with tabs between its cells, then the comments.
func readXLSX(s *File) error {
	var rec Record
	a, main, rels, err := s.ooxml("xl/workbook.xml", &rec)
	if err != nil {
		return err
	}
	type sheet struct{ name, part string }
	var sheets []sheet
	b := &workbook{o: &outline{s: s}}
	err = a.walk(main, func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case e.Name.Local == "sheet":
			sheets = append(sheets, sheet{attr(e, "name"), rels.byID[attr(e, "id")]})
		case e.Name.Local == "workbookPr":
			b.from1904 = attr(e, "date1904") == "1" || attr(e, "date1904") == "true"
		}
		return tooMany(len(sheets))
	})
	if name := rels.byType["sharedStrings"]; a.has(name) {
		err = cmp.Or(err, a.walk(name, b.sharedString))
	}
	if name := rels.byType["styles"]; a.has(name) {
		err = cmp.Or(err, a.walk(name, b.style))
	}
	for _, sh := range sheets {
		if !a.has(sh.part) { // a sheet that is a chart
			continue
		}
		b.o.sheet(sh.name)
		b.number = 0
		e := a.walk(sh.part, b.cell)
		b.rest()
		if e == nil {
			e = b.comments(a, sh.part)
		}
		err = cmp.Or(err, e)
		if e != nil && (b.o.full || s.ctx.Err() != nil || a.left <= 0) {
			break
		}
	}
	if len(sheets) > 0 {
		rec.count("sheets", len(sheets))
	}
	return b.o.finish(rec, err)
}

// comments adds the comments of a sheet below its rows, each as a line: the cell and the text. Threads are in a part of their own, and
// old programs see a copy of them.
func (b *workbook) comments(a *archive, sheet string) error {
	rels, err := a.relations(sheet)
	name := cmp.Or(rels.byType["threadedComment"], rels.byType["comments"])
	if err != nil || !a.has(name) {
		return err
	}
	var ref, in string
	var text strings.Builder
	return a.walk(name, func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			if in = t.Name.Local; in == "comment" || in == "threadedComment" {
				ref = attr(t, "ref")
				text.Reset()
			}
		case xml.CharData:
			if in == "t" || in == "text" {
				text.Write(t)
			}
		case xml.EndElement:
			if in = ""; t.Name.Local == "comment" || t.Name.Local == "threadedComment" {
				if !blank(text.String()) {
					b.o.sheetRow(math.MaxInt, ref+"\t"+strings.Join(strings.Fields(text.String()), " "))
				}
			}
		}
		if b.o.full {
			return errEnough
		}
		return nil
	})
}

// workbook extracts the text from the tokens of the parts of a workbook.
type workbook struct {
	o        *outline
	strings  []string
	dates    []bool          // by number of a cell's style: whether it shows a date
	custom   map[string]bool // formats of numbers that show dates, by id
	from1904 bool

	text    strings.Builder
	in      string // the element whose text is wanted
	reading bool   // said how it sounds: not a text
	formats bool   // within cellXfs
	kind    string // of the cell
	isDate  bool
	row     strings.Builder
	number  int // of the row, from 1
}

func (b *workbook) sharedString(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "si":
			b.text.Reset()
		case "rPh":
			b.reading = true
		case "t":
			b.in = "t"
		}
	case xml.CharData:
		if b.in == "t" && !b.reading {
			b.text.Write(t)
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "si":
			if b.strings = append(b.strings, b.text.String()); len(b.strings) > maxStrings {
				return Errorf(ErrTooLarge, "it has more than %d different texts; split it", maxStrings)
			}
		case "rPh":
			b.reading = false
		case "t":
			b.in = ""
		}
	}
	return nil
}

func (b *workbook) style(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "numFmt":
			if b.custom == nil {
				b.custom = map[string]bool{}
			}
			b.custom[attr(t, "numFmtId")] = isDateFormat(attr(t, "formatCode"))
		case "cellXfs":
			b.formats = true
		case "xf":
			if b.formats {
				id := attr(t, "numFmtId")
				n, err := strconv.Atoi(id)
				b.dates = append(b.dates, b.custom[id] || err == nil && (14 <= n && n <= 17 || n == 22))
			}
		}
	case xml.EndElement:
		if t.Name.Local == "cellXfs" {
			b.formats = false
		}
	}
	return tooMany(len(b.custom))
}

// isDateFormat reports whether a number format has a year, or a day and a month.
func isDateFormat(code string) bool {
	quoted, bracket := false, false
	seen := map[rune]bool{}
	for _, r := range strings.ToLower(code) {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '[':
			bracket = true
		case r == ']':
			bracket = false
		case !bracket:
			seen[r] = true
		}
	}
	return seen['y'] || seen['d'] && seen['m']
}

func (b *workbook) cell(t xml.Token) error {
	if b.o.full {
		return errEnough
	}
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "c":
			if b.text.Len() > 0 {
				b.rest()
			}
			b.kind = attr(t, "t")
			style, err := strconv.Atoi(attr(t, "s"))
			b.isDate = err == nil && style >= 0 && style < len(b.dates) && b.dates[style]
			b.text.Reset()
		case "v", "t":
			b.in = t.Name.Local
		case "rPh":
			b.reading = true
		case "row":
			b.rest() // of one that damage left open
			b.number++
			if n, err := strconv.Atoi(attr(t, "r")); err == nil {
				b.number = n
			}
		}
	case xml.CharData:
		if b.in != "" && !b.reading {
			b.text.Write(t)
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "v", "t":
			b.in = ""
		case "rPh":
			b.reading = false
		case "c":
			b.endCell()
		case "row":
			b.endRow()
		}
	}
	return nil
}

func (b *workbook) endCell() {
	if b.row.Len() > 0 {
		b.row.WriteByte('\t')
	}
	b.row.WriteString(strings.Join(strings.Fields(b.value(b.text.String())), " "))
	b.text.Reset()
	if int64(b.row.Len()) > b.o.s.o.MaxBytes { // cells may name one long text again and again
		b.endRow()
	}
}

func (b *workbook) endRow() {
	b.o.sheetRow(b.number, b.row.String())
	b.row.Reset()
	b.in, b.reading = "", false
}

// rest adds the open parts of a damaged sheet.
func (b *workbook) rest() {
	if b.text.Len() > 0 && (b.kind == "inlineStr" || b.kind == "str") { // of others a part says something else
		b.endCell()
	}
	b.endRow()
}

// value returns the visible text of a cell.
func (b *workbook) value(v string) string {
	switch b.kind {
	case "s":
		if i, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && i >= 0 && i < len(b.strings) {
			return b.strings[i]
		}
		return ""
	case "b":
		if v == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "", "n":
		if days, err := strconv.ParseFloat(v, 64); b.isDate && err == nil && 0 <= days && days < 3e6 {
			at := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
			if b.from1904 {
				at = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
			whole := math.Floor(days)
			at = at.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round((days-whole)*86400)) * time.Second)
			if whole == days {
				return at.Format(time.DateOnly)
			}
			return at.Format("2006-01-02 15:04:05")
		}
	}
	return v
}
