package files

import (
	"cmp"
	"encoding/xml"
	"strconv"
	"strings"
)

// readDOCX reads a text of Word: its paragraphs, headings and tables, then its notes, comments, headers and footers.
func readDOCX(s *File) error {
	var rec Record
	a, main, rels, err := s.ooxml("word/document.xml", &rec)
	if err != nil {
		return err
	}
	w := &word{o: &outline{s: s}, levels: a.wordStyles(rels.byType["styles"])}
	err = a.walk(main, w.visit)
	for _, notes := range []string{"footnotes", "endnotes", "comments"} {
		if name := rels.byType[notes]; err == nil && a.has(name) {
			err = a.walk(name, w.visit)
		}
	}
	w.rest()
	margins := &word{o: &outline{s: s}}
	for _, name := range rels.margins {
		if a.has(name) {
			err = cmp.Or(err, a.walk(name, margins.visit))
		}
	}
	margins.rest()
	w.o.margins(margins.o)
	return w.o.finish(rec, err)
}

// wordStyles maps the heading styles to their levels.
func (a *archive) wordStyles(name string) map[string]int {
	levels := map[string]int{}
	if !a.has(name) {
		return levels
	}
	var id string
	err := a.walk(name, func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "style":
			id = attr(e, "styleId")
		case "name":
			if l := headingLevel(attr(e, "val")); l > 0 {
				levels[id] = l
			}
		case "outlineLvl":
			if l, err := strconv.Atoi(attr(e, "val")); err == nil && l >= 0 && l < 9 && levels[id] == 0 {
				levels[id] = l + 1
			}
		}
		return tooMany(len(levels))
	})
	if err != nil && a.s.ctx.Err() == nil {
		a.s.Warn(0, "its headings are not recognised: %v", err)
	}
	return levels
}

// headingLevel is the heading level of a style, from its name, which is the same in all
// languages; 0 for other styles.
func headingLevel(style string) int {
	style = strings.ToLower(strings.TrimSpace(style))
	if style == "title" {
		return 1
	}
	if n, ok := strings.CutPrefix(style, "heading "); ok {
		if l, err := strconv.Atoi(n); err == nil && 0 < l && l < 10 {
			return l
		}
	}
	return 0
}

// word extracts the text from the tokens of WordprocessingML.
type word struct {
	o      *outline
	levels map[string]int
	paras  []*wordPara // that are open: a text box has its own within one
	text   int         // elements w:t that are open
	skip   int         // elements within one that is left out
}

type wordPara struct {
	strings.Builder
	level int
}

func (w *word) visit(t xml.Token) error {
	if w.o.full {
		return errEnough
	}
	var p *wordPara
	if n := len(w.paras); n > 0 {
		p = w.paras[n-1]
	}
	switch t := t.(type) {
	case xml.StartElement:
		if w.skip > 0 || t.Name.Local == "Fallback" || t.Name.Local == "del" || t.Name.Local == "moveFrom" { // said again, or deleted
			w.skip++
			return nil
		}
		switch t.Name.Local {
		case "p":
			w.paras = append(w.paras, &wordPara{})
		case "pStyle":
			if p != nil {
				p.level = w.levels[attr(t, "val")]
			}
		case "outlineLvl":
			if l, err := strconv.Atoi(attr(t, "val")); p != nil && err == nil && l >= 0 && l < 9 {
				p.level = l + 1
			}
		case "t":
			w.text++
		case "tab":
			w.put("\t")
		case "br", "cr":
			w.put("\n")
		case "noBreakHyphen":
			w.put("-")
		case "sym":
			w.put(symbol(attr(t, "font"), attr(t, "char")))
		case "docPr":
			w.beside(cmp.Or(attr(t, "descr"), attr(t, "title")))
		case "shape": // of old files
			w.beside(attr(t, "alt"))
		case "tr":
			w.o.beginRow()
		}
	case xml.CharData:
		if w.text > 0 && w.skip == 0 {
			w.put(string(t))
		}
	case xml.EndElement:
		if w.skip > 0 {
			w.skip--
			return nil
		}
		switch t.Name.Local {
		case "p":
			w.end()
		case "t":
			w.text = max(0, w.text-1)
		case "tc":
			w.o.endCell()
		case "tr":
			w.o.endRow()
		}
	}
	return nil
}

func (w *word) put(s string) {
	if n := len(w.paras); n > 0 {
		w.paras[n-1].WriteString(s)
	}
}

// beside adds the alternative text of an image.
func (w *word) beside(alt string) {
	if n := len(w.paras); n > 0 && !blank(alt) {
		if s := w.paras[n-1].String(); s != "" && !strings.HasSuffix(s, " ") {
			w.put(" ")
		}
		w.put(strings.Join(strings.Fields(alt), " ") + " ")
	}
}

// end adds the finished paragraph.
func (w *word) end() {
	n := len(w.paras)
	if n == 0 {
		return
	}
	if p := w.paras[n-1]; p.level > 0 {
		w.o.heading(p.level, p.String())
	} else {
		w.o.para(p.String())
	}
	w.paras = w.paras[:n-1]
}

// rest adds the open parts of a damaged file.
func (w *word) rest() {
	for len(w.paras) > 0 {
		w.end()
	}
	for w.o.rows > 0 {
		w.o.endRow()
	}
}
