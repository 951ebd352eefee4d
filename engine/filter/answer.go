package filter

import (
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/value"
)

// Algebra evaluates a filter over sets S, for example of documents. Methods may change their arguments and
// return them. An Algebra with access to document ids also has
//
//	WhereID(c *Condition) (S, error)
//
// which returns the set of documents whose id meets c (Condition.IDs). Without it, a filter on id is invalid.
type Algebra[S any] interface {
	// All is the set of all documents, or the empty set.
	All(yes bool) (S, error)
	// Not is the set of documents that are not in a.
	Not(a S) (S, error)
	// And is the intersection, Or the union.
	And(a, b S) (S, error)
	Or(a, b S) (S, error)
	// Where returns the set of documents with a value that meets c.
	Where(c *Condition) (S, error)
}

// Answer evaluates f in an algebra. Errors: Err of an invalid filter, or the first error of the
// algebra.
func Answer[S any](f Filter, in Algebra[S]) (S, error) {
	var none S
	if f.err != nil {
		return none, f.err
	}
	switch f.op {
	case opAll, opNone:
		return in.All(f.op == opAll)
	case opAnd, opOr, opNot:
	default:
		return where(f, in)
	}
	s, err := Answer(f.args[0], in)
	if err != nil {
		return none, err
	}
	if f.op == opNot {
		return in.Not(s)
	}
	for _, a := range f.args[1:] {
		other, err := Answer(a, in)
		if err != nil {
			return none, err
		}
		if f.op == opAnd {
			s, err = in.And(s, other)
		} else {
			s, err = in.Or(s, other)
		}
		if err != nil {
			return none, err
		}
	}
	return s, nil
}

// Match reports whether metadata meets f. metadata are those of a Document; values of other types are
// converted as JSON does. Errors: engine.ErrInvalid for an invalid filter, for one on id, and for metadata
// that JSON cannot encode. To test many documents, search with the filter instead.
func (f Filter) Match(metadata map[string]any) (bool, error) {
	d, err := documentOf(metadata)
	if err != nil {
		return false, err
	}
	return Answer(f, d)
}

// MatchDocument is Match for a document with the given id.
func (f Filter) MatchDocument(id string, metadata map[string]any) (bool, error) {
	d, err := documentOf(metadata)
	if err != nil {
		return false, err
	}
	return Answer(f, identified{d, id})
}

// document is the algebra of one document.
type document map[string]any

// documentOf returns metadata with its values as JSON has them.
func documentOf(m map[string]any) (document, error) {
	raw, err := metadata.Encode(m)
	if err != nil {
		return nil, err
	}
	if m, err = metadata.Parse(raw); err != nil {
		return nil, err
	}
	return metadata.Named(m), nil
}

func (d document) All(yes bool) (bool, error)  { return yes, nil }
func (d document) Not(a bool) (bool, error)    { return !a, nil }
func (d document) And(a, b bool) (bool, error) { return a && b, nil }
func (d document) Or(a, b bool) (bool, error)  { return a || b, nil }
func (d document) Where(c *Condition) (bool, error) {
	return value.Walk(map[string]any(d), c.path, func(k value.Kind, text string) bool { return c.Meets(k, []byte(text)) }), nil
}
