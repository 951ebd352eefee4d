package files

import (
	"cmp"
	"encoding/xml"
	"strings"
)

// readPPTX reads a presentation: its slides in their order, each with its notes.
func readPPTX(s *File) error {
	var rec Record
	a, main, rels, err := s.ooxml("ppt/presentation.xml", &rec)
	if err != nil {
		return err
	}
	var slides []string
	err = a.walk(main, func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "sldId" {
			for _, at := range e.Attr { // it has two attributes id
				if to := rels.byID[at.Value]; at.Name.Local == "id" && to != "" {
					slides = append(slides, to)
				}
			}
		}
		return tooMany(len(slides))
	})
	o := &outline{s: s, paged: true}
	for _, name := range slides {
		o.part()
		d := &drawing{o: o}
		e := a.walk(name, d.visit)
		d.rest()
		if e == nil {
			if rels, re := a.relations(name); re != nil {
				e = re
			} else if notes := rels.byType["notesSlide"]; a.has(notes) {
				e = a.walk(notes, d.visit)
				d.rest()
			}
		}
		err = cmp.Or(err, e)
		if e != nil && (o.full || s.ctx.Err() != nil || a.left <= 0) {
			break
		}
	}
	if len(slides) > 0 {
		rec.count("slides", len(slides))
	}
	return o.finish(rec, err)
}

// drawing extracts the text from the tokens of a slide.
type drawing struct {
	o    *outline
	p    strings.Builder
	text int
	skip int
	role string // of the shape: its type of placeholder
}

func (d *drawing) visit(t xml.Token) error {
	if d.o.full {
		return errEnough
	}
	switch t := t.(type) {
	case xml.StartElement:
		if d.skip > 0 || t.Name.Local == "Fallback" {
			d.skip++
			return nil
		}
		switch t.Name.Local {
		case "sp":
			d.role = ""
		case "cNvPr":
			d.end()
			d.o.para(cmp.Or(attr(t, "descr"), attr(t, "title")))
		case "ph":
			d.role = attr(t, "type")
		case "t":
			d.text++
		case "br":
			d.p.WriteByte('\n')
		case "tr":
			d.o.beginRow()
		}
	case xml.CharData:
		if d.text > 0 && d.skip == 0 && d.role != "sldNum" && d.role != "dt" && d.role != "ftr" {
			d.p.Write(t)
		}
	case xml.EndElement:
		if d.skip > 0 {
			d.skip--
			return nil
		}
		switch t.Name.Local {
		case "p":
			d.end()
		case "t":
			d.text = max(0, d.text-1)
		case "tc":
			d.o.endCell()
		case "tr":
			d.o.endRow()
		}
	}
	return nil
}

func (d *drawing) end() {
	text := d.p.String()
	d.p.Reset()
	if d.role == "title" || d.role == "ctrTitle" {
		d.o.heading(1, text)
	} else {
		d.o.para(text)
	}
}

// rest adds the open parts of a damaged slide.
func (d *drawing) rest() {
	d.end()
	for d.o.rows > 0 {
		d.o.endRow()
	}
	d.text, d.skip = 0, 0
}
