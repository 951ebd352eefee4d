package files

import (
	"regexp"
	"slices"
	"strings"

	"codeberg.org/readeck/go-readability/v2/render"
	"golang.org/x/net/html"

	"github.com/lexsem/lexsem/internal/place"
)

// shown is the visible text of a page, with breaks at its headings.
type shown struct {
	text   string
	breaks []int
}

// blocks are the elements that browsers show on separate lines, by the rendering section of the HTML standard
// (display: block, list-item, table and its rows), and the options of a list.
var blocks = setOf("address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure " +
	"footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main menu nav noscript ol optgroup option p plaintext pre search " +
	"section slot summary table tbody tfoot thead tr ul xmp")

// boxes are the elements within a line that are separate from the words around them.
var boxes = setOf("audio button canvas embed iframe img input math meter object picture progress rp rt select svg td textarea th video")

// texts are the blocks that hold text. On them aria-hidden means that screen readers read the same elsewhere, as in the
// captions that pandoc writes; on other elements it often means that a page shows them later, or never.
var texts = setOf("blockquote caption dd dt figcaption h1 h2 h3 h4 h5 h6 legend li p pre summary table td th tr")

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, n := range strings.Fields(names) {
		set[n] = true
	}
	return set
}

// withoutInvisible removes characters that are invisible within a word: soft hyphens, zero-width spaces, word
// joiners and byte order marks. Zero-width joiners stay, since scripts and emoji need them.
var withoutInvisible = strings.NewReplacer("\u00ad", "", "\u200b", "", "\u2060", "", "\ufeff", "")

// alternative is the alternative text of an image. It is "" if the text is the name of a file or equal to the caption.
// captions keeps the captions of figures.
func alternative(e *html.Node, captions map[*html.Node]string) string {
	alt := strings.Join(strings.Fields(strings.ReplaceAll(attribute(e, "alt"), "\x00", "")), " ")
	hidden := slices.ContainsFunc(e.Attr, func(a html.Attribute) bool { return a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" })
	if alt == "" || hidden || !strings.Contains(alt, " ") && pictureName.MatchString(alt) {
		return ""
	}
	for p := e.Parent; p != nil; p = p.Parent {
		if p.Data != "figure" {
			continue
		}
		caption, known := captions[p]
		if !known {
			for c := range p.Descendants() {
				if c.Type == html.TextNode && len(caption) < maxCaption {
					caption += c.Data
				}
			}
			caption = strings.Join(strings.Fields(caption), " ")
			captions[p] = caption
		}
		if strings.Contains(caption, alt) {
			return ""
		}
	}
	return alt
}

// maxCaption bounds, in bytes, how much of a figure is compared with what its images say.
const maxCaption = 1 << 10

// pictureName matches names of files with pictures.
var pictureName = regexp.MustCompile(`(?i)\.(png|jpe?g|gif|webp|svg|bmp|tiff?)$`)

// textOf returns the visible text of an element. It leaves the element as it is, except for aria-hidden on texts.
func textOf(n *html.Node) (out shown) {
	const mark = "\x00" // pages have none, the parser drops them
	var elements, added []*html.Node
	captions := map[*html.Node]string{}
	for e := range n.Descendants() {
		if e.Type == html.ElementNode {
			elements = append(elements, e)
		}
	}
	insert := func(parent, before *html.Node, kind html.NodeType, data string) {
		m := &html.Node{Type: kind, Data: data}
		parent.InsertBefore(m, before)
		added = append(added, m)
	}
	for _, e := range elements {
		switch {
		case blocks[e.Data], strings.Contains(e.Data, "-"): // and custom elements
			insert(e.Parent, e, html.ElementNode, "div") // render breaks the line there
			insert(e.Parent, e.NextSibling, html.ElementNode, "div")
		case boxes[e.Data]:
			insert(e.Parent, e, html.TextNode, " ")
			insert(e.Parent, e.NextSibling, html.TextNode, " "+alternative(e, captions)+" ")
		}
		if texts[e.Data] {
			e.Attr = slices.DeleteFunc(e.Attr, func(a html.Attribute) bool { return a.Key == "aria-hidden" })
		}
		if len(e.Data) == 2 && e.Data[0] == 'h' && '1' <= e.Data[1] && e.Data[1] <= '6' && e.FirstChild != nil {
			insert(e, e.FirstChild, html.TextNode, mark+e.Data[1:])
		}
	}
	marked := strings.TrimRight(withoutInvisible.Replace(strings.ToValidUTF8(render.InnerText(n), "\ufffd")), "\n")
	marked = strings.ReplaceAll(marked, place.Part, " ")
	for _, m := range added {
		m.Parent.RemoveChild(m)
	}
	var text strings.Builder
	some := false // something stands before
	for i, part := range strings.Split(marked, mark) {
		if i > 0 { // a heading, with its level
			level := int(part[0] - '0')
			if part = part[1:]; !blank(part) {
				text.WriteString(strings.Repeat(place.Part, level))
			}
		}
		if at := text.Len(); i > 0 && some && !blank(part) {
			out.breaks = append(out.breaks, at)
		}
		some = some || !blank(part)
		text.WriteString(part)
	}
	out.text = text.String()
	return out
}
