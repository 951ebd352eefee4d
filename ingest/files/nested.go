package files

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A record without a text of its own, such as a conversation, has the texts of the objects within it: those of fields with the usual
// names, and of these.
var nestedNames = append(slices.Clip(textNames), "message", "messages", "parts")

// timeNames are fields that say when an object was made. Objects that are members of another are read in this order, since exports of
// conversations have them under random keys.
var timeNames = []string{"create_time", "created_at", "timestamp", "ts", "date"}

// maxKept bounds, in bytes, the texts of a field that is also kept as metadata.
const maxKept = 4 << 10

// nested takes the texts of nested objects out of the fields.
func (s *File) nested(fields map[string]any) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v := fields[name]
		if _, flat := v.(string); flat || name == "metadata" || slices.Contains(vectorNames, name) {
			continue
		}
		texts := textsOf(nil, v, slices.Contains(nestedNames, name))
		size := 0
		for _, t := range texts {
			size += len(t)
		}
		if all = append(all, texts...); size > maxKept {
			delete(fields, name)
			if !s.warned {
				s.warned = true
				s.Warn(s.line, "no field %q; the texts within the field %q are the text, and its other values are left out here and in later records", textNames[0], clip(name, 80))
			}
		}
	}
	return strings.Join(all, "\n\n")
}

// textsOf appends the texts of a value. named says that it stands under the name of a text.
func textsOf(to []string, v any, named bool) []string {
	switch v := v.(type) {
	case string:
		if named && !blank(v) {
			to = append(to, strings.TrimSpace(v))
		}
	case []any:
		for _, e := range v {
			to = textsOf(to, e, named)
		}
	case map[string]any:
		before := len(to)
		for _, name := range nestedNames {
			if to = textsOf(to, v[name], true); len(to) > before { // another often says the same
				return to
			}
		}
		keys := slices.Sorted(maps.Keys(v))
		slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(timeOf(v[a]), timeOf(v[b])) })
		for _, k := range keys {
			if !slices.Contains(nestedNames, k) { // which have none
				to = textsOf(to, v[k], false)
			}
		}
	}
	return to
}

// timeOf is when an object was made, in seconds, or 0 if it does not say so.
func timeOf(v any) float64 {
	o, ok := v.(map[string]any)
	if !ok {
		return 0
	}
	within, _ := o["message"].(map[string]any)
	for _, name := range timeNames {
		at := o[name]
		if at == nil {
			at = within[name]
		}
		switch at := at.(type) {
		case json.Number:
			if f, err := strconv.ParseFloat(at.String(), 64); err == nil {
				return f
			}
		case string:
			if t, err := time.Parse(time.RFC3339, at); err == nil {
				return float64(t.Unix())
			}
		}
	}
	return 0
}
