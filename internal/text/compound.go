package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRuns bounds the parts of a compound; the rest of a longer one becomes the next compound.
const maxRuns = 32

// joints join two words to a compound if they are between them without a space; the last sign of a joint
// decides its kind.
var joints = []string{"://", "::", "->", ":\\", ":/", "_", ".", "-", "/", "\\", ":", "@", "+", "&", "=", "#", "\u2010", "\u2011"}

// begins holds the bytes with which a joint can begin: most words end at a space.
var begins = func() (is [256]bool) {
	for _, j := range joints {
		is[j[0]] = true
	}
	return is
}()

// joint returns the length of the joint at the front of s, or 0.
func joint(s string) int {
	if !begins[s[0]] {
		return 0
	}
	for _, j := range joints {
		if strings.HasPrefix(s, j) {
			return len(j)
		}
	}
	return 0
}

// compound reads words from i on as long as signs join them, adds their terms
// and returns where they end.
func (sc *scanner) compound(i int) int {
	sc.runs, sc.join = sc.runs[:0], sc.join[:0]
	for {
		r := sc.run(i)
		if end := sc.thousands(r); end > r.end && len(sc.runs) == 0 {
			sc.number(r.start, end)
			return end
		}
		sc.runs = append(sc.runs, r)
		if r.end == len(sc.s) || len(sc.runs) == maxRuns {
			break
		}
		n := joint(sc.s[r.end:])
		if n == 0 || r.end+n == len(sc.s) {
			break
		}
		if c, size := decode(sc.s[r.end+n:]); classOf(c, size) != classWord {
			break
		}
		sign := sc.s[r.end+n-1]
		if sign >= utf8.RuneSelf {
			sign = '-'
		}
		sc.join = append(sc.join, sign)
		i = r.end + n
	}
	end := sc.runs[len(sc.runs)-1].end
	switch {
	case len(sc.runs) == 1:
		if e := sc.signed(end); e > end {
			sc.add(sc.form(sc.runs[0].start, e), sc.runs[0].start, e, true, 1)
			end = e
		}
		sc.camel(sc.runs[0], 1)
	case sc.justHyphens():
		short := false
		for _, r := range sc.runs {
			sc.camel(r, 1)
			short = short || r.end-r.start <= shortPart
		}
		if n := end - sc.runs[0].start; n <= shortJoined || short && n <= longJoined {
			sc.joined(joinedWeight)
		}
	default:
		sc.identifier()
	}
	return end
}

// signed returns the end of a name such as C++ or F#; end is the end of its letters.
func (sc *scanner) signed(end int) int {
	if r := sc.runs[0]; r.end-r.start > 2 {
		return end
	}
	rest := sc.s[end:]
	for _, sign := range []string{"++", "#"} {
		if after, ok := strings.CutPrefix(rest, sign); ok {
			if after != "" {
				if c, n := decode(after); classOf(c, n) != classOther {
					return end
				}
			}
			return end + len(sign)
		}
	}
	return end
}

// justHyphens: a compound such as well-known is two words and not a name.
func (sc *scanner) justHyphens() bool {
	for _, c := range sc.join {
		if c != '-' {
			return false
		}
	}
	for _, r := range sc.runs {
		if !r.letters {
			return false
		}
	}
	return true
}

// identifier adds a compound: the whole, the steps of a path that are compounds themselves, and the words.
// The words together weigh as much as the whole, so a text with the exact code ranks above texts with its
// words.
func (sc *scanner) identifier() {
	part := 1 / float32(len(sc.runs))
	last := len(sc.runs) - 1
	sc.whole(0, last, 1, part)
	from := 0
	for i := 0; i <= last; i++ {
		if i < last && (sc.join[i] == '_' || sc.join[i] == '.' || sc.join[i] == '-') {
			continue
		}
		if i > from && i-from < last {
			sc.whole(from, i, part, part)
		}
		from = i + 1
	}
	for _, r := range sc.runs {
		sc.camel(r, part)
	}
	if last == 1 && sc.join[0] == '-' && sc.runs[0].letters != sc.runs[1].letters {
		sc.joined(part)
	}
}

