package place

import (
	"regexp"
	"slices"
	"strings"
)

// Markup is what a text in Org, reStructuredText, AsciiDoc or LaTeX says of itself.
type Markup struct {
	Title, Author, Date string
	Headings            []Heading // those of level 0 begin a part without a name
}

// markups are by extension. Each gets the lines of a text, and puts their numbers into Heading.At.
var markups = map[string]func(lines []string) Markup{"org": org, "rst": rst, "adoc": adoc, "asciidoc": adoc, "tex": tex}

// MarkupOf reads the markup of a text by the extension of its file; not ok where that is none of these.
func MarkupOf(extension, text string) (m Markup, ok bool) {
	find := markups[extension]
	if find == nil {
		return m, false
	}
	lines := strings.Split(text, "\n")
	m = find(lines)
	at, next := 0, 0 // of the line next in the text
	for i := range m.Headings {
		for ; next < m.Headings[i].At; next++ {
			at += len(lines[next]) + 1
		}
		m.Headings[i].At = at
	}
	return m, true
}

// Extension is that of a file's name in lower case, without the dot and without .gz.
func Extension(name string) string {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// inMarkup tells the headings of a text in a markup.
func inMarkup(extension string) func(title, text string) Where {
	return func(title, text string) Where {
		m, _ := MarkupOf(extension, text)
		return path(title, slices.DeleteFunc(m.Headings, func(h Heading) bool { return h.Level == 0 }))
	}
}

func (m *Markup) head(line, level int, text string) {
	m.Headings = append(m.Headings, Heading{At: line, Level: level, Text: strings.TrimSpace(text)})
}

// orgTags stand after a heading.
var orgTags = regexp.MustCompile(`\s+:[\w@#%:]+:\s*$`)

// org reads Org: stars before headings, and keywords such as #+TITLE.
func org(lines []string) (m Markup) {
	block := false
	for i, l := range lines {
		low := strings.ToLower(strings.TrimSpace(l))
		key, value, _ := strings.Cut(strings.TrimSpace(l), ":")
		switch {
		case strings.HasPrefix(low, "#+begin_"):
			block = true
		case strings.HasPrefix(low, "#+end_"):
			block = false
		case block:
		case strings.EqualFold(key, "#+title") && m.Title == "":
			m.Title = value
		case strings.EqualFold(key, "#+author") && m.Author == "":
			m.Author = value
		case strings.EqualFold(key, "#+date") && m.Date == "":
			m.Date = strings.Trim(strings.TrimSpace(value), "<>[]")
		case strings.HasPrefix(l, "*") && strings.HasPrefix(strings.TrimLeft(l, "*"), " "):
			text := strings.TrimLeft(l, "*")
			m.head(i, len(l)-len(text), orgTags.ReplaceAllString(text, ""))
		}
	}
	return m
}

// rstField is a field of the list at the head of a text in reStructuredText.
var rstField = regexp.MustCompile(`^:([A-Za-z]+):\s+(.*)$`)

// rst reads reStructuredText: headings have a line of one sign below them, and perhaps above. The first one is the title
// if nothing but comments and fields stands before it.
func rst(lines []string) (m Markup) {
	var styles []string // of headings, the outermost first
	alone := true       // nothing but comments and fields stands before
	for i, l := range lines {
		text := strings.TrimRight(l, " \t\r")
		if i > 0 && i+1 < len(lines) && text == "" {
			continue
		}
		switch {
		case i+1 < len(lines) && isHeading(text, lines[i+1]):
			at, style := i, lines[i+1][:1]
			if i > 0 && isRule(lines[i-1]) && strings.TrimRight(lines[i-1], " \t\r") == strings.TrimRight(lines[i+1], " \t\r") {
				at, style = i-1, "above"+style
			}
			if alone && len(m.Headings) == 0 {
				m.Title = text
			}
			level := slices.Index(styles, style)
			if level < 0 {
				styles = append(styles, style)
				level = len(styles) - 1
			}
			m.head(at, level+1, text)
		case isRule(text), strings.HasPrefix(text, ".. "), text == "", strings.HasPrefix(text, "   "):
		default:
			if f := rstField.FindStringSubmatch(text); f == nil {
				alone = false
			} else if len(m.Headings) <= 1 {
				switch strings.ToLower(f[1]) {
				case "author", "authors":
					m.Author = f[2]
				case "date":
					m.Date = strings.TrimSuffix(strings.TrimPrefix(f[2], "$Date: "), " $")
				}
			}
		}
	}
	return m
}

// isRule says whether a line repeats one sign.
func isRule(l string) bool {
	l = strings.TrimRight(l, " \t\r")
	return len(l) >= 3 && strings.ContainsRune("=-`:.'\"~^_*+#<>", rune(l[0])) && strings.Trim(l, l[:1]) == ""
}

func isHeading(text, below string) bool {
	return text != "" && text[0] != ' ' && text[0] != '\t' && !isRule(text) && isRule(below) && len(strings.TrimRight(below, " \t\r")) >= len([]rune(strings.TrimSpace(text)))
}

// adoc reads AsciiDoc: signs before headings, the lines below the title, and attributes such as :author:.
func adoc(lines []string) (m Markup) {
	fence := "" // of the block that is open
	for i, l := range lines {
		text := strings.TrimRight(l, " \t\r")
		head := strings.TrimLeft(text, "=")
		level := len(text) - len(head)
		f := rstField.FindStringSubmatch(text)
		switch {
		case fence != "":
			if text == fence {
				fence = ""
			}
		case len(text) >= 4 && strings.ContainsRune("-./+`", rune(text[0])) && strings.Trim(text, text[:1]) == "":
			fence = text
		case level > 0 && level < 7 && strings.HasPrefix(head, " "):
			m.head(i, level, head)
			if level == 1 && m.Title == "" {
				m.Title = head
				if i+1 < len(lines) && lines[i+1] != "" && !strings.ContainsAny(lines[i+1][:1], ":/=[ ") {
					m.Author, _, _ = strings.Cut(lines[i+1], "<")
				}
			}
		case f != nil && strings.EqualFold(f[1], "author") && m.Author == "":
			m.Author = f[2]
		case f != nil && strings.EqualFold(f[1], "revdate") && m.Date == "":
			m.Date = f[2]
		}
	}
	return m
}

var (
	texHeading = regexp.MustCompile(`^\s*\\(?:(part|chapter|section|subsection|subsubsection|paragraph)\*?\s*(?:\[[^\]]*\]\s*)?[\[{]|begin\{document\})`)
	texLevels  = []string{"", "part", "chapter", "section", "subsection", "subsubsection", "paragraph"}
	texAbout   = regexp.MustCompile(`^\s*\\(title|author|date)\s*(?:\[[^\]]*\])?\{`)
	texMacro   = regexp.MustCompile(`\\[A-Za-z]+\*?\s*|[{}~]|\\\\`)
)

// tex reads LaTeX: commands of headings, and of the title.
func tex(lines []string) (m Markup) {
	for i, l := range lines {
		if h := texHeading.FindStringSubmatchIndex(l); h != nil {
			if h[2] < 0 { // the document begins
				m.head(i, 0, "")
			} else {
				m.head(i, slices.Index(texLevels, l[h[2]:h[3]]), texText(l[h[1]:], lines[i+1:]))
			}
			continue
		}
		at := texAbout.FindStringSubmatchIndex(l)
		if at == nil {
			continue
		}
		value := texText(l[at[1]:], lines[i+1:])
		switch l[at[2]:at[3]] {
		case "title":
			m.Title = value
		case "author":
			m.Author = value
		case "date":
			m.Date = value
		}
	}
	return m
}

// texText is what stands in braces, without commands.
func texText(text string, more []string) string {
	value := braced(text, more)
	if strings.Contains(value, `\today`) {
		return ""
	}
	value = texMacro.ReplaceAllString(strings.ReplaceAll(value, `\and`, ", "), " ")
	return strings.Join(strings.Fields(value), " ")
}

// braced is the text as far as the brace that closes, within ten lines.
func braced(text string, more []string) string {
	text = strings.Join(append([]string{text}, more[:min(len(more), 10)]...), " ")
	depth := 1
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			return text[:i]
		}
	}
	return ""
}
