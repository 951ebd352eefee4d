package filter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/value"
)

// A fact is one value of a document's metadata as a text: its path, its kind and the value,
// written so that texts in the order of their bytes are values in theirs. So an engine that only
// compares texts answers every filter like this one, even if a path has values of several kinds.

// longFact is the maximum number of bytes of a string in a fact. A longer string is cut and
// followed by a digest of the whole: it equals only itself, and strings that differ only after
// that length have no order.
const longFact = 2000

const pathEnd = "\x00"

// Facts returns the distinct facts of a document's metadata, a JSON object or nothing, in order.
// It returns the errors of metadata.Parse.
func Facts(raw []byte) ([]string, error) {
	m, err := metadata.Parse(raw)
	if err != nil {
		return nil, err
	}
	var facts []string
	addFacts(&facts, "", metadata.Named(m))
	slices.Sort(facts)
	return slices.Compact(facts), nil
}

// addFacts adds the facts of a value at a path that is empty or ends with a dot.
func addFacts(to *[]string, path string, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			addFacts(to, path, e)
		}
	case map[string]any:
		for key, e := range v {
			*to = append(*to, fact(path+key, 'e', ""))
			addValue(to, path+key, e)
		}
	}
}

// addValue adds the facts of a value at a path.
func addValue(to *[]string, path string, v any) {
	switch v := v.(type) {
	case nil:
		*to = append(*to, fact(path, '0', ""))
	case bool:
		kind := byte('f')
		if v {
			kind = 't'
		}
		*to = append(*to, fact(path, kind, ""))
	case string:
		*to = append(*to, fact(path, 's', shortened(v)))
		if t, ok := value.ToInstant(v); ok {
			*to = append(*to, fact(path, 'd', t.Sortable()))
		}
	case json.Number:
		*to = append(*to, fact(path, 'n', value.ParseDecimal([]byte(v)).Sortable()))
	case []any:
		for _, e := range v {
			addValue(to, path, e)
		}
	case map[string]any:
		addFacts(to, path+".", v)
	}
}

var pathEscapes = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")

func fact(path string, kind byte, value string) string {
	return pathEscapes.Replace(path) + pathEnd + string(kind) + value
}

func shortened(s string) string {
	if len(s) <= longFact {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return front(s, longFact) + "\x00" + hex.EncodeToString(sum[:])
}

// front is the first n bytes of s, or a few less so that no character is cut.
func front(s string, n int) string {
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// FactRange is the range of facts from From to To. "" means no bound on that side; FromOpen and
// ToOpen exclude the bound. If From equals To, the range is one fact.
type FactRange struct {
	From, To         string
	FromOpen, ToOpen bool
}

// Has reports whether a fact is in the range.
func (r FactRange) Has(fact string) bool {
	return (r.From == "" || fact > r.From || fact == r.From && !r.FromOpen) &&
		(r.To == "" || fact < r.To || fact == r.To && !r.ToOpen)
}

// Facts returns ranges of facts. A document meets c if one of its facts is in one of the ranges.
// Errors: engine.ErrInvalid for an order or prefix of a string that is longer than facts.
func (c *Condition) Facts() ([]FactRange, error) {
	if c.op == opExists {
		f := fact(c.path, 'e', "")
		return []FactRange{{From: f, To: f}}, nil
	}
	var rs []FactRange
	for _, v := range c.values {
		if v.kind == value.String && len(v.text) > longFact && c.op != opEq && c.op != opIn {
			return nil, fmt.Errorf("%w: filter on %q: an order by, or a beginning with, a text of %d bytes, where another engine keeps %d of each; use a shorter one",
				fault.ErrInvalid, fault.Clip(c.path), len(v.text), longFact)
		}
	}
	one := func(v scalar) string {
		switch v.kind {
		case value.Null:
			return fact(c.path, '0', "")
		case value.False:
			return fact(c.path, 'f', "")
		case value.True:
			return fact(c.path, 't', "")
		case value.Number:
			return fact(c.path, 'n', value.ParseDecimal([]byte(v.text)).Sortable())
		}
		return fact(c.path, 's', shortened(v.text))
	}
	if c.op == opEq || c.op == opIn {
		for _, v := range c.values {
			f := one(v)
			rs = append(rs, FactRange{From: f, To: f})
		}
		for _, t := range c.times {
			f := fact(c.path, 'd', t.Sortable())
			rs = append(rs, FactRange{From: f, To: f})
		}
		return rs, nil
	}
	kind := byte('n')
	if c.values[0].kind == value.String {
		kind = 's'
	}
	bound := func(i int) string { return one(c.values[i]) }
	if len(c.times) > 0 { // then all values are timestamps
		kind = 'd'
		bound = func(i int) string { return fact(c.path, kind, c.times[i].Sortable()) }
	}
	least, above := fact(c.path, kind, ""), fact(c.path, kind+1, "")
	f := bound(0)
	switch c.op {
	case opLt:
		return []FactRange{{From: least, To: f, ToOpen: true}}, nil
	case opLe:
		return []FactRange{{From: least, To: f}}, nil
	case opGt:
		return []FactRange{{From: f, FromOpen: true, To: above, ToOpen: true}}, nil
	case opGe:
		return []FactRange{{From: f, To: above, ToOpen: true}}, nil
	case opRange:
		return []FactRange{{From: f, To: bound(1)}}, nil
	}
	return []FactRange{{From: f, To: beyond(f), ToOpen: true}}, nil
}

// Meets reports whether the document with an id and facts meets f. Errors as Condition.Facts.
func (f Filter) Meets(id string, facts []string) (bool, error) {
	return Answer(f, identified{byFacts(facts), id})
}

// byFacts answers a filter from facts.
type byFacts []string

func (d byFacts) All(yes bool) (bool, error)  { return yes, nil }
func (d byFacts) Not(a bool) (bool, error)    { return !a, nil }
func (d byFacts) And(a, b bool) (bool, error) { return a && b, nil }
func (d byFacts) Or(a, b bool) (bool, error)  { return a || b, nil }
func (d byFacts) Where(c *Condition) (bool, error) {
	ranges, err := c.Facts()
	for _, r := range ranges {
		if slices.ContainsFunc(d, r.Has) {
			return true, err
		}
	}
	return false, err
}
