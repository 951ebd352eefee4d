package tokenizer

import (
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unicodeForm is one of the forms NFC, NFD, NFKC and NFKD. The decompositions are those
// of golang.org/x/text, without those that the reference does not know.
type unicodeForm struct {
	*properties
	form      norm.Form
	split     norm.Form // the decomposition: NFD or NFKD
	compose   bool
	unsettled class // what the form may change
}

// unsettledBy is the class of code points that each form may change.
var unsettledBy = [...]class{norm.NFC: unsettledNFC, norm.NFD: unsettledNFD, norm.NFKC: unsettledNFKC, norm.NFKD: unsettledNFKD}

func newUnicodeForm(p *properties, f norm.Form) unicodeForm {
	n := unicodeForm{properties: p, form: f, split: f, unsettled: unsettledBy[f]}
	switch f {
	case norm.NFC:
		n.split, n.compose = norm.NFD, true
	case norm.NFKC:
		n.split, n.compose = norm.NFKD, true
	}
	return n
}

// Hangul syllables are composed and decomposed by arithmetic (Unicode 15.0,
// section 3.12).
const (
	hangulBase, hangulEnd     = 0xAC00, 0xAC00 + 11172
	leadBase, vowelBase, tail = 0x1100, 0x1161, 0x11A7
	leads, vowels, tails      = 19, 21, 28
)

// markForms marks the code points that each form may change.
func markForms(flat []class) {
	second := func(r rune) { flat[r] |= unsettledNFC | unsettledNFKC } // of two that compose
	for r := rune(vowelBase); r < vowelBase+vowels; r++ {
		second(r)
	}
	for r := rune(tail + 1); r < tail+tails; r++ {
		second(r)
	}
	var b []byte
	for r, c := range flat {
		switch {
		case c&isOrdered != 0:
			flat[r] |= unsettledNFC | unsettledNFD | unsettledNFKC | unsettledNFKD
			continue
		case c&isDecomposes == 0:
			continue
		case hangulBase <= r && r < hangulEnd:
			flat[r] |= unsettledNFD | unsettledNFKD
			continue
		}
		b = utf8.AppendRune(b[:0], rune(r))
		for form, bit := range unsettledBy {
			if norm.Form(form).QuickSpan(b) < len(b) { // as IsNormal, which allocates, says of a single one
				flat[r] |= bit
			}
		}
		if d := norm.NFD.Properties(b).Decomposition(); d != nil && norm.NFC.IsNormal(b) {
			last, _ := utf8.DecodeLastRune(d)
			second(last)
		}
	}
}

// normalize rewrites the parts of src that the form may change, and copies the others.
func (n unicodeForm) normalize(dst, src *buffer) bool {
	text := src.text
	s := composer{unicodeForm: n, aligner: aligner{dst: dst, src: src}}
	last := -1 // the last settled code point before i
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i = ascii(text, i)
			last = i - 1
			continue
		}
		c, size := n.next(text[i:])
		if c&n.unsettled == 0 {
			last = i
			i += size
			continue
		}
		lo, all := i, c
		if n.compose && last >= 0 {
			lo = last
		}
		for i += size; i < len(text); i += size {
			if c, size = n.next(text[i:]); c&n.unsettled == 0 {
				break
			}
			all |= c
		}
		if (n.compose || all&isDecomposes == 0) && n.form.QuickSpan(text[lo:i]) == i-lo {
			continue
		}
		dst.copy(src, s.at, lo)
		s.at = lo
		s.rewrite(text[lo:i])
	}
	if s.at == 0 {
		return false
	}
	dst.copy(src, s.at, len(text))
	return true
}

// changed is a code point with its change for aligner.put.
type changed struct {
	r      rune
	change int32
	ccc    uint8
}

// composer decomposes code points, sorts marks and composes again.
type composer struct {
	unicodeForm
	aligner
	list      []changed // what is not in dst yet
	marks     int       // of list: where the marks at its end begin
	unordered bool      // these are out of order
}

