package filter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/lexsem/lexsem/internal/fault"
)

// Facet is a value of a metadata field, and how many documents have it.
type Facet struct {
	// Value is a string, a json.Number, true, false, or nil for null.
	Value any `json:"value"`
	Count int `json:"count"`
}

// MaxFacets is the maximum number of facets of one call.
const MaxFacets = 1_000

// FacetsOf returns the metadata path of a filter field, and the number of facets that k means; 0 means 10. Errors:
// ErrInvalid for an invalid field or k.
func FacetsOf(field string, k int) (path string, most int, err error) {
	switch {
	case field == "":
		return "", 0, fmt.Errorf("%w: no field to count by; name a field of the metadata", fault.ErrInvalid)
	case k < 0 || k > MaxFacets:
		return "", 0, fmt.Errorf("%w: %d values to count; use 1 to %d", fault.ErrInvalid, k, MaxFacets)
	}
	path, err = PathOf(field)
	return path, cmp.Or(k, 10), err
}

// PathOf returns the metadata path of a filter field. Errors: ErrInvalid for the document's id.
func PathOf(field string) (string, error) {
	switch field {
	case idPath:
		return "", fmt.Errorf("%w: each document has its own id; name a field of the metadata, or %s for one of that name", fault.ErrInvalid, ownID)
	case ownID:
		return idPath, nil
	}
	return field, nil
}

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
		return string(rune(k)) + parseDecimal(text).sortable()
	}
	return string(rune(k)) + string(text)
}

// Order returns a text that sorts values as ranges compare them: like Key, except that timestamps are sorted by
// instant and come before other strings.
func (k Kind) Order(text []byte) string {
	if k != String {
		return k.Key(text)
	}
	if t, ok := toInstant(string(text)); ok {
		return string(rune(k)) + "0" + t.sortable()
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
		t, ok := toInstant(string(text))
		return float64(t.seconds) + float64(t.nanos)/1e9, ok
	}
	return 0, false
}
