package filter

import (
	"fmt"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/value"
)

const (
	// idPath is the path that reads a document's id.
	idPath = "id"
	// ownID is the path of a metadata field that is named like it.
	ownID = "metadata." + idPath
)

// where evaluates one condition.
func where[S any](f Filter, in Algebra[S]) (none S, err error) {
	switch {
	case f.path != idPath:
		c, err := newCondition(f, in)
		if err != nil {
			return none, err
		}
		return in.Where(c)
	case f.op == opExists: // every document has an id
		return in.All(true)
	}
	ids, ok := in.(interface {
		WhereID(c *Condition) (S, error)
	})
	if !ok {
		return none, fmt.Errorf("%w: a filter on id, where only metadata are known; use MatchDocument or Meets, or write %s for a metadata field of that name", fault.ErrInvalid, ownID)
	}
	c, err := newCondition(f, in)
	if err != nil {
		return none, err
	}
	return ids.WhereID(c)
}

// IDRange are the ids from From to before Below, in the order of bytes. An empty Below means no
// end.
type IDRange struct{ From, Below string }

// One reports whether a range contains only one id, From.
func (r IDRange) One() bool { return r.Below == r.From+"\x00" }

// IDs returns the ranges of ids that meet c, a condition on id. Bounds are UTF-8. A range for a
// prefix may also contain ids that are not UTF-8 and do not meet c, so test them with Meets.
func (c *Condition) IDs() (ranges []IDRange) {
	add := func(from, below string) {
		if below == "" || from < below {
			ranges = append(ranges, IDRange{from, below})
		}
	}
	after := func(i int) string { return c.values[i].text + "\x00" } // the id that follows a value
	switch c.op {
	case opEq, opIn:
		for i, v := range c.values {
			if v.text != "" { // no document has that id
				add(v.text, after(i))
			}
		}
	case opLt:
		if first := c.values[0].text; first != "" {
			add("", first)
		}
	case opLe:
		add("", after(0))
	case opGt:
		add(after(0), "")
	case opGe:
		add(c.values[0].text, "")
	case opRange:
		add(c.values[0].text, after(1))
	case opPrefix:
		add(c.values[0].text, beyond(c.values[0].text))
	}
	return ranges
}

// beyond is the first UTF-8 text above all texts with a prefix; "" if there is none.
func beyond(prefix string) string {
	for prefix != "" {
		r, n := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-n]
		switch {
		case r == utf8.MaxRune:
			continue
		case r == 0xd7ff: // surrogates follow, which no text has
			r = 0xe000 - 1
		}
		return prefix + string(r+1)
	}
	return ""
}

// identified is an algebra over one document with a known id.
type identified struct {
	Algebra[bool]
	id string
}

// WhereID reports whether the id meets c.
func (d identified) WhereID(c *Condition) (bool, error) {
	return c.Meets(value.String, []byte(d.id)), nil
}
