package files

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"path"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// readEPUB reads a book: its chapters in reading order.
func readEPUB(s *File) error {
	a, err := s.archive()
	if err != nil {
		return err
	}
	var about string
	err = a.walk("META-INF/container.xml", func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && about == "" {
			about = attr(e, "full-path")
		}
		return nil
	})
	if about == "" {
		for name := range a.parts { // a book without a container
			if strings.EqualFold(path.Ext(name), ".opf") && (about == "" || name < about) {
				about = name
			}
		}
	}
	if about == "" {
		return errors.Join(s.ctx.Err(), Errorf(ErrMalformed, "it does not name its chapters; save the book again: %w", err))
	}
	var rec Record
	a.describe(about, &rec)
	type item struct{ part, media string }
	items := map[string]item{}
	var spine, all []string
	chapters := false // the spine names some
	err = a.walk(about, func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case e.Name.Local == "item":
			href, err := url.PathUnescape(attr(e, "href"))
			if err != nil {
				href = attr(e, "href")
			}
			items[attr(e, "id")] = item{path.Join(path.Dir(about), href), attr(e, "media-type")}
			all = append(all, attr(e, "id"))
		case e.Name.Local == "itemref":
			spine = append(spine, attr(e, "idref"))
		}
		return tooMany(len(items) + len(spine))
	})
	for _, id := range spine {
		chapters = chapters || strings.Contains(items[id].media, "html")
	}
	if !chapters {
		s.Warn(0, "the book does not say in which order its chapters are read; they are read as it lists them")
		spine = all
	}
	o := &outline{s: s}
	for _, id := range spine {
		it := items[id]
		if !strings.Contains(it.media, "html") {
			continue
		}
		page, e := a.page(it.part)
		o.part()
		o.shown(page)
		err = cmp.Or(err, e)
		if o.full || s.ctx.Err() != nil || a.left <= 0 {
			break
		}
	}
	return o.finish(rec, err)
}

// page returns the text of an HTML part, as far as it can be read.
func (a *archive) page(name string) (shown, error) {
	r, err := a.part(name)
	if err != nil {
		return shown{}, err
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		err = a.damaged(name, err)
	}
	page, perr := a.s.pageText(raw)
	return page, cmp.Or(err, perr)
}

// closed are the elements whose text is not HTML. XHTML allows them to be empty-element tags, which HTML does not
// know.
var closed = regexp.MustCompile(`(?i)<(title|script|style|textarea|iframe|noscript)(\s[^<>]*)?/>`)

// pageText returns all that a page shows.
func (s *File) pageText(raw []byte) (out shown, err error) {
	raw = closed.ReplaceAll(raw, []byte("<$1$2></$1>"))
	plain, err := s.pageReader(raw)
	if errors.Is(err, ErrBinary) { // some of it is damaged: what it is part of says that it is a page
		plain, err = s.mended(&cancelled{s.ctx, bytes.NewReader(raw)}, nil), nil
	}
	if err != nil {
		return out, err
	}
	doc, err := html.Parse(plain)
	if err != nil {
		return out, Errorf(ErrMalformed, "not HTML: %w", err)
	}
	body := doc
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "body" {
			body = n
			break
		}
	}
	return textOf(body), nil
}
