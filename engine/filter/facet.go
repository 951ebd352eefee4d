package filter

import (
	"cmp"
	"fmt"

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
