package filter

import (
	"bytes"
	"cmp"
	"math"
	"strings"
	"unicode/utf8"
)

// Kind is the type of a metadata value.
type Kind uint8

const (
	Null Kind = iota
	False
	True
	Number
	String
	Empty // an array or object without elements: it only exists
	kinds
)

// scalar is a value: a string as its text, a number as its JSON text.
type scalar struct {
	kind Kind
	text string
}

func (s scalar) write(b *strings.Builder) {
	switch s.kind {
	case Null:
		b.WriteString("null")
	case False:
		b.WriteString("false")
	case True:
		b.WriteString("true")
	case Number:
		b.WriteString(s.text)
	default:
		writeQuoted(b, s.text)
	}
}

func writeQuoted(b *strings.Builder, s string) {
	const hex = "0123456789abcdef"
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c == 0x7f:
			b.WriteString(`\u00`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

// writePath writes a path without quotes if it can be read back so.
func writePath(b *strings.Builder, path string) {
	if r, _ := utf8.DecodeRuneInString(path); startsWord(r) && wordLength(path) == len(path) && !words[strings.ToLower(path)] {
		b.WriteString(path)
		return
	}
	writeQuoted(b, path)
}

// decimal is a number without rounding: ±0.ab · 10^exp, where ab are the digits of a
// followed by those of b. The first and the last digit are not 0. Zero has sign 0.
type decimal struct {
	sign int
	a, b []byte
	exp  int64
}

// maxExponent bounds the exponents of numbers in filters. Exponents in documents are
// capped far above it, which changes no comparison with a filter.
const maxExponent = 1 << 40

// parseDecimal reads a valid JSON number.
func parseDecimal(s []byte) decimal {
	d := decimal{sign: 1}
	if s[0] == '-' {
		d.sign, s = -1, s[1:]
	}
	n := digitRun(s)
	d.a, s = s[:n], s[n:]
	if len(s) > 0 && s[0] == '.' {
		n = digitRun(s[1:])
		d.b, s = s[1:1+n], s[1+n:]
	}
	var e int64
	if len(s) > 0 { // e or E
		s = s[1:]
		negative := s[0] == '-'
		if s[0] == '-' || s[0] == '+' {
			s = s[1:]
		}
		for _, c := range s {
			e = min(e*10+int64(c-'0'), math.MaxInt64/16)
		}
		if negative {
			e = -e
		}
	}
	d.exp = e + int64(len(d.a))
	whole := len(d.a)
	d.a = bytes.TrimLeft(d.a, "0")
	d.exp -= int64(whole - len(d.a))
	if len(d.a) == 0 {
		part := len(d.b)
		d.b = bytes.TrimLeft(d.b, "0")
		d.exp -= int64(part - len(d.b))
	}
	d.b = bytes.TrimRight(d.b, "0")
	if len(d.b) == 0 {
		d.a = bytes.TrimRight(d.a, "0")
	}
	if len(d.a)+len(d.b) == 0 {
		return decimal{}
	}
	return d
}

func digitRun(s []byte) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// ValidNumber reports whether s is a number in JSON's syntax.
func ValidNumber(s string) bool { return len(s) > 0 && numberLength(s) == len(s) }

// numberLength is the length of the JSON number that s starts with, or 0.
func numberLength(s string) int {
	i := 0
	run := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !run() {
		return 0
	}
	end := i
	if i < len(s) && s[i] == '.' {
		i++
		if !run() {
			return end
		}
		end = i
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if run() {
			end = i
		}
	}
	return end
}

// digit returns the i-th digit after the point.
func (d decimal) digit(i int) byte {
	switch {
	case i < len(d.a):
		return d.a[i]
	case i < len(d.a)+len(d.b):
		return d.b[i-len(d.a)]
	}
	return '0'
}

// compare returns -1, 0 or 1 as d is less than, equal to or more than o.
func (d decimal) compare(o decimal) int {
	if d.sign != o.sign || d.sign == 0 {
		return cmp.Compare(d.sign, o.sign)
	}
	if d.exp != o.exp {
		return d.sign * cmp.Compare(d.exp, o.exp)
	}
	for i := range max(len(d.a)+len(d.b), len(o.a)+len(o.b)) {
		if x, y := d.digit(i), o.digit(i); x != y {
			return d.sign * cmp.Compare(x, y)
		}
	}
	return 0
}

// appendKey appends a text that is the same for equal numbers and differs for others.
func (d decimal) appendKey(b []byte) []byte {
	b = append(b, byte(d.sign+1))
	for shift := 0; shift < 64; shift += 8 {
		b = append(b, byte(d.exp>>shift))
	}
	return append(append(b, d.a...), d.b...)
}
