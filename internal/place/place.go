// Package place determines where in a file a passage of its text is: on which page, slide or sheet, or under which
// headings. Start with [Of].
//
// Readers of files put form feeds, which no other text of theirs has, before each page and slide, before the name of a sheet, and
// before a heading as many as its level. A vertical tab in a sheet says that the numbers of the rows after it are not known.
// Markdown and the markups of plain texts need none.
package place

import (
	"fmt"
	"math"
	"slices"
	"sort"
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

// A Where tells where the bytes [from, to) of a text are: "page 7", "slides 2-3", `sheet "Q3" row 12`, or the headings above from
// with the title of the file, "Guide › Install". It is "" where nothing is known.
type Where func(from, to int) string

// kinds maps kinds of files to the functions that determine places.
var kinds = map[string]func(title, text string) Where{
	"pdf":  func(_, text string) Where { return numbered("page", text) },
	"pptx": slides, "odp": slides,
	"xlsx": sheet, "ods": sheet,
	"markdown": func(title, text string) Where { return path(title, Headings(text)) },
	"html": func(title, text string) Where {
		all := marked(text)
		if len(all) > 0 && all[0].Level == 1 { // which is the title that the page shows
			title = ""
		}
		return path(title, all)
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

// Of reads the text of a file once for all places in it. kind is what In says.
func Of(kind, title, text string) Where {
	if !Known(kind) {
		return func(int, int) string { return "" }
	}
	return kinds[kind](title, text)
}

func slides(_, text string) Where { return numbered("slide", text) }

// headed tells the headings of a text with marks before its headings.
func headed(title, text string) Where { return path(title, marked(text)) }

// numbered counts marks.
func numbered(what, text string) Where {
	var parts []int
	for i := range len(text) {
		if text[i] == Part[0] {
			parts = append(parts, i)
		}
	}
	return func(from, to int) string {
		first := sort.SearchInts(parts, from)
		last := sort.SearchInts(parts, from+len(strings.TrimRight(text[from:to], Part+"\n")))
		switch {
		case last == 0: // of a database of before there were marks
			return ""
		case max(first, 1) == last:
			return fmt.Sprintf("%s %d", what, last)
		}
		return fmt.Sprintf("%ss %d-%d", what, max(first, 1), last)
	}
}

// sheet names the sheet, and the row if the bytes are in one row. The first row is two lines after the name.
func sheet(_, text string) Where {
	return func(from, to int) string {
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
}

// marked returns the headings of a text with marks before them.
func marked(text string) (out []Heading) {
	for at := strings.Index(text, Part); at >= 0; {
		n := len(text[at:]) - len(strings.TrimLeft(text[at:], Part))
		name, _, _ := strings.Cut(text[at+n:], "\n")
		out = append(out, Heading{At: at, Level: n, Text: strings.TrimSpace(strings.TrimLeft(name, "#"))})
		next := strings.Index(text[at+n:], Part)
		if next < 0 {
			break
		}
		at += n + next
	}
	return out
}

// path joins the title and the headings above.
func path(title string, all []Heading) Where {
	title = strings.TrimSpace(title)
	return func(from, _ int) string {
		var names []string // the innermost first
		outer, level := "", math.MaxInt
		n, _ := slices.BinarySearchFunc(all, from+1, func(h Heading, at int) int { return h.At - at })
		for ; n > 0 && level > 1; n-- {
			h := all[n-1]
			if h.Level >= level {
				continue
			}
			if outer, level = h.Text, h.Level; h.Text != "" {
				names = append(names, clip(h.Text))
			}
		}
		if level < math.MaxInt && title != "" && title != outer {
			names = append(names, clip(title))
		}
		slices.Reverse(names)
		return strings.Join(names, between)
	}
}

// clip cuts a name to maxName runes.
func clip(s string) string {
	if utf8.RuneCountInString(s) <= maxName {
		return s
	}
	return string([]rune(s)[:maxName-1]) + "…"
}
