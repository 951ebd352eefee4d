package place

import "strings"

// Heading is a heading of a Markdown text: the bytes [At, End) with their line ends.
type Heading struct {
	At, End int
	Level   int
	Text    string
}

// Headings finds the headings outside of code and HTML blocks, in one pass over the
// lines. It knows the headings of CommonMark with a # before them, and one-line headings
// with a line of = or - below.
func Headings(text string) []Heading {
	var out []Heading
	var fence string  // of the code block that is open
	var ending string // of the HTML block that is open
	var above string  // the line before, if it may be a heading with a line below
	aboveAt, paragraph := 0, false
	for at, next := 0, 0; at < len(text); at = next {
		next = len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := strings.TrimRight(text[at:next], "\n")
		trimmed := strings.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		prev := above
		above = ""
		switch {
		case ending != "":
			if strings.Contains(strings.ToLower(line), ending) {
				ending = ""
			}
			continue
		case fence != "":
			if indent < 4 && strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]+" \t") == "" {
				fence = ""
			}
			continue
		case strings.TrimSpace(trimmed) == "":
			paragraph = false
			continue
		case indent >= 4 || trimmed[0] == '\t':
			continue // code, or more of a paragraph
		}
		if f := fenceOf(trimmed); f != "" {
			fence, paragraph = f, false
			continue
		}
		if e := htmlEnding(trimmed); e != "" {
			ending, paragraph = e, false
			continue
		}
		if level, title := hashHeading(trimmed); level > 0 {
			out = append(out, Heading{at, next, level, title})
			paragraph = false
			continue
		}
		if level := underline(trimmed); level > 0 && prev != "" {
			out = append(out, Heading{aboveAt, next, level, strings.TrimSpace(prev)})
			paragraph = false
			continue
		}
		if !paragraph && !strings.ContainsRune("-+*>|<=0123456789", rune(trimmed[0])) {
			above, aboveAt = line, at
		}
		paragraph = true
	}
	return out
}

// fenceOf is the run of ` or ~ that opens a block of code.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

// htmlEnding is the end mark of the HTML block that a line opens and does not close, if
// blank lines and # have no meaning in it.
func htmlEnding(line string) string {
	if line[0] != '<' {
		return ""
	}
	low := strings.ToLower(line)
	for _, b := range [][2]string{{"<!--", "-->"}, {"<pre", "</pre>"}, {"<script", "</script>"}, {"<style", "</style>"}, {"<textarea", "</textarea>"}} {
		if strings.HasPrefix(low, b[0]) && !strings.Contains(low, b[1]) {
			return b[1]
		}
	}
	return ""
}

// hashHeading reads "## Title ##"; level 0 means that the line is not a heading.
func hashHeading(line string) (level int, title string) {
	rest := strings.TrimLeft(line, "#")
	level = len(line) - len(rest)
	if level < 1 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	title = strings.TrimSpace(rest)
	if open := strings.TrimRight(title, "#"); open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		title = strings.TrimSpace(open)
	}
	return level, title
}

// underline is the level of the heading above a line of = or -, 0 for other lines.
func underline(line string) int {
	line = strings.TrimRight(line, " \t")
	switch {
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}
