package engine

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"
)

// FuzzFilter reads any expression, and asks it of any metadata: errors are
// typed and point into the expression; what reads is written and read as the
// same filter, and both answer alike by themselves and among other documents.
func FuzzFilter(f *testing.F) {
	for _, expr := range append([]string{`lang = go`, `a in [`, `"\ud800" = 1`, `a = 1e999999999`, `not (true or false)`,
		`"" in ['\'', "é", -0.0e-5, null, true] or a.b.c not between "x" and "y"`}, benchFilters...) {
		f.Add(expr, filterDocument)
		f.Add(expr, `{"a":{"b":[{"c":"xx"},1e-5]},"":[[null,-0.00]]}`)
	}
	f.Fuzz(func(t *testing.T, expr, raw string) {
		c := newColumns()
		one := []byte(raw)
		err := c.Add(1, one)
		if err != nil {
			if !errors.Is(err, errMetadata) {
				t.Fatal(err)
			}
			one = []byte(filterDocument)
			if err := c.Add(1, one); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Add(2, []byte(filterDocument)); err != nil {
			t.Fatal(err)
		}
		filter, err := ParseFilter(expr)
		if err != nil {
			var fe *FilterError
			if !errors.As(err, &fe) || fe.Offset < 0 || fe.Offset > len(expr) || fe.Error() == "" {
				t.Fatalf("%v", err)
			}
			if fe.Offset < len(expr) && utf8.ValidString(expr) && !utf8.RuneStart(expr[fe.Offset]) {
				t.Fatalf("points into a character: %d", fe.Offset)
			}
			return
		}
		if s := filter.String(); len(s) <= MaxFilterLength {
			if again(t, filter).String() != s {
				t.Fatal(s)
			}
		}
		m, err := c.Match(filter)
		if err != nil {
			t.Fatal(err)
		}
		if not, err := c.Match(Not(filter)); err == nil && not.Len() != 2-m.Len() {
			t.Fatalf("%d documents meet %s, %d do not", m.Len(), filter, not.Len())
		}
		var doc map[string]any
		if json.Unmarshal(one, &doc); doc != nil {
			doc, _ = parseMetadata(one)
			if got, err := filter.Match(doc); err == nil && got != m.Allow(1) {
				t.Fatalf("%s on %s: %v by itself", filter, one, got)
			}
		}
	})
}

// FuzzColumnsSnapshot loads any bytes: what loads can be asked and is written
// as what loads again.
func FuzzColumnsSnapshot(f *testing.F) {
	c := newColumns()
	for ord, raw := range []string{filterDocument, ``, `{"a": 1}`, `{"a": [1, 2, {"b": null}]}`} {
		if err := c.Add(uint64(ord*5), []byte(raw)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(written(f, c))
	f.Add(written(f, newColumns()))
	filter, err := ParseFilter(`a >= 1 or not b exists or lang ^= "g" or people.age in [1,2,3,4,5,6,7,8,30]`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := loadColumns(data)
		if err != nil {
			if !errors.Is(err, errColumnsSnapshot) {
				t.Fatal(err)
			}
			return
		}
		if m, err := c.Match(filter); err != nil || m.Len() > c.Len() {
			t.Fatal(m, err)
		}
		if c.Len() != reload(t, c).Len() {
			t.Fatal("another number of documents")
		}
	})
}
