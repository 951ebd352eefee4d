package files

import (
	"path"
	"regexp"
	"strings"
)

// markups find the headings and the metadata of texts in other markups, whose text is kept unchanged. Their keys are
// extensions.
var markups = map[string]func(lines []string) marked{"org": orgMarks, "rst": rstMarks, "adoc": adocMarks, "asciidoc": adocMarks, "tex": texMarks}

// marked holds the marks found in the lines of a text, by line number from 0.
type marked struct {
	title, author, date string
	headings            []int
}

// mark adds the breaks, the title and the metadata from a text's markup.
func (r *Record) mark(name string) {
	find := markups[strings.TrimPrefix(path.Ext(baseName(name)), ".")]
	if find == nil {
		return
	}
	lines := strings.Split(r.Text, "\n")
	m := find(lines)
	r.Title = property(m.title)
	r.say("author", m.author)
	r.say("date", m.date)
	at, next := 0, 0 // of the line next in the text
	for _, h := range m.headings {
		for ; next < h; next++ {
			at += len(lines[next]) + 1
		}
		if at > 0 && at < len(r.Text) && !blank(r.Text[:at]) && (len(r.Breaks) == 0 || at > r.Breaks[len(r.Breaks)-1]) {
			r.Breaks = append(r.Breaks, at)
		}
	}
}

// orgMarks reads Org: headings begin with stars, and there are keywords such as #+TITLE.
func orgMarks(lines []string) (m marked) {
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
		case strings.EqualFold(key, "#+title") && m.title == "":
			m.title = value
		case strings.EqualFold(key, "#+author") && m.author == "":
			m.author = value
		case strings.EqualFold(key, "#+date") && m.date == "":
			m.date = strings.Trim(strings.TrimSpace(value), "<>[]")
		case strings.HasPrefix(l, "*") && strings.HasPrefix(strings.TrimLeft(l, "*"), " "):
			m.headings = append(m.headings, i)
		}
	}
	return m
}

// rstField matches a field in the list at the head of a text in reStructuredText.
var rstField = regexp.MustCompile(`^:([A-Za-z]+):\s+(.*)$`)

// rstMarks reads reStructuredText: a heading has a line of one sign below it, and sometimes above. The first heading is
// the title if only comments and fields come before it.
func rstMarks(lines []string) (m marked) {
	alone := true // nothing but comments and fields stands before
	for i, l := range lines {
		text := strings.TrimRight(l, " \t\r")
		if i > 0 && i+1 < len(lines) && text == "" {
			continue
		}
		switch {
		case i+1 < len(lines) && isHeading(text, lines[i+1]):
			at := i
			if i > 0 && isRule(lines[i-1]) && strings.TrimRight(lines[i-1], " \t\r") == strings.TrimRight(lines[i+1], " \t\r") {
				at--
			}
			if alone && len(m.headings) == 0 {
				m.title = text
			}
			m.headings = append(m.headings, at)
		case isRule(text), strings.HasPrefix(text, ".. "), text == "", strings.HasPrefix(text, "   "):
		default:
			if f := rstField.FindStringSubmatch(text); f == nil {
				alone = false
			} else if len(m.headings) <= 1 {
				switch strings.ToLower(f[1]) {
				case "author", "authors":
					m.author = f[2]
				case "date":
					m.date = strings.TrimSuffix(strings.TrimPrefix(f[2], "$Date: "), " $")
				}
			}
		}
	}
	return m
}

// isRule reports whether a line consists of one repeated sign.
func isRule(l string) bool {
	l = strings.TrimRight(l, " \t\r")
	return len(l) >= 3 && strings.ContainsRune("=-`:.'\"~^_*+#<>", rune(l[0])) && strings.Trim(l, l[:1]) == ""
}

func isHeading(text, below string) bool {
	return text != "" && text[0] != ' ' && text[0] != '\t' && !isRule(text) && isRule(below) && len(strings.TrimRight(below, " \t\r")) >= len([]rune(strings.TrimSpace(text)))
}

// adocMarks reads AsciiDoc: signs before headings, the lines below the title, and attributes such as :author:.
func adocMarks(lines []string) (m marked) {
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
			m.headings = append(m.headings, i)
			if level == 1 && m.title == "" {
				m.title = head
				if i+1 < len(lines) && lines[i+1] != "" && !strings.ContainsAny(lines[i+1][:1], ":/=[ ") {
					m.author, _, _ = strings.Cut(lines[i+1], "<")
				}
			}
		case f != nil && strings.EqualFold(f[1], "author") && m.author == "":
			m.author = f[2]
		case f != nil && strings.EqualFold(f[1], "revdate") && m.date == "":
			m.date = f[2]
		}
	}
	return m
}

var (
	texHeading = regexp.MustCompile(`^\s*\\(?:(?:part|chapter|section|subsection|subsubsection|paragraph)\*?\s*[\[{]|begin\{document\})`)
	texAbout   = regexp.MustCompile(`^\s*\\(title|author|date)\s*(?:\[[^\]]*\])?\{`)
	texMacro   = regexp.MustCompile(`\\[A-Za-z]+\*?\s*|[{}~]|\\\\`)
)

// texMarks reads LaTeX: commands for headings and the title.
func texMarks(lines []string) (m marked) {
	for i, l := range lines {
		if texHeading.MatchString(l) {
			m.headings = append(m.headings, i)
			continue
		}
		at := texAbout.FindStringSubmatchIndex(l)
		if at == nil {
			continue
		}
		value := braced(l[at[1]:], lines[i+1:])
		if strings.Contains(value, `\today`) {
			value = ""
		}
		value = texMacro.ReplaceAllString(strings.ReplaceAll(value, `\and`, ", "), " ")
		switch l[at[2]:at[3]] {
		case "title":
			m.title = value
		case "author":
			m.author = value
		case "date":
			m.date = value
		}
	}
	return m
}

// braced returns the text up to the closing brace, within ten lines.
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
