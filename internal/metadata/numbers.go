package metadata

import (
	"bytes"
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

// unreadableIn is Unreadable of valid JSON, which it does not parse.
func unreadableIn(raw []byte) (json.Number, bool) {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case c == '-' || '0' <= c && c <= '9':
			from, exponent := i, false
			for ; i < len(raw) && bytes.IndexByte([]byte("+-.0123456789Ee"), raw[i]) >= 0; i++ {
				exponent = exponent || raw[i] == 'e' || raw[i] == 'E'
			}
			if exponent || i-from > 308 { // others are below 1e308
				if n, bad := Unreadable(json.Number(raw[from:i])); bad {
					return n, true
				}
			}
			i--
		}
	}
	return "", false
}