// rewrite appends the normal form of text to dst; text must be followed by a settled code
// point or the end.
func (s *composer) rewrite(text []byte) {
	if s.list == nil {
		s.list = make([]changed, 0, 16)
	}
	for i := 0; i < len(text); {
		r, size := decode(text[i:])
		b := text[i : i+size]
		i += size
		if s.of(r)&isDecomposes == 0 {
			s.add(r, 0)
			continue
		}
		if hangulBase <= r && r < hangulEnd {
			x := r - hangulBase
			s.add(leadBase+x/(vowels*tails), 0)
			s.add(vowelBase+x%(vowels*tails)/tails, 1)
			if x%tails != 0 {
				s.add(tail+x%tails, 1)
			}
			continue
		}
		d := s.split.Properties(b).Decomposition()
		if d == nil {
			s.add(r, 0)
		}
		for change := int32(0); len(d) > 0; change = 1 {
			r, size := decode(d)
			s.add(r, change)
			d = d[size:]
		}
	}
	s.order()
	s.flush()
}

// add appends r to the list. A settled code point completes the list before it.
func (s *composer) add(r rune, change int32) {
	c, class := changed{r: r, change: change}, s.of(r)
	if class&isOrdered != 0 {
		var b [utf8.UTFMax]byte
		c.ccc = norm.NFD.Properties(utf8.AppendRune(b[:0], r)).CCC()
	}
	if c.ccc == 0 {
		s.order()
		if class&s.unsettled == 0 {
			s.flush()
		}
		s.marks = len(s.list) + 1
	} else if k := len(s.list); k > s.marks && s.list[k-1].ccc > c.ccc {
		s.unordered = true
	}
	s.list = append(s.list, c)
}

// order sorts the marks at the end of the list by class.
func (s *composer) order() {
	if s.unordered {
		slices.SortStableFunc(s.list[s.marks:], func(a, b changed) int { return int(a.ccc) - int(b.ccc) })
		s.unordered = false
	}
}

// flush composes the list and puts it into dst.
func (s *composer) flush() {
	if s.compose {
		s.join()
	}
	for _, c := range s.list {
		s.put(c.r, int(c.change))
	}
	s.list, s.marks = s.list[:0], 0
}

// join composes code points with the starter before them, unless a mark of the same or a
// higher class is between.
func (s *composer) join() {
	n, starter := 0, -1
	for _, c := range s.list {
		if starter >= 0 && (n == starter+1 || s.list[n-1].ccc < c.ccc) {
			if r, ok := composed(s.list[starter].r, c.r); ok {
				s.list[starter].r = r
				s.list[starter].change += c.change - 1
				continue
			}
		}
		if c.ccc == 0 {
			starter = n
		}
		s.list[n] = c
		n++
	}
	s.list = s.list[:n]
}

// composed returns the code point that a and b make together.
func composed(a, b rune) (rune, bool) {
	if leadBase <= a && a < leadBase+leads && vowelBase <= b && b < vowelBase+vowels {
		return hangulBase + ((a-leadBase)*vowels+b-vowelBase)*tails, true
	}
	if hangulBase <= a && a < hangulEnd && (a-hangulBase)%tails == 0 && tail < b && b < tail+tails {
		return a + b - tail, true
	}
	r, ok := compositions()[uint64(a)<<32|uint64(b)]
	return r, ok
}

// compositions are the pairs that compose, found by decomposing the code points that NFC
// keeps.
var compositions = sync.OnceValue(func() map[uint64]rune {
	p, pairs := unicodeProperties(), map[uint64]rune{}
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if p.of(r)&isDecomposes == 0 || hangulBase <= r && r < hangulEnd {
			continue
		}
		s := string(r)
		d := norm.NFD.String(s)
		if d == s || norm.NFC.String(s) != s {
			continue
		}
		last, size := utf8.DecodeLastRuneInString(d)
		start := []rune(norm.NFC.String(d[:len(d)-size]))
		if len(start) == 1 {
			pairs[uint64(start[0])<<32|uint64(last)] = r
		}
	}
	return pairs
})
