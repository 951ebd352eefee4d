package tokenizer

import "slices"

// span is a range of a buffer's text.
type span struct{ lo, hi int32 }

// pieces are the parts into which pre-tokenizers cut a text: non-empty ranges of buf, in
// order.
type pieces struct {
	buf, spare *buffer
	cuts, next []span
	segments   []segment
}

// segment is a match of a pattern, or the text between two matches.
type segment struct {
	span
	match bool
}

// preTokenizer cuts the pieces of p into smaller ones, and may rewrite their text.
type preTokenizer interface {
	cut(p *pieces)
}

// behaviour says what becomes of the matches of a pattern.
type behaviour int

const (
	removed behaviour = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

// split cuts at matches of pattern, or with invert at the text between them.
type split struct {
	pattern   matcher
	behaviour behaviour
	invert    bool
}

func (s split) cut(p *pieces) {
	p.next = p.next[:0]
	for _, c := range p.cuts {
		text := p.buf.text[:c.hi]
		switch s.behaviour {
		case removed:
			p.add(s.pattern, text, c, s.invert, !s.invert)
		case isolated:
			p.add(s.pattern, text, c, true, true)
		default:
			p.find(s.pattern, text, c, s.invert)
			p.join(s.behaviour)
		}
	}
	p.cuts, p.next = p.next, p.cuts
}

// add adds the matches in c, the text between them, or both.
func (p *pieces) add(m matcher, text []byte, c span, matches, gaps bool) {
	at := int(c.lo)
	for at < len(text) {
		lo, hi := m.find(text, at)
		if lo < 0 {
			break
		}
		if gaps && lo > at {
			p.next = append(p.next, span{int32(at), int32(lo)})
		}
		if matches {
			p.next = append(p.next, span{int32(lo), int32(hi)})
		}
		at = hi
	}
	if gaps && at < len(text) {
		p.next = append(p.next, span{int32(at), c.hi})
	}
}

// find sets p.segments to the segments of c.
func (p *pieces) find(m matcher, text []byte, c span, invert bool) {
	p.segments = p.segments[:0]
	at := int(c.lo)
	for at < len(text) {
		lo, hi := m.find(text, at)
		if lo < 0 {
			break
		}
		if lo > at {
			p.segments = append(p.segments, segment{span{int32(at), int32(lo)}, invert})
		}
		p.segments = append(p.segments, segment{span{int32(lo), int32(hi)}, !invert})
		at = hi
	}
	if at < len(text) {
		p.segments = append(p.segments, segment{span{int32(at), c.hi}, invert})
	}
}

// join adds p.segments, and merges matches with their neighbours as b says.
func (p *pieces) join(b behaviour) {
	last := segment{} // the one before, and it is no match
	for i, s := range p.segments {
		merge := false
		switch b {
		case contiguous:
			merge = i > 0 && s.match == last.match
		case mergedWithPrevious:
			merge = i > 0 && s.match && !last.match
		case mergedWithNext:
			merge = i > 0 && !s.match && last.match
		}
		if merge {
			p.next[len(p.next)-1].hi = s.hi
		} else {
			p.next = append(p.next, s.span)
		}
		last = s
	}
}

// metaspace makes blanks a mark and cuts before each mark.
type metaspace struct {
	mark   string
	always bool // puts a mark before every piece that has none
	first  bool // or before the one at the start of the text
	split  bool
}

func (m metaspace) cut(p *pieces) {
	src, dst := p.buf, p.spare
	p.next = p.next[:0]
	// Blanks become marks: at most each byte becomes one, and one is put before each piece.
	size := (len(src.text) + len(p.cuts)) * len(m.mark)
	text, from := slices.Grow(dst.text[:0], size)[:size], slices.Grow(dst.from[:0], size)[:size]
	n := 0
	for _, c := range p.cuts {
		in, places := src.text[c.lo:c.hi], src.from[c.lo:c.hi]
		start := n
		if (m.always || m.first && places[0] == 0) && !m.begins(in) {
			n += put(text[n:], from[n:], m.mark, places[0])
		}
		for len(in) > 0 {
			end := m.end(in)
			if in[0] == ' ' {
				n += put(text[n:], from[n:], m.mark, places[0])
				in, places = in[1:], places[1:]
				end--
			}
			copy(text[n:], in[:end])
			copy(from[n:], places[:end])
			n += end
			in, places = in[end:], places[end:]
			if m.split || len(in) == 0 {
				p.next = append(p.next, span{int32(start), int32(n)})
				start = n
			}
		}
	}
	dst.text, dst.from = text[:n], from[:n]
	p.cuts, p.next = p.next, p.cuts
	p.buf, p.spare = dst, src
}

// end is the position of the next blank or mark after the first byte of text, or its
// length.
func (m metaspace) end(text []byte) int {
	first := m.mark[0]
	for i := 1; i < len(text); i++ {
		if b := text[i]; (b == ' ' || b == first) && m.begins(text[i:]) {
			return i
		}
	}
	return len(text)
}

// begins reports whether text, which must not be empty, begins with a blank or a mark.
func (m metaspace) begins(text []byte) bool {
	return text[0] == ' ' || text[0] == m.mark[0] && string(text[:min(len(m.mark), len(text))]) == m.mark
}

// byteLevel puts a blank before each piece without one, if the file asks for it. The
// model itself maps bytes to letters, since it stores its vocabulary as bytes.
type byteLevel struct{}

func (byteLevel) cut(p *pieces) {
	need := false
	for _, c := range p.cuts {
		need = need || p.buf.text[c.lo] != ' '
	}
	if !need {
		return
	}
	src, dst := p.buf, p.spare
	dst.reset()
	p.next = p.next[:0]
	for _, c := range p.cuts {
		start := len(dst.text)
		if src.text[c.lo] != ' ' {
			dst.puts(" ", src.from[c.lo])
		}
		dst.copy(src, int(c.lo), int(c.hi))
		p.next = append(p.next, span{int32(start), int32(len(dst.text))})
	}
	p.cuts, p.next = p.next, p.cuts
	p.buf, p.spare = dst, src
}
