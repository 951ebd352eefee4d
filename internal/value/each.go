package value

import (
	"encoding/json"
	"strings"

	"github.com/lexsem/lexsem/internal/metadata"
)

// Each calls do with the values at a path of a document's metadata, as parsed by metadata.Parse: the elements of an
// array one by one, and Empty for an object or an array without elements.
func Each(m map[string]any, path string, do func(k Kind, text []byte)) {
	Walk(metadata.Named(m), path, func(k Kind, text string) bool { do(k, []byte(text)); return false })
}

// Walk calls do with the values at the rest of a path below v, until it returns true.
func Walk(v any, path string, do func(k Kind, text string) bool) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if Walk(e, path, do) {
				return true
			}
		}
	case map[string]any:
		for key, e := range v {
			rest, ok := strings.CutPrefix(path, key)
			if ok && (rest == "" && here(e, do) || rest != "" && rest[0] == '.' && Walk(e, rest[1:], do)) {
				return true
			}
		}
	}
	return false
}

// here is Walk for a value v at the end of the path.
func here(v any, do func(k Kind, text string) bool) bool {
	switch v := v.(type) {
	case nil:
		return do(Null, "")
	case bool:
		if v {
			return do(True, "")
		}
		return do(False, "")
	case string:
		return do(String, v)
	case json.Number:
		return do(Number, string(v))
	case []any:
		for _, e := range v {
			if here(e, do) {
				return true
			}
		}
		if len(v) > 0 {
			return false
		}
	}
	return do(Empty, "")
}
