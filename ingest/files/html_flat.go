package files

import (
	"bytes"
	"errors"
	"io"

	"golang.org/x/net/html"
)

// maxDepthOfPage is the maximum nesting of the elements of a page; the parser refuses 512.
const maxDepthOfPage = 256

// rawElements contain text that is not markup: without their tags, scripts would be
// shown.
var rawElements = setOf("iframe noembed noframes noscript plaintext script style textarea title xmp")

// flattened is a page without the tags that are nested too deeply. Line breaks replace those of blocks, so no
// words are joined and no text is lost.
func flattened(page io.Reader) (io.Reader, error) {
	var out bytes.Buffer
	var open []string      // names of the elements that stand open
	of := map[string]int{} // how many of each name
	tags := html.NewTokenizer(page)
	for {
		kind := tags.Next()
		if kind == html.ErrorToken {
			if err := tags.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return &out, nil
		}
		tag := bytes.Clone(tags.Raw()) // TagName changes it
		if kind != html.StartTagToken && kind != html.EndTagToken {
			out.Write(tag)
			continue
		}
		raw, _ := tags.TagName()
		name := string(raw)
		if rawElements[name] || voidElements[name] {
			out.Write(tag)
			continue
		}
		at := len(open) // how deep the element stands
		if kind == html.StartTagToken {
			open = append(open, name)
			of[name]++
		} else if of[name] > 0 { // the end of an element ends those within it, too
			for ended := false; !ended; {
				at = len(open) - 1
				ended = open[at] == name
				of[open[at]]--
				open = open[:at]
			}
		}
		if at < maxDepthOfPage {
			out.Write(tag)
		} else {
			out.WriteString(breakFor(name))
		}
	}
}

// voidElements are the elements without an end tag.
var voidElements = setOf("area base br col embed hr img input link meta source track wbr")

// breakFor is the replacement of a tag: a line break for a block, a blank for a box.
func breakFor(name string) string {
	switch {
	case blocks[name]:
		return "<br>"
	case boxes[name]:
		return " "
	}
	return ""
}
