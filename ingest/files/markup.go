package files

import (
	"github.com/lexsem/lexsem/internal/place"
)

// mark adds to a text the breaks, the title and the metadata of its markup.
func (r *Record) mark(name string) {
	m, ok := place.MarkupOf(place.Extension(name), r.Text)
	if !ok {
		return
	}
	r.Title = property(m.Title)
	r.say("author", m.Author)
	r.say("date", m.Date)
	for _, h := range m.Headings {
		if h.At > 0 && h.At < len(r.Text) && !blank(r.Text[:h.At]) && (len(r.Breaks) == 0 || h.At > r.Breaks[len(r.Breaks)-1]) {
			r.Breaks = append(r.Breaks, h.At)
		}
	}
}
