package filter

import (
	"bytes"

	"github.com/lexsem/lexsem/internal/value"
)

// Condition is one comparison of a filter, prepared for comparing many values. It is not safe
// for concurrent use.
type Condition struct {
	op      operation
	path    string
	values  []scalar
	kinds   [value.Kinds]bool // of values, so that most are refused at once
	texts   [][]byte          // of strings, in the filter's order
	numbers []value.Decimal   // likewise
	times   []value.Instant   // of those strings that are timestamps
	many    map[string]struct{}
	key     []byte
}

// fewValues is the number of values up to which they are compared one by one.
const fewValues = 8

// newCondition prepares a comparison. A filter may name millions of values, so it tells steps to an algebra that has a
// method Step, and ends at its error.
func newCondition(f Filter, in any) (*Condition, error) {
	step := func(int) error { return nil }
	if s, ok := in.(interface{ Step(n int) error }); ok {
		step = s.Step
	}
	c := &Condition{op: f.op, path: f.path, values: f.values}
	if f.path == ownID {
		c.path = idPath
	}
	for _, v := range f.values {
		if err := step(1); err != nil {
			return nil, err
		}
		c.kinds[v.kind] = true
		switch v.kind {
		case value.String:
			c.texts = append(c.texts, []byte(v.text))
			if t, ok := value.ToInstant(v.text); ok && f.op != opPrefix && f.path != idPath {
				c.times = append(c.times, t)
			}
		case value.Number:
			c.numbers = append(c.numbers, value.ParseDecimal([]byte(v.text)))
		}
	}
	if c.ordered() && len(c.times) < len(c.texts) {
		c.times = nil // a range from a timestamp to another text is one of texts
	}
	if len(c.texts)+len(c.numbers) > fewValues {
		c.many = make(map[string]struct{}, len(f.values))
		for _, t := range c.texts {
			if err := step(1); err != nil {
				return nil, err
			}
			c.many["s"+string(t)] = struct{}{}
		}
		for _, n := range c.numbers {
			if err := step(1); err != nil {
				return nil, err
			}
			c.many[string(n.AppendKey(nil))] = struct{}{}
		}
		for _, t := range c.times {
			if err := step(1); err != nil {
				return nil, err
			}
			c.many["d"+t.Sortable()] = struct{}{}
		}
	}
	return c, nil
}

// ordered reports whether c compares by order: less, more or between.
func (c *Condition) ordered() bool { return c.op >= opLt && c.op <= opRange }

// Path is the dotted path that c reads.
func (c *Condition) Path() string { return c.path }

// Beneath reports whether a path that only leads to other values meets c: it does if c only
// requires that the path exists.
func (c *Condition) Beneath() bool { return c.op == opExists }

// Meets reports whether a value at the path meets c. text is the text of a string, or of a
// number as written in JSON.
func (c *Condition) Meets(k value.Kind, text []byte) bool {
	if c.op == opExists {
		return true
	}
	if !c.kinds[k] {
		return false
	}
	switch {
	case k < value.Number:
		return true // null, false and true are met by being named
	case len(c.times) > 0 && k == value.String && c.atTime(text):
		return true
	case c.many != nil && k == value.String:
		c.key = append(append(c.key[:0], 's'), text...)
		_, ok := c.many[string(c.key)]
		return ok
	case c.many != nil:
		c.key = value.ParseDecimal(text).AppendKey(c.key[:0])
		_, ok := c.many[string(c.key)]
		return ok
	case k == value.String && c.op == opPrefix:
		return bytes.HasPrefix(text, c.texts[0])
	case k == value.String && (c.op == opEq || c.op == opIn):
		for _, t := range c.texts {
			if bytes.Equal(t, text) {
				return true
			}
		}
		return false
	case len(c.times) > 0 && k == value.String:
		return false // it is at another time, or no timestamp
	case k == value.String:
		return c.inOrder(func(i int) int { return bytes.Compare(text, c.texts[i]) }, len(c.texts))
	}
	d := value.ParseDecimal(text)
	return c.inOrder(func(i int) int { return d.Compare(c.numbers[i]) }, len(c.numbers))
}

// atTime reports whether a text is a timestamp that meets c.
func (c *Condition) atTime(text []byte) bool {
	t, ok := value.ToInstant(string(text))
	if !ok {
		return false
	}
	if c.many != nil {
		_, ok = c.many["d"+t.Sortable()]
		return ok
	}
	return c.inOrder(func(i int) int { return t.Compare(c.times[i]) }, len(c.times))
}

// inOrder decides by comparing the value with each of the condition's n values.
func (c *Condition) inOrder(compare func(i int) int, n int) bool {
	switch c.op {
	case opLt:
		return compare(0) < 0
	case opLe:
		return compare(0) <= 0
	case opGt:
		return compare(0) > 0
	case opGe:
		return compare(0) >= 0
	case opRange:
		return compare(0) >= 0 && compare(1) <= 0
	}
	for i := range n { // opEq and opIn
		if compare(i) == 0 {
			return true
		}
	}
	return false
}
