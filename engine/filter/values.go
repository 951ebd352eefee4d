package filter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/value"
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
	path, text, ok := strings.Cut(fact, pathEnd)
	none := fmt.Errorf("fact %q is not one of a value", fact)
	if !ok || text == "" {
		return Filter{}, none
	}
	path = pathPlain.Replace(path)
	kind, text := text[0], text[1:]
	var v any
	switch kind {
	case 't', 'f':
		v = kind == 't'
	case 's':
		if len(text) > longFact {
			return Filter{}, none
		}
		v = text
	case 'n':
		n, ok := value.PlainNumber(text)
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

// Demanded returns, as facts, the values of a path that every document that meets f must have.
// They come from conditions that only one value meets. And combines them; Or keeps those that
// both sides demand. It returns the errors of Condition.Facts.
func (f Filter) Demanded(path string) ([]string, error) { return Answer(f, demanded(path)) }

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
