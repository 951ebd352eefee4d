package columns

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/metadata"
)

const filterDocument = `{
	"lang": "go", "year": 2020, "draft": false, "gone": null, "rate": 0.1,
	"big": 9007199254740993, "huge": 1e400, "tiny": -1.50e-400, "zero": -0.0,
	"tags": ["a", "b", 3, ["deep"]], "path": "net/http/server.go",
	"author": {"name": "Ada", "born": {"year": 1815}}, "dotted.key": {"in.side": 1},
	"people": [{"name": "X", "age": 30}, {"name": "Y", "age": 50}],
	"none": [], "blank": {}, "empty": "", "": {"": 7}, "and": 1, "ünïcode": "é",
	"date": "2024-05-06", "words with space": true, "a-b": 1, "@type": "T"
}`

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
		c := New()
		one := []byte(raw)
		err := c.Add(1, one)
		if err != nil {
			if !errors.Is(err, metadata.ErrNoObject) {
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
		q, err := filter.Parse(expr)
		if err != nil {
			var fe *filter.Error
			if !errors.As(err, &fe) || fe.Offset < 0 || fe.Offset > len(expr) || fe.Error() == "" {
				t.Fatalf("%v", err)
			}
			if fe.Offset < len(expr) && utf8.ValidString(expr) && !utf8.RuneStart(expr[fe.Offset]) {
				t.Fatalf("points into a character: %d", fe.Offset)
			}
			return
		}
		if s := q.String(); len(s) <= filter.MaxLength {
			if again(t, q).String() != s {
				t.Fatal(s)
			}
		}
		m, err := c.Match(q)
		if err != nil {
			t.Fatal(err)
		}
		if not, err := c.Match(filter.Not(q)); err == nil && not.Len() != 2-m.Len() {
			t.Fatalf("%d documents meet %s, %d do not", m.Len(), q, not.Len())
		}
		var doc map[string]any
		if json.Unmarshal(one, &doc); doc != nil {
			doc, _ = metadata.Parse(one)
			if got, err := q.Match(doc); err == nil && got != m.Allow(1) {
				t.Fatalf("%s on %s: %v by itself", q, one, got)
			}
		}
	})
}

// FuzzColumnsSnapshot loads any bytes: what loads can be asked and is written
// as what loads again.
func FuzzColumnsSnapshot(f *testing.F) {
	c := New()
	for ord, raw := range []string{filterDocument, ``, `{"a": 1}`, `{"a": [1, 2, {"b": null}]}`} {
		if err := c.Add(uint64(ord*5), []byte(raw)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(written(f, c))
	f.Add(written(f, New()))
	q, err := filter.Parse(`a >= 1 or not b exists or lang ^= "g" or people.age in [1,2,3,4,5,6,7,8,30]`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load(data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if m, err := c.Match(q); err != nil || m.Len() > c.Len() {
			t.Fatal(m, err)
		}
		if c.Len() != reload(t, c).Len() {
			t.Fatal("another number of documents")
		}
	})
}
