package filter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Values returns the facts that give a path a value that Value supports: a string of up to 2,000
// bytes, a number, true or false.
func Values(facts []string, path string) []string {
	front := pathEscapes.Replace(path) + pathEnd
	var of []string
	for _, f := range facts {
		if !strings.HasPrefix(f, front) {
			continue
		}
		if _, err := Value(f); err == nil {
			of = append(of, f)
		}
	}
	return of
}

// Value returns the filter for a fact of Values: the path has that value.
func Value(fact string) (Filter, error) {
	path, value, ok := strings.Cut(fact, pathEnd)
	none := fmt.Errorf("fact %q is not one of a value", fact)
	if !ok || value == "" {
		return Filter{}, none
	}
	path = pathPlain.Replace(path)
	kind, value := value[0], value[1:]
	var v any
	switch kind {
	case 't', 'f':
		v = kind == 't'
	case 's':
		if len(value) > longFact {
			return Filter{}, none
		}
		v = value
	case 'n':
		n, ok := plainNumber(value)
		if !ok {
			return Filter{}, none
		}
		v = json.Number(n)
	default:
		return Filter{}, none
	}
	if path == idPath {
		path = ownID
	}
	f := Eq(path, v)
	return f, f.Err()
}

var pathPlain = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")

// plainNumber converts the result of sortable to a JSON number.
func plainNumber(s string) (string, bool) {
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

// Demanded returns, as facts, the values of a path that every document that meets f must have.
// They come from conditions that only one value meets. And combines them; Or keeps those that
// both sides demand. It returns the errors of Condition.Facts.
func Demanded(f Filter, path string) ([]string, error) { return Answer(f, demanded(path)) }

// demanded is an algebra that computes which values a filter demands of a path.
type demanded string

func (demanded) All(bool) ([]string, error)     { return nil, nil }
func (demanded) Not([]string) ([]string, error) { return nil, nil }
func (demanded) And(a, b []string) ([]string, error) {
	a = append(a, b...)
	slices.Sort(a)
	return slices.Compact(a), nil
}
func (demanded) Or(a, b []string) ([]string, error) {
	return slices.DeleteFunc(a, func(f string) bool { return !slices.Contains(b, f) }), nil
}
func (demanded) WhereID(*Condition) ([]string, error) { return nil, nil }
func (d demanded) Where(c *Condition) ([]string, error) {
	if c.Path() != string(d) || c.Beneath() {
		return nil, nil
	}
	ranges, err := c.Facts()
	ranges = slices.Compact(ranges) // of in [2, 2.0]
	if err != nil || len(ranges) != 1 || ranges[0].From != ranges[0].To || ranges[0].FromOpen || ranges[0].ToOpen {
		return nil, err
	}
	return []string{ranges[0].From}, nil
}
