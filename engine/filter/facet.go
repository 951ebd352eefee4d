package filter

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/lexsem/lexsem/internal/fault"
)

// Facet is a value of a metadata field, and how many documents have it.
type Facet struct {
	// Value is a string, a json.Number, true, false, or nil for null.
	Value any `json:"value"`
	Count int `json:"count"`
}

// MaxFacets is the greatest number of facets of one call.
const MaxFacets = 1_000

// FacetsOf returns the path in the metadata that a field of a filter means, and how many facets k asks for, 0 being
// the default 10. Errors: ErrInvalid for a field or a k that cannot be.
func FacetsOf(field string, k int) (path string, most int, err error) {
	switch {
	case field == "":
		return "", 0, fmt.Errorf("%w: no field to count by; name a field of the metadata", fault.ErrInvalid)
	case field == idPath:
		return "", 0, fmt.Errorf("%w: each document has its own id; count by a field of the metadata, or by %s for one of that name", fault.ErrInvalid, ownID)
	case k < 0 || k > MaxFacets:
		return "", 0, fmt.Errorf("%w: %d values to count; use 1 to %d", fault.ErrInvalid, k, MaxFacets)
	case field == ownID:
		field = idPath
	}
	return field, cmp.Or(k, 10), nil
}

// Value returns the value with a text, as a Facet has it. For Empty, which is no value, ok is false.
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

// Key returns a text that equal values share: 1 and 1.0 do, 1 and "1" do not. Keys are in the order of null, false,
// true, numbers and strings, and then of the values.
func (k Kind) Key(text []byte) string {
	if k == Number {
		return string(rune(k)) + parseDecimal(text).sortable()
	}
	return string(rune(k)) + string(text)
}
