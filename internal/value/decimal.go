package value

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Decimal is a number without rounding: ±0.ab · 10^exp, where ab are the digits of a
// followed by those of b. The first and the last digit are not 0. Zero has sign 0.
type Decimal struct {
	sign int
	a, b []byte
	exp  int64
}

// ParseDecimal reads a valid JSON number.
func ParseDecimal(s []byte) Decimal {
	d := Decimal{sign: 1}
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
		return Decimal{}
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

// digit returns the i-th digit after the point.
func (d Decimal) digit(i int) byte {
	switch {
	case i < len(d.a):
		return d.a[i]
	case i < len(d.a)+len(d.b):
		return d.b[i-len(d.a)]
	}
	return '0'
}

// Exponent is the power of ten by which 0.ab is multiplied.
func (d Decimal) Exponent() int64 { return d.exp }

// Compare returns -1, 0 or 1 as d is less than, equal to or more than o.
func (d Decimal) Compare(o Decimal) int {
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

// AppendKey appends a text that is the same for equal numbers and differs for others.
func (d Decimal) AppendKey(b []byte) []byte {
	b = append(b, byte(d.sign+1))
	for shift := 0; shift < 64; shift += 8 {
		b = append(b, byte(d.exp>>shift))
	}
	return append(append(b, d.a...), d.b...)
}

// Sortable writes a number so that texts are ordered like numbers.
func (d Decimal) Sortable() string {
	if d.sign == 0 {
		return "1"
	}
	const digits = 1000 // of a number with more the rest is left out
	number := fmt.Sprintf("%016x%s%s", uint64(d.exp)^1<<63, d.a, d.b)
	number = number[:min(len(number), 16+digits)]
	if d.sign > 0 {
		return "2" + number
	}
	flipped := []byte(number)
	for i, c := range flipped {
		if i < 16 {
			flipped[i] = hexDigits[15-strings.IndexByte(hexDigits, c)]
		} else {
			flipped[i] = '0' + '9' - c
		}
	}
	return "0" + string(flipped) + "~" // above every digit: -.12 is more than -.123
}

const hexDigits = "0123456789abcdef"

// PlainNumber converts the result of Sortable to a JSON number.
func PlainNumber(s string) (string, bool) {
	if s == "1" {
		return "0", true
	}
	if len(s) < 18 || len(s) >= 17+1000 {
		return "", false
	}
	number, minus := []byte(s[1:]), ""
	if s[0] == '0' {
		number, minus = number[:len(number)-1], "-"
		for i, c := range number {
			if i < 16 {
				h := strings.IndexByte(hexDigits, c)
				if h < 0 {
					return "", false
				}
				number[i] = hexDigits[15-h]
			} else {
				number[i] = '0' + '9' - c
			}
		}
	}
	e, err := strconv.ParseUint(string(number[:16]), 16, 64)
	if err != nil {
		return "", false
	}
	digits, exp := string(number[16:]), int64(e^1<<63)
	n := int64(len(digits))
	switch {
	case exp > 0 && exp < n:
		return minus + digits[:exp] + "." + digits[exp:], true
	case exp >= n && exp <= 21:
		return minus + digits + strings.Repeat("0", int(exp-n)), true
	case exp <= 0 && exp > -6:
		return minus + "0." + strings.Repeat("0", int(-exp)) + digits, true
	}
	return fmt.Sprintf("%s%se%d", minus, digits, exp-n), true
}

// ValidNumber reports whether s is a number in JSON's syntax.
func ValidNumber(s string) bool { return len(s) > 0 && NumberLength(s) == len(s) }

// NumberLength is the length of the JSON number that s starts with, or 0.
func NumberLength(s string) int {
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
