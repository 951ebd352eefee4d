package weaviate

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// where is a condition in GraphQL; "" matches all.
type where string

const (
	// whole matches the first chunk of each document.
	whole where = `{path:["chunk"],operator:Equal,valueInt:0}`
	// never matches nothing: chunks count from 0.
	never where = `{path:["chunk"],operator:LessThan,valueInt:0}`
)

// argument returns w as a further argument of a GraphQL query, which begins with a comma; "" if w matches all.
func (w where) argument() string {
	if w == "" {
		return ""
	}
	return ",where:" + string(w)
}

// condition translates a filter to a condition on passages.
func condition(f engine.Filter) (where, error) {
	if f.IsZero() {
		return "", nil
	}
	return filter.Answer(f, algebra{})
}

// algebra makes a condition of a filter.
type algebra struct{}

func (algebra) All(yes bool) (where, error) {
	if yes {
		return "", nil
	}
	return never, nil
}

func (algebra) Not(a where) (where, error) {
	switch a {
	case "":
		return never, nil
	case never:
		return "", nil
	}
	return `{operator:Not,operands:[` + a + `]}`, nil
}

func (algebra) And(a, b where) (where, error) {
	switch {
	case a == "":
		return b, nil
	case b == "":
		return a, nil
	}
	return joined("And", a, b), nil
}

func (algebra) Or(a, b where) (where, error) {
	if a == "" || b == "" {
		return "", nil
	}
	return joined("Or", a, b), nil
}

func joined(operator string, ws ...where) where {
	if len(ws) == 1 {
		return ws[0]
	}
	var b strings.Builder
	b.WriteString(`{operator:` + operator + `,operands:[`)
	for i, w := range ws {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(w))
	}
	b.WriteString(`]}`)
	return where(b.String())
}

// mostPrefixes is the maximum number of prefixes for the ranges of one condition.
const mostPrefixes = 4096

func (algebra) Where(c *filter.Condition) (where, error) {
	ranges, err := c.Facts()
	if err != nil {
		return "", err
	}
	var all span
	for _, r := range ranges {
		all.add(r)
	}
	if len(all.prefixes) > mostPrefixes {
		return "", fmt.Errorf("%w: a filter by an order of texts so long that it takes %d prefixes, where %d are taken; use a shorter text", engine.ErrInvalid, len(all.prefixes), mostPrefixes)
	}
	var any []where
	if len(all.exact) > 0 {
		any = append(any, where(`{path:["facts"],operator:ContainsAny,valueText:`+texts(all.exact)+`}`))
	}
	for _, p := range all.prefixes {
		any = append(any, where(`{path:["facts"],operator:Like,valueText:`+text(p)+`}`))
	}
	if len(any) == 0 {
		return never, nil
	}
	return joined("Or", any...), nil
}

// WhereID compares the digests of document ids, which have no order.
func (algebra) WhereID(c *filter.Condition) (where, error) {
	var keys []string
	for _, r := range c.IDs() {
		if !r.One() {
			return "", fmt.Errorf("%w: a filter by an order or a beginning of ids, where this engine compares whole ids; use =, != or in, or a metadata field", engine.ErrInvalid)
		}
		keys = append(keys, keyOf(r.From))
	}
	if len(keys) == 0 {
		return never, nil
	}
	return where(`{path:["dockey"],operator:ContainsAny,valueText:` + texts(keys) + `}`), nil
}

// span is a set of facts in hexadecimal: exact ones, and patterns, in which * matches any
// text and ? any digit.
type span struct{ exact, prefixes []string }

const digits = "0123456789abcdef"

// inHex writes a fact in hexadecimal, whose order is that of its bytes: the server has no
// order of texts, and trims spaces at their ends.
func inHex(fact string) string { return hex.EncodeToString([]byte(fact)) }

// add adds the facts of a range. Texts between two bounds share the bounds' common prefix
// and have a next digit between theirs, or share a longer prefix of one bound and have a
// next digit beyond it.
func (s *span) add(r filter.FactRange) {
	from, to := inHex(r.From), inHex(r.To)
	if from == to {
		if !r.FromOpen && !r.ToOpen {
			s.exact = append(s.exact, from)
		}
		return
	}
	if from > to && r.To != "" {
		return
	}
	n := 0 // digits that both share
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	if !r.FromOpen {
		s.exact = append(s.exact, from)
	}
	least := -1 // the digit of from behind these; none where to goes on behind all of from
	if n < len(from) {
		s.prefixes = append(s.prefixes, from+"?*")
		for i := len(from) - 1; i > n; i-- {
			s.between(from[:i], at(from[i]), len(digits))
		}
		least = at(from[n])
	}
	if r.To == "" {
		s.between(from[:n], least, len(digits))
		return
	}
	s.between(to[:n], least, at(to[n]))
	for i := n + 1; i < len(to); i++ {
		if i%2 == 0 { // a whole number of bytes
			s.exact = append(s.exact, to[:i])
		}
		s.between(to[:i], -1, at(to[i]))
	}
	if !r.ToOpen {
		s.exact = append(s.exact, to)
	}
}

// between adds the texts with a prefix followed by a digit above one and below another.
func (s *span) between(begin string, above, below int) {
	for d := above + 1; d < below; d++ {
		s.prefixes = append(s.prefixes, begin+digits[d:d+1]+"*")
	}
}

func at(digit byte) int { return strings.IndexByte(digits, digit) }
