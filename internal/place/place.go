// Package place determines where in a file a passage of its text is: on which page, slide or sheet, or under which
// headings. Start with [Of].
//
// Readers of files put form feeds, which no other text of theirs has, before each page and slide, before the name of a sheet, and
// before a heading as many as its level. A vertical tab in a sheet says that the numbers of the rows after it are not known.
// Markdown and the markups of plain texts need none.
package place

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Marks that file readers put into texts.
const (
	Part    = "\f"
	Unknown = "\v"
)

const (
	maxName = 80    // runes of a heading in a path
	between = " › " // headings
)

// kinds maps kinds of files to the functions that determine places.
var kinds = map[string]func(title, text string, from, to int) string{
	"pdf":  func(_, text string, from, to int) string { return numbered("page", text, from, to) },
	"pptx": slides, "odp": slides,
	"xlsx": sheet, "ods": sheet,
	"markdown": func(title, text string, from, _ int) string { return path(title, Headings(text), from) },
	"html": func(title, text string, from, _ int) string {
		all := marked(text[:min(len(text), from+1)], text)
		if len(all) > 0 && all[0].Level == 1 { // which is the title that the page shows
			title = ""
		}
		return path(title, all, from)
	},
	"docx": headed, "odt": headed, "rtf": headed, "epub": headed, "ipynb": headed,
	"text.org": inMarkup("org"), "text.rst": inMarkup("rst"), "text.adoc": inMarkup("adoc"), "text.asciidoc": inMarkup("adoc"), "text.tex": inMarkup("tex"),
}

// In is the kind for Known and Of of a file of a kind of package files. Texts are told apart by the names of their files.
func In(kind, name string) string {
	if kind == "text" {
		return "text." + Extension(name)
	}
	return kind
}

// Known reports whether Of can determine places in files of a kind.
func Known(kind string) bool { return kinds[kind] != nil }

// Of tells where the bytes [from, to) of the text of a file are: "page 7", "slides 2-3", `sheet "Q3" row 12`, or the headings above
// from with the title of the file, "Guide › Install". kind is what In says. It is "" where nothing is known.
func Of(kind, title, text string, from, to int) string {
	if !Known(kind) {
		return ""
	}
	return kinds[kind](title, text, from, to)
}

func slides(_, text string, from, to int) string { return numbered("slide", text, from, to) }

// headed returns the headings of a text with marks before its headings.
func headed(title, text string, from, _ int) string {
	return path(title, marked(text[:min(len(text), from+1)], text), from)
}

// numbered counts marks.
func numbered(what, text string, from, to int) string {
	first := strings.Count(text[:from], Part)
	last := first + strings.Count(strings.TrimRight(text[from:to], Part+"\n"), Part)
	switch {
	case last == 0: // of a database of before there were marks
		return ""
	case max(first, 1) == last:
		return fmt.Sprintf("%s %d", what, last)
	}
	return fmt.Sprintf("%ss %d-%d", what, max(first, 1), last)
}

// sheet names the sheet, and the row if the bytes are in one row. The first row is two lines after the name.
func sheet(_, text string, from, to int) string {
	at := strings.LastIndex(text[:from], Part) + 1
	if at == 0 {
		return ""
	}
	name, _, _ := strings.Cut(text[at:], "\n")
	out := fmt.Sprintf("sheet %q", clip(name))
	row := strings.Count(text[at:from], "\n") - 1
	if row < 1 || strings.Contains(text[at:from], Unknown) || strings.Contains(strings.TrimRight(text[from:to], "\n"), "\n") {
		return out
	}
	return fmt.Sprintf("%s row %d", out, row)
}

// marked returns the headings with marks that begin within begin, the beginning of a text.
func marked(begin, text string) (out []Heading) {
	for at := strings.Index(begin, Part); at >= 0 && at < len(begin); {
		n := len(text[at:]) - len(strings.TrimLeft(text[at:], Part))
		name, _, _ := strings.Cut(text[at+n:], "\n")
		out = append(out, Heading{At: at, Level: n, Text: strings.TrimSpace(strings.TrimLeft(name, "#"))})
		next := strings.Index(begin[min(len(begin), at+n):], Part)
		if next < 0 {
			break
		}
		at += n + next
	}
	return out
}

// path joins the title and the headings above a byte.
func path(title string, all []Heading, at int) string {
	var open []Heading
	for _, h := range all {
		if h.At > at {
			break
		}
		for len(open) > 0 && open[len(open)-1].Level >= h.Level {
			open = open[:len(open)-1]
		}
		open = append(open, h)
	}
	if len(open) == 0 {
		return ""
	}
	var names []string
	if title = strings.TrimSpace(title); title != "" && title != open[0].Text {
		names = append(names, clip(title))
	}
	for _, h := range open {
		if h.Text != "" {
			names = append(names, clip(h.Text))
		}
	}
	return strings.Join(names, between)
}

// clip cuts a name to maxName runes.
func clip(s string) string {
	if utf8.RuneCountInString(s) <= maxName {
		return s
	}
	return string([]rune(s)[:maxName-1]) + "…"
}
