package tokenizer

import (
	"regexp/syntax"
	"unicode/utf8"
)

// repeated matches a set of code points repeated within limits, as often as possible:
// patterns such as \d, \s+ and " {2,}".
type repeated struct {
	set      runeSet
	min, max int // max is -1 for any number
}

// newRepeated reads an expression of package regexp; ok is false if it has another form.
func newRepeated(expr string) (*repeated, bool) {
	e, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, false
	}
	m := &repeated{min: 1, max: 1}
	if e.Flags&syntax.NonGreedy == 0 {
		switch e.Op {
		case syntax.OpPlus:
			m.max = -1
			e = e.Sub[0]
		case syntax.OpRepeat:
			m.min, m.max = e.Min, e.Max
			e = e.Sub[0]
		}
	}
	switch {
	case m.min < 1:
		return nil, false
	case e.Op == syntax.OpLiteral && len(e.Rune) == 1 && e.Flags&syntax.FoldCase == 0:
		m.set.add(e.Rune[0], e.Rune[0])
	case e.Op == syntax.OpCharClass:
		for i := 0; i < len(e.Rune); i += 2 {
			m.set.add(e.Rune[i], e.Rune[i+1])
		}
	default:
		return nil, false
	}
	return m, true
}

func (m *repeated) find(text []byte, at int) (lo, hi int) {
	for at < len(text) {
		n := 0
		lo = at
		for at < len(text) && n != m.max {
			r, size := rune(text[at]), 1
			if r >= utf8.RuneSelf {
				r, size = decode(text[at:])
			}
			if !m.set.has(r) {
				if n < m.min {
					at += size
				}
				break
			}
			at += size
			n++
		}
		if n >= m.min {
			return lo, at
		}
	}
	return -1, -1
}

// runeSet is a set of code points, 256 a page.
type runeSet [utf8.MaxRune>>8 + 1]*[256]bool

// add puts the code points from lo to hi into s.
func (s *runeSet) add(lo, hi rune) {
	for r := lo; r <= hi; r++ {
		page := &s[r>>8]
		if *page == nil {
			*page = new([256]bool)
		}
		(*page)[r&0xff] = true
	}
}

// has reports whether r, a code point, is in s.
func (s *runeSet) has(r rune) bool {
	page := s[r>>8]
	return page != nil && page[r&0xff]
}
