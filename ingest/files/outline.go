package files

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files/internal/readable"
	"github.com/lexsem/lexsem/internal/place"
)

// outline collects the text of a document that has paragraphs, headings and tables. Text beyond MaxBytes is cut with a
// warning.
type outline struct {
	s      *File
	title  string // the heading of level 1 that the document begins with
	text   strings.Builder
	breaks []int
	apart  bool // the next paragraph begins a part
	level  int  // of the heading that it is, or how many parts begin before it
	paged  bool // parts count, and headings do not: slides
	rows   int  // of tables that are open, one in the other
	row    strings.Builder
	lined  bool   // a line of a table was the last
	before int    // number of the last row of the sheet; -1 where it is not known
	gap    string // before the next line: for the rows between
	full   bool
}

// errEnough ends the reading of a document whose text is full.
var errEnough = errors.New("the text is full")

// part begins a part, such as a slide.
func (o *outline) part() {
	o.apart = true
	if o.paged {
		o.level++
	}
}

// heading adds a heading. If it has level 1 and comes before all text, it is the title.
func (o *outline) heading(level int, text string) {
	text = shownText(text)
	switch {
	case text == "":
	case o.rows > 0:
		o.para(text)
	case level <= 1 && o.title == "" && o.text.Len() == 0 && int64(len(text)) < o.s.o.MaxBytes/2:
		o.title = strings.Join(strings.Fields(text), " ")
	default:
		if o.apart = true; !o.paged {
			o.level = min(max(level, 1), 9)
		}
		o.add(text, "\n\n")
	}
}

// para adds a paragraph, or a part of a cell.
func (o *outline) para(text string) {
	text = shownText(text)
	if o.rows == 0 || text == "" {
		o.add(text, "\n\n")
		return
	}
	if o.row.Len() > 0 && !strings.HasSuffix(o.row.String(), "\t") {
		o.row.WriteByte(' ')
	}
	if int64(o.row.Len()+len(text)) > o.s.o.MaxBytes {
		o.cut()
		return
	}
	o.row.WriteString(text)
}

// maxGap is the maximum number of empty rows of a sheet that are kept, so that the lines of the text have
// the numbers of the rows.
const maxGap = 100

// margins adds the lines of headers and footers, each once: the first page often has the same as the others.
func (o *outline) margins(of *outline) {
	there := map[string]bool{}
	for text := range strings.SplitSeq(of.title+"\n"+of.text.String(), "\n") {
		if text = strings.Trim(text, "\f"); !there[text] && text != "" {
			there[text] = true
			o.para(text)
		}
	}
}

// sheet begins a sheet.
func (o *outline) sheet(name string) {
	o.heading(2, cmp.Or(strings.Join(strings.Fields(shownText(name)), " "), "-"))
	o.before = 0
}

// sheetRow adds a row of a sheet; number counts from 1.
func (o *outline) sheetRow(number int, text string) {
	if blank(text) {
		return
	}
	if gap := number - o.before - 1; o.before >= 0 && 0 <= gap && gap <= maxGap {
		o.gap = strings.Repeat("\n", gap)
		o.before = number
	} else if o.before >= 0 {
		o.gap = place.Unknown
		o.before = -1
	}
	o.line(strings.ReplaceAll(text, "\n", " "))
	o.gap = ""
}

// line adds a line of a table.
func (o *outline) line(text string) {
	gap := "\n"
	if !o.lined {
		gap = "\n\n"
	}
	gap += o.gap
	if text = shownText(text); text != "" {
		o.add(text, gap)
		o.lined = true
	}
}

func (o *outline) beginRow() { o.rows++ }

func (o *outline) endCell() {
	if o.rows > 0 && int64(o.row.Len()) < o.s.o.MaxBytes {
		o.row.WriteByte('\t')
	}
}

// endRow adds the row of the outermost table.
func (o *outline) endRow() {
	if o.rows == 0 {
		return
	}
	if o.rows--; o.rows == 0 {
		row := o.row.String()
		o.row.Reset()
		o.line(row)
	}
}

