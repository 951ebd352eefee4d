package files

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/internal/place"
)

// readMarkdown reads one document. Its title is that of the front matter, else the first
// level-1 heading, which is removed if the text begins with it.
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
	heads := place.Headings(body)
	begin := 0 // of the text in the body
	if i := firstOfLevel(heads, 1); i >= 0 {
		h := heads[i]
		leads := blank(body[:h.At]) && !blank(body[h.End:])
		switch {
		case rec.Title == "" && leads, rec.Title == h.Text && leads:
			rec.Title = h.Text
			begin = h.End
		case rec.Title == "" && !blank(body[:h.At]):
			rec.Title = h.Text
		}
	}
	if begin > 0 || len(body) < len(text) {
		begin += len(body[begin:]) - len(strings.TrimLeft(body[begin:], "\n"))
	}
	rec.Text = body[begin:]
	for _, h := range heads {
		if at := h.At - begin; at > 0 && !blank(rec.Text[:at]) {
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

func firstOfLevel(heads []place.Heading, level int) int {
	for i, h := range heads {
		if h.Level == level {
			return i
		}
	}
	return -1
}
