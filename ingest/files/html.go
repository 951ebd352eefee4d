package files

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// maxElements is the maximum number of elements of a page that is searched for its
// article, which takes several passes; of larger pages the whole text is used.
const maxElements = 30_000

// readHTML reads one document: the article of a page, or its whole visible text if it has
// no article.
func readHTML(s *File) error {
	raw, err := s.all(s)
	if err != nil {
		return err
	}
	rec := Record{From: 1, To: lastLine(1, string(raw))}
	if err := s.readPage(raw, &rec); err != nil {
		if cerr := s.ctx.Err(); cerr != nil {
			return cerr
		}
		return err
	}
	return s.One(rec)
}

// readPage fills rec from a page.
func (s *File) readPage(raw []byte, rec *Record) (err error) {
	defer func() { // the article is searched for by rules that were made for sane pages
		if p := recover(); p != nil {
			err = Errorf(ErrMalformed, "the page cannot be read: %v", p)
		}
	}()
	if head := raw[:min(len(raw), 1024)]; bytes.Contains(head, []byte("<?xml")) || bytes.Contains(head, []byte("http://www.w3.org/1999/xhtml")) {
		raw = closed.ReplaceAll(raw, []byte("<$1$2></$1>"))
	}
	plain, err := s.pageReader(raw)
	if err != nil {
		return err
	}
	doc, err := html.Parse(plain)
	if err != nil && s.ctx.Err() == nil { // the one other reason is elements that stand too deep
		if doc, err = s.parseFlattened(raw); err == nil {
			s.Warn(0, "elements stand more than %d deep within each other; the text is kept without the deeper ones", maxDepthOfPage)
		}
	}
	if err != nil {
		return Errorf(ErrMalformed, "not HTML: %w", err)
	}
	p := describe(doc)
	article, meta := p.article(doc)
	rec.Title = p.title
	if !blank(meta.Title()) {
		rec.Title = withoutInvisible.Replace(meta.Title())
	}
	rec.Text, rec.Breaks = article.text, article.breaks
	rec.Metadata = map[string]any{}
	for name, v := range map[string]string{"language": p.language, "description": p.description, "author": p.author} {
		if v = strings.Join(strings.Fields(v), " "); v != "" && utf8.ValidString(v) {
			rec.Metadata[name] = v
		}
	}
	if t, err := meta.PublishedTime(); err == nil {
		rec.Metadata["published"] = dateText(t)
	}
	if len(rec.Metadata) == 0 {
		rec.Metadata = nil
	}
	return nil
}

func (s *File) parseFlattened(raw []byte) (*html.Node, error) {
	plain, err := s.pageReader(raw)
	if err != nil {
		return nil, err
	}
	flat, err := flattened(plain)
	if err != nil {
		return nil, err
	}
	return html.Parse(flat)
}

// pageReader decodes a page.
func (s *File) pageReader(raw []byte) (io.Reader, error) {
	plain := &cancelled{s.ctx, bytes.NewReader(raw)}
	head := raw[:min(len(raw), 1024)] // where a page declares its encoding
	e, name, _ := charset.DetermineEncoding(head, "")
	declared := name != "windows-1252" || bytes.Contains(bytes.ToLower(head), []byte("charset")) // which is the default, too
	if declared && !strings.HasPrefix(name, "utf-") && !mislabelled(raw, e) {
		return s.mended(plain, e), nil
	}
	return s.decodedFrom(plain, bytes.NewReader(raw), int64(len(raw)))
}

// page holds what a page says about itself.
type page struct {
	title, language, description, author string
	main                                 *html.Node // the one element main, nil if there is none or several
	elements                             int
}

func describe(doc *html.Node) *page {
	p := &page{}
	mains := 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		p.elements++
		switch n.DataAtom {
		case atom.Html:
			p.language = attribute(n, "lang")
		case atom.Title:
			if p.title == "" && n.Namespace == "" && n.FirstChild != nil {
				p.title = withoutInvisible.Replace(strings.Join(strings.Fields(n.FirstChild.Data), " "))
			}
		case atom.Main:
			mains++
			p.main = n
		case atom.Meta:
			switch strings.ToLower(attribute(n, "name") + attribute(n, "property")) {
			case "description":
				p.description = attribute(n, "content")
			case "og:description":
				if p.description == "" {
					p.description = attribute(n, "content")
				}
			case "author":
				p.author = attribute(n, "content")
			}
		}
	}
	if mains != 1 {
		p.main = nil
	}
	return p
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// article is the text of the page's article. Readability finds it and leaves out the text
// around it. In references it also leaves out inner parts, such as signatures. So if it
// keeps at least half of the element main, all of main is used.
func (p *page) article(doc *html.Node) (shown, readability.Article) {
	var main, body shown
	if p.main != nil {
		main = textOf(p.main)
	}
	body = textOf(doc)
	rest := body
	if !blank(main.text) {
		rest = main
	}
	if p.elements > maxElements {
		return rest, readability.Article{}
	}
	parser := readability.NewParser()
	readable := parser.CheckDocument(doc)
	a, err := parser.ParseAndMutate(doc, nil)
	if err != nil {
		return rest, readability.Article{}
	}
	if !readable || a.Node == nil {
		return rest, a
	}
	found := textOf(a.Node)
	if blank(found.text) || !blank(main.text) && 2*len(found.text) >= len(main.text) {
		return rest, a
	}
	return found, a
}
