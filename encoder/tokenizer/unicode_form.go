package tokenizer

import (
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unicodeForm is one of the forms NFC, NFD, NFKC and NFKD. The decompositions
// are those of golang.org/x/text, less those that the reference does not know.
type unicodeForm struct {
	*properties
	form    norm.Form
	split   norm.Form // the decomposition: NFD or NFKD
	compose bool
}

// changed is a code point with the change that aligner.put takes.
type changed struct {
	r      rune
	change int32
	ccc    uint8
}

// Hangul syllables are composed and decomposed by arithmetic (Unicode 15.0,
// section 3.12).
const (
	hangulBase, hangulEnd     = 0xAC00, 0xAC00 + 11172
	leadBase, vowelBase, tail = 0x1100, 0x1161, 0x11A7
	leads, vowels, tails      = 19, 21, 28
)

func (n unicodeForm) normalize(dst, src *buffer) bool {
	if n.form.IsNormal(src.text) {
		return false
	}
	a := aligner{dst: dst, src: src}
	var run []changed // a starter and the marks behind it
	var held changed  // the starter that is being composed
	has := false
	var marks []changed
	release := func() {
		if has {
			a.put(held.r, int(held.change))
		}
		for _, m := range marks {
			a.put(m.r, int(m.change))
		}
		has, marks = false, marks[:0]
	}
	// flush sorts a run and emits or composes it.
	flush := func() {
		k := 0
		if len(run) > 0 && run[0].ccc == 0 {
			k = 1
		}
		slices.SortStableFunc(run[k:], func(a, b changed) int { return int(a.ccc) - int(b.ccc) })
		for _, c := range run {
			switch {
			case !n.compose:
				a.put(c.r, int(c.change))
			case !has && c.ccc != 0:
				a.put(c.r, int(c.change))
			case !has:
				held, has = c, true
			default:
				blocked := len(marks) > 0 && marks[len(marks)-1].ccc >= c.ccc
				if !blocked {
					if r, ok := composed(n.properties, held.r, c.r); ok {
						held.r, held.change = r, held.change+c.change-1
						continue
					}
				}
				if c.ccc != 0 {
					marks = append(marks, c)
					continue
				}
				release()
				held, has = c, true
			}
		}
		run = run[:0]
	}
	for i := 0; i < len(src.text); {
		r, size := utf8.DecodeRune(src.text[i:])
		first := int32(0)
		n.decompose(r, src.text[i:i+size], func(d rune) {
			c := changed{d, first, n.combining(d)}
			if c.ccc == 0 {
				flush()
			}
			run = append(run, c)
			first = 1
		})
		i += size
	}
	flush()
	release()
	return true
}

// decompose calls put for each code point that r, encoded as b, stands for.
func (n unicodeForm) decompose(r rune, b []byte, put func(rune)) {
	switch {
	case n.of(r)&isDecomposes == 0:
		put(r)
	case hangulBase <= r && r < hangulEnd:
		x := r - hangulBase
		put(leadBase + x/(vowels*tails))
		put(vowelBase + x%(vowels*tails)/tails)
		if x%tails != 0 {
			put(tail + x%tails)
		}
	default:
		d := n.split.Properties(b).Decomposition()
		if d == nil {
			put(r)
		}
		for len(d) > 0 {
			q, size := utf8.DecodeRune(d)
			put(q)
			d = d[size:]
		}
	}
}

// combining is the canonical combining class of r.
func (n unicodeForm) combining(r rune) uint8 {
	if n.of(r)&isOrdered == 0 {
		return 0
	}
	var b [utf8.UTFMax]byte
	return norm.NFD.Properties(utf8.AppendRune(b[:0], r)).CCC()
}

// composed returns the code point that a and b make together.
func composed(p *properties, a, b rune) (rune, bool) {
	if leadBase <= a && a < leadBase+leads && vowelBase <= b && b < vowelBase+vowels {
		return hangulBase + ((a-leadBase)*vowels+b-vowelBase)*tails, true
	}
	if hangulBase <= a && a < hangulEnd && (a-hangulBase)%tails == 0 && tail < b && b < tail+tails {
		return a + b - tail, true
	}
	r, ok := compositions()[[2]rune{a, b}]
	return r, ok
}

// compositions are the pairs that compose, found by taking apart what stands
// for itself in NFC.
var compositions = sync.OnceValue(func() map[[2]rune]rune {
	p, pairs := unicodeProperties(), map[[2]rune]rune{}
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
			pairs[[2]rune{start[0], last}] = r
		}
	}
	return pairs
})