// shown adds the text of a page, with its breaks.
func (o *outline) shown(p shown) {
	at := 0
	for _, b := range append(slices.Clone(p.breaks), len(p.text)) {
		if at > 0 {
			o.apart = true
		}
		text := strings.Trim(p.text[at:b], "\n")
		bare := strings.TrimLeft(text, place.Part)
		if n := len(text) - len(bare); n > 0 { // the page begins with a heading
			o.level = n
		}
		text = strings.TrimRight(bare, place.Part)
		o.add(strings.TrimRight(text, "\n"), "\n\n")
		if n := len(bare) - len(text); n > 0 {
			o.level = n
		}
		at = b
	}
}

func (o *outline) add(text, gap string) {
	if text == "" || o.full {
		return
	}
	first := o.text.Len() == 0
	if first {
		gap = ""
	}
	gap += strings.Repeat(place.Part, o.level)
	room := o.s.o.MaxBytes - int64(o.text.Len()+len(gap)+len(o.title)+2)
	if int64(len(text)) > room {
		o.cut()
		if text = strings.TrimSpace(strings.ToValidUTF8(text[:max(0, room)], "")); text == "" {
			return
		}
	}
	o.lined = false
	o.text.WriteString(gap)
	if o.apart && !first {
		o.breaks = append(o.breaks, o.text.Len())
	}
	o.apart, o.level = false, 0
	o.text.WriteString(text)
}

func (o *outline) cut() {
	if !o.full {
		o.s.Warn(0, "its text is longer than %s; the rest is left out; split the file", bytesText(o.s.o.MaxBytes))
	}
	o.full = true
}

func (o *outline) empty() bool { return o.text.Len() == 0 && o.title == "" }

// finish yields the file's one document. err is why reading stopped early; it becomes a warning if there is some
// text.
func (o *outline) finish(rec Record, err error) error {
	if o.full {
		err = errEnough // what is wrong after that is of no matter
	}
	if err := o.s.settle(o.empty(), err); err != nil {
		return err
	}
	lead := o.title
	if rec.Title == "" {
		rec.Title, lead = lead, ""
	}
	rec.Text, rec.Breaks = o.text.String(), o.breaks
	if lead != "" && lead != rec.Title {
		if rec.Text != "" {
			lead += "\n\n"
			rec.Breaks = nil
			for _, b := range o.breaks {
				rec.Breaks = append(rec.Breaks, b+len(lead))
			}
		}
		rec.Text = lead + rec.Text
	}
	if len(rec.Metadata) == 0 {
		rec.Metadata = nil
	}
	return o.s.One(rec)
}

// settle returns an error that ends the reading of a file, and turns one that only shortens its text into a
// warning.
func (s *File) settle(empty bool, err error) error {
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case s.err != nil:
		return s.err
	case err == nil || errors.Is(err, errEnough):
		return nil
	case empty && errors.Is(err, engine.ErrInvalid):
		return err
	case empty: // of a library
		return Errorf(ErrMalformed, "damaged; open it in its program and save it again: %w", err)
	}
	s.Warn(0, "it cannot be read to its end, and the text before is stored: %v", err)
	return nil
}

// shownText is a text without invisible characters, and without space around it.
func shownText(s string) string {
	return strings.TrimSpace(withoutInvisible.Replace(readable.Text(s)))
}

// placeholders are titles and authors that programs write when none was given.
var placeholders = setOf("untitled anonymous unspecified unknown document presentation")

// property returns a title, a name or the like in the form for metadata.
func property(s string) string {
	s = strings.Join(strings.Fields(shownText(s)), " ")
	if low := strings.ToLower(s); placeholders[low] || low == "powerpoint presentation" {
		return ""
	}
	return clip(s, 1000)
}

// say adds a property to the metadata of a record, unless it is empty.
func (r *Record) say(name, value string) {
	if value = property(value); value == "" {
		return
	}
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	r.Metadata[name] = value
}

// dateLayouts are the layouts of dates in the metadata of documents.
var dateLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", time.DateOnly, "2006-01", "2006"}

// sayDate adds a date. A date that cannot be read gives a warning.
func (s *File) sayDate(r *Record, name, value string) {
	value = strings.TrimSpace(value)
	if value == "" {
		return
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, value); err == nil {
			r.say(name, dateText(t))
			return
		}
	}
	s.Warn(0, "the date %q cannot be read and is left out", clip(value, 80))
}
