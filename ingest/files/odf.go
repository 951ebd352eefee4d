package files

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
)

// readODF reads a text, a spreadsheet or a presentation of OpenDocument.
func readODF(s *File) error {
	a, err := s.flatODF()
	if a == nil && err == nil {
		a, err = s.archive()
	}
	if err != nil {
		return err
	}
	if a.encrypted() {
		return Errorf(ErrMalformed, "encrypted; save it without a password")
	}
	var rec Record
	a.describe("meta.xml", &rec)
	d := &odf{o: &outline{s: s}}
	err = a.walk("content.xml", d.visit)
	d.rest()
	if d.sheets == 0 && d.slides == 0 && a.has("styles.xml") {
		margins, within := &odf{o: &outline{s: s}}, 0
		err = cmp.Or(err, a.walk("styles.xml", func(t xml.Token) error {
			switch e := t.(type) {
			case xml.StartElement:
				if within > 0 || odfMargins[e.Name.Local] {
					within++
				}
			case xml.EndElement:
				within = max(0, within-1)
			}
			if within == 0 {
				return nil
			}
			return margins.visit(t)
		}))
		margins.rest()
		d.o.margins(margins.o)
	}
	switch {
	case d.sheets > 0:
		rec.count("sheets", d.sheets)
	case d.slides > 0:
		rec.count("slides", d.slides)
	}
	return d.o.finish(rec, err)
}

// flatODF returns the parts of a file that is one document of XML, or nil if it is none.
func (s *File) flatODF() (*archive, error) {
	head := make([]byte, 1024)
	if n, _ := s.ReadAt(head, 0); s.err != nil || bytes.HasPrefix(head, []byte("PK")) || !bytes.Contains(head[:n], []byte("<office:document")) {
		return nil, s.err
	}
	raw, err := s.all(s)
	if err != nil {
		return nil, err
	}
	a := &archive{s: s, parts: map[string]part{}, left: expansion * s.o.MaxBytes}
	for name, element := range map[string]string{"meta.xml": "office:meta", "styles.xml": "office:master-styles", "content.xml": "office:body"} {
		from := bytes.Index(raw, []byte("<"+element+">"))
		if from < 0 {
			continue
		}
		piece := raw[from:]
		if end := bytes.Index(piece, []byte("</"+element+">")); end >= 0 {
			piece = piece[:end+len("</"+element+">")]
		}
		add(a.parts, name, part{open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(piece)), nil }})
	}
	return a, nil
}

// odfMargins are the elements of styles.xml that hold headers and footers.
var odfMargins = setOf("header header-left header-first footer footer-left footer-first")

// encrypted reports whether an ODF file has a password.
func (a *archive) encrypted() bool {
	if !a.has("META-INF/manifest.xml") {
		return false
	}
	r, err := a.part("META-INF/manifest.xml")
	if err != nil {
		return false
	}
	defer r.Close()
	list, err := io.ReadAll(io.LimitReader(r, 1<<20))
	return err == nil && bytes.Contains(list, []byte("encryption-data"))
}

// odf extracts the text from the tokens of content.xml.
type odf struct {
	o              *outline
	paras          []*wordPara // that are open: a note has its own within one
	notes          []string    // of the paragraph
	skip           int
	sheet          bool // the file is a spreadsheet
	sheets, slides int
	row, same      int // number of the row of a sheet, and how often it is there
	title          int // elements within the frame of a slide's title
}

func (d *odf) visit(t xml.Token) error {
	if d.o.full {
		return errEnough
	}
	switch t := t.(type) {
	case xml.StartElement:
		if d.skip > 0 {
			d.skip++
			return nil
		}
		if t.Name.Space == "dc" || strings.HasPrefix(t.Name.Space, "http://purl.org/dc/") || t.Name.Local == "date-string" { // who wrote a comment, and when
			d.skip++
			return nil
		}
		if d.title > 0 {
			d.title++
		}
		switch t.Name.Local {
		case "tracked-changes", "automatic-styles", "note-citation", "page-number", "shapes", "forms", "binary-data":
			d.skip++
		case "spreadsheet":
			d.sheet = true
		case "h":
			level, err := strconv.Atoi(attr(t, "outline-level"))
			if err != nil || level < 1 {
				level = 1
			}
			d.paras = append(d.paras, &wordPara{level: level})
		case "p", "desc": // which an image says to who cannot see it
			p := &wordPara{}
			if name := attr(t, "style-name"); name == "Title" || d.title > 0 {
				p.level = 1
			}
			d.paras = append(d.paras, p)
		case "s":
			d.put(" ")
		case "tab":
			d.put("\t")
		case "line-break":
			d.put("\n")
		case "table":
			if d.sheet && d.o.rows == 0 {
				d.sheets++
				d.o.sheet(attr(t, "name"))
				d.row, d.same = 1, 0
			}
		case "table-row":
			if d.sheet && d.o.rows == 0 {
				d.row += d.same
				d.same = 1
				if n, err := strconv.Atoi(attr(t, "number-rows-repeated")); err == nil && n > 0 {
					d.same = n
				}
			}
			d.o.beginRow()
		case "page":
			d.slides++
			d.o.paged = true
			d.o.part()
		case "frame":
			if attr(t, "class") == "title" && d.title == 0 {
				d.title = 1
			}
		}
	case xml.CharData:
		if d.skip == 0 {
			d.put(string(t))
		}
	case xml.EndElement:
		if d.skip > 0 {
			d.skip--
			return nil
		}
		d.title = max(0, d.title-1)
		switch t.Name.Local {
		case "h", "p", "desc":
			d.end()
		case "table-cell", "covered-table-cell":
			d.o.endCell()
		case "table-row":
			d.endRow()
		}
	}
	return nil
}

func (d *odf) put(s string) {
	if n := len(d.paras); n > 0 {
		d.paras[n-1].WriteString(s)
	}
}

func (d *odf) end() {
	n := len(d.paras)
	if n == 0 {
		return
	}
	p := d.paras[n-1]
	d.paras = d.paras[:n-1]
	switch {
	case n > 1:
		d.notes = append(d.notes, p.String())
		return
	case p.level > 0:
		d.o.heading(p.level, strings.Join(strings.Fields(p.String()), " "))
	default:
		d.o.para(p.String())
	}
	for _, text := range d.notes {
		d.o.para(text)
	}
	d.notes = nil
}

// rest adds the open parts of a damaged file.
func (d *odf) rest() {
	for len(d.paras) > 0 {
		d.end()
	}
	for d.o.rows > 0 {
		d.endRow()
	}
}

// endRow ends a row of a table, or of a sheet.
func (d *odf) endRow() {
	if !d.sheet || d.o.rows != 1 {
		d.o.endRow()
		return
	}
	row := d.o.row.String()
	d.o.row.Reset()
	d.o.rows = 0
	d.o.sheetRow(d.row, row)
}
