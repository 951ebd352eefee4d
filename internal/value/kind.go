// Package value has the values of metadata, as filters, sorts, counts and boosts read them: their kinds, numbers without
// rounding, and timestamps. [Each] finds those at a path.
package value

import (
	"encoding/json"
	"math"
	"strconv"
)

// Kind is the type of a metadata value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	False
	True
	Number
	String
	Empty // an array or object without elements: it only exists
	Kinds // their number
)

// Value returns the value with a text, in the form of a Facet. For Empty, which is not a value, ok is false.
func (k Kind) Value(text []byte) (v any, ok bool) {
	switch k {
	case Null:
		return nil, true
	case False, True:
		return k == True, true
	case Number:
		return json.Number(text), true
	case String:
		return string(text), true
	}
	return nil, false
}

// Key returns a text that is the same for equal values: for 1 and 1.0, but not for 1 and "1". Keys are in the order
// of null, false, true, numbers and strings, and then of the values.
func (k Kind) Key(text []byte) string {
	if k == Number {
		return string(rune(k)) + ParseDecimal(text).Sortable()
	}
	return string(rune(k)) + string(text)
}

// Order returns a text that sorts values as ranges compare them: like Key, except that timestamps are sorted by
// instant and come before other strings.
func (k Kind) Order(text []byte) string {
	if k != String {
		return k.Key(text)
	}
	if t, ok := ToInstant(string(text)); ok {
		return string(rune(k)) + "0" + t.Sortable()
	}
	return string(rune(k)) + "1" + string(text)
}

// Number is the value as a number, with true as 1 and false as 0.
func (k Kind) Number(text []byte) (x float64, ok bool) {
	switch k {
	case False, True:
		return float64(k - False), true
	case Number:
		x, err := strconv.ParseFloat(string(text), 64)
		return x, err == nil || math.IsInf(x, 0)
	}
	return 0, false
}

// milliseconds is the number from which a value counts milliseconds since 1970 instead of seconds: as
// seconds, the year 5138.
const milliseconds = 1e11

// Seconds converts a value to an instant, in seconds since 1970. A string is a timestamp; a number is seconds, or
// milliseconds.
func (k Kind) Seconds(text []byte) (x float64, ok bool) {
	switch k {
	case Number:
		if x, ok = k.Number(text); x >= milliseconds {
			x /= 1000
		}
		return x, ok
	case String:
		t, ok := ToInstant(string(text))
		return float64(t.seconds) + float64(t.nanos)/1e9, ok
	}
	return 0, false
}