// Short words joined by hyphens are also written as one, and so are letters and a number: Wi-Fi and wifi, e-mail and
// email, GPT-4 and GPT4. Texts and queries have both forms. For longer words there would be many such forms, which
// are rarely used.
const (
	shortPart    = 3 // bytes
	shortJoined  = 9 // with hyphens
	longJoined   = 24
	joinedWeight = 0.3
)

// joined adds the words of a compound as one additional term.
func (sc *scanner) joined(weight float32) {
	var b strings.Builder
	letters := true
	for _, r := range sc.runs {
		b.WriteString(sc.form(r.start, r.end))
		letters = letters && r.letters
	}
	sc.stemmed(b.String(), sc.runs[0].start, sc.runs[len(sc.runs)-1].end, letters, true, weight)
}

// thousands returns the end of a number such as 1,000,000 that begins with a run, or r.end if there is none.
func (sc *scanner) thousands(r run) int {
	digits := func(from int) (n int) {
		for from+n < len(sc.s) && '0' <= sc.s[from+n] && sc.s[from+n] <= '9' {
			n++
		}
		return n
	}
	end := r.end
	if n := digits(r.start); r.start+n != end || n > 3 {
		return end
	}
	for end < len(sc.s) && sc.s[end] == ',' {
		n := digits(end + 1)
		if n == 0 {
			break
		}
		if n != 3 {
			return r.end // a list of numbers
		}
		end += 4
	}
	if end > r.end && end < len(sc.s) {
		if c, n := decode(sc.s[end:]); classOf(c, n) == classWord {
			return r.end
		}
	}
	return end
}

// number adds a number without its commas. A document also gets its parts between the commas as additional
// terms.
func (sc *scanner) number(start, end int) {
	s := sc.s[start:end]
	sc.add(strings.ReplaceAll(s, ",", ""), start, end, false, 1)
	for at := start; !sc.asked && at < end; {
		n := strings.IndexByte(sc.s[at:end], ',')
		if n < 0 {
			n = end - at
		}
		sc.add(sc.s[at:at+n], at, at+n, true, 1)
		at += n + 1
	}
}

// whole adds the runs from from to to as one term; v1.2 is also added as 1.2.
func (sc *scanner) whole(from, to int, weight, part float32) {
	start, end := sc.runs[from].start, sc.runs[to].end
	w := sc.form(start, end)
	sc.add(w, start, end, true, weight)
	if len(w) > 2 && w[0] == 'v' && '0' <= w[1] && w[1] <= '9' {
		sc.add(w[1:], start+1, end, true, part)
	}
}

// camel adds a run as a word, and the pieces of a camelCase word as additional terms.
func (sc *scanner) camel(r run, weight float32) {
	sc.word(r.start, r.end, r.letters, false, weight)
	if !r.camel {
		return
	}
	pieces := make([]int, 0, 8) // starts
	var before, last rune
	lastAt := r.start
	for i, c := range sc.s[r.start:r.end] {
		at := r.start + i
		switch {
		case i == 0:
			pieces = append(pieces, at)
		case unicode.IsUpper(c) && unicode.IsLower(last):
			pieces = append(pieces, at)
		case unicode.IsLower(c) && unicode.IsUpper(last) && unicode.IsUpper(before) && lastAt > pieces[len(pieces)-1]:
			pieces = append(pieces, lastAt)
		}
		before, last, lastAt = last, c, at
	}
	if len(pieces) > maxRuns {
		return // no name, but noise such as base64
	}
	share := weight / float32(len(pieces))
	for i, at := range pieces {
		end := r.end
		if i+1 < len(pieces) {
			end = pieces[i+1]
		}
		sc.word(at, end, r.letters, true, share)
	}
}
