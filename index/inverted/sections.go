package inverted

import "github.com/lexsem/lexsem/internal/section"

// sections writes sections whose lengths are not known before.
type sections struct {
	w   *section.Writer
	buf []byte // payload of the section in progress
}

// cut ends the section in progress if it is long enough, or last.
func (s *sections) cut(tag string, last bool) {
	if last || len(s.buf) >= sectionSize {
		s.w.Whole(tag, s.buf)
		s.buf = s.buf[:0]
	}
}

// parser reads what sections wrote.
type parser struct{ *section.Reader }

func (r parser) section(tag string) parser { return parser{r.Section(tag)} }
