package columns

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/snapshot"
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
		f.Add(expr, `{"a":{"b":[{"c":"xx"},1e-5]},"":[[null,-0.00]],"a":{"b\\n":[]},"\\u00e9":{"a":1,"b":2,"a":{}}}`)
	}
	f.Fuzz(func(t *testing.T, expr, raw string) {
		e := New().Edit()
		one := []byte(raw)
		if err := e.Add(1, one); err != nil {
			if !errors.Is(err, metadata.ErrNoObject) {
				t.Fatal(err)
			}
			one = []byte(filterDocument)
			if err := e.Add(1, one); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Add(2, []byte(filterDocument)); err != nil {
			t.Fatal(err)
		}
		c := e.Done()
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
		if s := q.String(); len(s) <= 1<<20 {
			if again(t, q).String() != s {
				t.Fatal(s)
			}
		}
		m, err := c.Match(t.Context(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if not, err := c.Match(t.Context(), filter.Not(q), nil); err == nil && not.Len() != 2-m.Len() {
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

// FuzzOpen changes bytes of a good file, below its checksums: what opens can be
// asked, edited and saved, or says that it is damaged.
func FuzzOpen(f *testing.F) {
	e := New().Edit()
	for ord, raw := range []string{filterDocument, ``, `{"a": 1}`, `{"a": [1, 2, {"b": null}]}`} {
		if err := e.Add(uint64(ord*5), []byte(raw)); err != nil {
			f.Fatal(err)
		}
	}
	for i := range 1100 {
		if err := e.Add(uint64(100+i), fmt.Appendf(nil, `{"n": %d, "b": ["x%d"]}`, i%100, i)); err != nil {
			f.Fatal(err)
		}
	}
	good := payloads(f, written(f, e.Done()))
	for i := range tags {
		f.Add(i, 0, uint64(1), 0)
		f.Add(i, 8, ^uint64(0), 0)
		f.Add(i, 4096, uint64(1)<<32, 1)
		f.Add(i, 4100, uint64(0), 8)
	}
	q, err := filter.Parse(`a >= 1 or not b exists or lang ^= "g" or people.age in [1,2,3,4,5,6,7,8,30]`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, section, at int, value uint64, cut int) {
		var b bytes.Buffer
		w := snapshot.NewWriter(&b, snapshot.Header{Kind: Kind, Version: Version})
		for i, tag := range tags {
			p := good[tag]
			if i == section && len(p) > 0 {
				p = append(slices.Clone(p), make([]byte, 8)...)
				at = int(uint(at) % uint(len(p)-8))
				binary.LittleEndian.PutUint64(p[at:], value)
				p = p[:len(p)-8-min(max(cut, 0), len(p)-8)]
			}
			w.Begin(tag)
			w.Write(p)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		c, err := opened(b.Bytes())
		sound := func(err error) bool {
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrOrder) && !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			return err == nil
		}
		if !sound(err) {
			return
		}
		if m, err := c.Match(t.Context(), q, nil); sound(err) && m.Len() > c.Len() {
			t.Fatal(m, err)
		}
		e := c.Edit()
		last, _ := c.rows.last()
		sound(e.Add(last+1, []byte(filterDocument)))
		sound(e.Add(last+2, benchMetadata(3)))
		e.Remove(105)
		next := e.Done()
		if c.After(0) > c.Len() || next.Len() > c.Len()+2 {
			t.Fatal("more documents than there are")
		}
		if m, err := next.Match(t.Context(), q, nil); sound(err) && m.Len() > next.Len() {
			t.Fatal(m, err)
		}
		if fresh, err := next.Compacted(t.Context()); sound(err) && fresh.Len() != next.Len() {
			t.Fatal("another number of documents")
		}
		sound(next.Save(snapshot.NewWriter(io.Discard, snapshot.Header{Kind: Kind})))
	})
}
