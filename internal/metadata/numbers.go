package metadata

import (
	"encoding/json"
	"math"
)

// Unreadable returns a number in v, a value from Parse, that no float64 can hold, so that
// no filter can read it; ok reports whether there is one.
func Unreadable(v any) (n json.Number, ok bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return v, err != nil || math.IsInf(f, 0)
	case map[string]any:
		for _, e := range v {
			if n, ok := Unreadable(e); ok {
				return n, true
			}
		}
	case []any:
		for _, e := range v {
			if n, ok := Unreadable(e); ok {
				return n, true
			}
		}
	}
	return "", false
}
