package pgvector

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// where is a condition in SQL; its values are in its algebra.
type where string

const (
	always where = "true"
	never  where = "false"
)

// condition translates a filter to a condition on a document whose number is the expression n; it appends
// its values to the existing ones.
func condition(f engine.Filter, n string, values *[]any) (where, error) {
	if f.IsZero() {
		return always, nil
	}
	return filter.Answer(f, algebra{n, values})
}

// algebra turns a filter into a condition.
type algebra struct {
	n      string
	values *[]any
}

func (algebra) All(yes bool) (where, error) {
	if yes {
		return always, nil
	}
	return never, nil
}

func (algebra) Not(a where) (where, error) { return "NOT (" + a + ")", nil }

func (algebra) And(a, b where) (where, error) { return "(" + a + " AND " + b + ")", nil }

func (algebra) Or(a, b where) (where, error) { return "(" + a + " OR " + b + ")", nil }

// longestPath is the maximum length in bytes of a path whose values can be compared by order: longer facts
// may be stored with a digest, which has no order.
const longestPath = 500

func (a algebra) Where(c *filter.Condition) (where, error) {
	ranges, err := c.Facts()
	if err != nil {
		return "", err
	}
	var exact [][]byte
	var any []string
	for _, r := range ranges {
		if r.From == r.To {
			exact = append(exact, factKey(r.From))
			continue
		}
		if path, _, _ := strings.Cut(r.From, "\x00"); len(path) > longestPath {
			return "", fmt.Errorf("%w: a filter by the order of values at a path of %d bytes, where %d are possible; use a shorter path", engine.ErrInvalid, len(path), longestPath)
		}
		var bounds []string
		bound := func(than, to string, open bool) {
			if !open {
				than += "="
			}
			bounds = append(bounds, "f.fact "+than+" "+a.value([]byte(to)))
		}
		bound(">", r.From, r.FromOpen)
		bound("<", r.To, r.ToOpen)
		any = append(any, a.exists(strings.Join(bounds, " AND ")))
	}
	if len(exact) > 0 {
		any = append(any, a.exists("f.fact = ANY("+a.value(exact)+"::bytea[])"))
	}
	if len(any) == 0 {
		return never, nil
	}
	return where("(" + strings.Join(any, " OR ") + ")"), nil
}

// exactID is the id of document i as bytes: the column id is not exact for ids that the server does not
// accept as text.
const exactID = "CASE WHEN i.exact IS NULL THEN convert_to(i.id, 'UTF8') ELSE decode(convert_from(i.exact, 'UTF8')::json ->> 0, 'base64') END"

// WhereID compares a single id by the key of the document, and a range with the ids of all documents.
func (a algebra) WhereID(c *filter.Condition) (where, error) {
	var keys []pgtype.UUID
	var any []string
	for _, r := range c.IDs() {
		if r.One() {
			keys = append(keys, keyOf(r.From))
			continue
		}
		bounds := []string{exactID + " >= " + a.value([]byte(r.From))}
		if r.Below != "" {
			bounds = append(bounds, exactID+" < "+a.value([]byte(r.Below)))
		}
		any = append(any, strings.Join(bounds, " AND "))
	}
	if len(keys) > 0 {
		any = append(any, "i.key = ANY("+a.value(keys)+"::uuid[])")
	}
	if len(any) == 0 {
		return never, nil
	}
	return where("EXISTS (SELECT FROM {s}.documents i WHERE i.n = " + a.n + " AND (" + strings.Join(any, " OR ") + "))"), nil
}

func (a algebra) exists(fact string) string {
	return "EXISTS (SELECT FROM {s}.facts f WHERE f.document = " + a.n + " AND " + fact + ")"
}

// value is the placeholder of a value in the statement.
func (a algebra) value(v any) string {
	*a.values = append(*a.values, v)
	return fmt.Sprint("$", len(*a.values))
}
