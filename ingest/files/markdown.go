package files

import (
	"encoding/json"
	"fmt"
	"strings"
)

// readMarkdown reads one document. Its title is that of the front matter, else the
// first level-1 heading, which is taken out of the text where the text begins with it.
func readMarkdown(s *File) error {
	text, err := s.whole()
	if err != nil {
		return err
	}
	text = withoutData(text)
	matter, body := s.frontMatter(text)
	rec := Record{Verbatim: true}
	rec.Metadata = matter
	switch t := matter["title"].(type) {
	case string, json.Number, int64, float64, bool:
		if rec.Title = fmt.Sprint(t); blank(rec.Title) {
			rec.Title = ""
		} else {
			delete(matter, "title")
		}
	}
	if len(matter) == 0 {
		rec.Metadata = nil
	}
	heads := headings(body)
	begin := 0 // of the text in the body
	if i := firstOfLevel(heads, 1); i >= 0 {
		h := heads[i]
		leads := blank(body[:h.at]) && !blank(body[h.end:])
		switch {
		case rec.Title == "" && leads, rec.Title == h.text && leads:
			rec.Title = h.text
			begin = h.end
		case rec.Title == "" && !blank(body[:h.at]):
			rec.Title = h.text
		}
	}
	if begin > 0 || len(body) < len(text) {
		begin += len(body[begin:]) - len(strings.TrimLeft(body[begin:], "\n"))
	}
	rec.Text = body[begin:]
	for _, h := range heads {
		if at := h.at - begin; at > 0 && !blank(rec.Text[:at]) {
			rec.Breaks = append(rec.Breaks, at)
		}
	}
	rec.From = 1 + strings.Count(text[:len(text)-len(rec.Text)], "\n")
	rec.To = lastLine(rec.From, rec.Text)
	if rec.Text == "" { // a title alone
		rec.From, rec.To, rec.Verbatim = 1, lastLine(1, text), false
	}
	return s.One(rec)
}

// heading is one of a Markdown text: the bytes [at, end) with their line ends.
type heading struct {
	at, end int
	level   int
	text    string
}

func firstOfLevel(heads []heading, level int) int {
	for i, h := range heads {
		if h.level == level {
			return i
		}
	}
	return -1
}

// headings finds the headings that stand outside of code and HTML blocks, in one
// pass over the lines. It knows the headings of CommonMark with a # before them, and
// those of one line with = or - below.
func headings(text string) []heading {
	var out []heading
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
		case blank(trimmed):
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
			out = append(out, heading{at, next, level, title})
			paragraph = false
			continue
		}
		if level := underline(trimmed); level > 0 && prev != "" {
			out = append(out, heading{aboveAt, next, level, strings.TrimSpace(prev)})
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

// htmlEnding is what ends the HTML block that a line opens and leaves open: one in
// which blank lines and # mean nothing.
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

// hashHeading reads "## Title ##"; level 0 is no heading.
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
