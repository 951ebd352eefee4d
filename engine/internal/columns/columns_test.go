package columns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/metadata"
)

// The oracle walks one document as a person would, knowing nothing of columns.

// lookup returns the values of a dotted path and whether it is there.
func lookup(v any, path string) (values []any, there bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			vs, ok := lookup(e, path)
			values, there = append(values, vs...), there || ok
		}
	case map[string]any:
		for key, e := range v {
			if key == path {
				values, there = append(values, spread(e)...), true
			}
			if rest, ok := strings.CutPrefix(path, key+"."); ok {
				vs, ok := lookup(e, rest)
				values, there = append(values, vs...), there || ok
			}
		}
	}
	return values, there
}

func spread(v any) (values []any) {
	switch v := v.(type) {
	case map[string]any:
		return nil
	case []any:
		for _, e := range v {
			values = append(values, spread(e)...)
		}
		return values
	}
	return []any{v}
}

// order compares two values of one kind; ok is false for others.
func order(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), true
		}
	case json.Number:
		if b, isNumber := b.(json.Number); isNumber {
			x, okX := new(big.Rat).SetString(a.String())
			y, okY := new(big.Rat).SetString(b.String())
			return x.Cmp(y), okX && okY
		}
	default:
		if a == b {
			return 0, true
		}
	}
	return 0, false
}

// oracle is a filter as the test wrote it, with a meaning of its own.
type oracle struct {
	filter.Filter
	meets func(doc map[string]any) bool
}

func oneOf(path string, test func(v any) bool) func(map[string]any) bool {
	return func(doc map[string]any) bool {
		values, _ := lookup(doc, path)
		for _, v := range values {
			if test(v) {
				return true
			}
		}
		return false
	}
}

var (
	someKeys    = []string{"a", "b", "a.b", "", "c", "b.c", "日", "in"}
	someStrings = []string{"", "a", "ab", "abc", "é", "\"\\\n'", "2020", "\x00\u2028"}
	someNumbers = []json.Number{"0", "-0", "1", "1.0", "10e-1", "-1", "0.5", "5e-1", "9007199254740992", "9007199254740993", "-9007199254740993.5", "1e30", "1e-30", "12.0340", "100"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func someScalar(r *rand.Rand) any {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2, 3, 4:
		return pick(r, someStrings)
	}
	return pick(r, someNumbers)
}

func someValue(r *rand.Rand, depth int) any {
	if kind := r.IntN(10); depth > 0 && kind < 2 {
		return someObject(r, depth-1)
	} else if depth > 0 && kind < 4 {
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = someValue(r, depth-1)
		}
		return list
	}
	return someScalar(r)
}

func someObject(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(5) {
		m[pick(r, someKeys)] = someValue(r, depth)
	}
	return m
}

func somePath(r *rand.Rand) string {
	path := pick(r, someKeys)
	for range r.IntN(3) {
		path += "." + pick(r, someKeys)
	}
	return path
}

func someFilter(r *rand.Rand, depth int) oracle {
	if depth > 0 && r.IntN(3) > 0 {
		if r.IntN(3) == 0 {
			a := someFilter(r, depth-1)
			return oracle{filter.Not(a.Filter), func(d map[string]any) bool { return !a.meets(d) }}
		}
		parts := make([]oracle, r.IntN(4))
		fs := make([]filter.Filter, len(parts))
		for i := range parts {
			parts[i] = someFilter(r, depth-1)
			fs[i] = parts[i].Filter
		}
		all := r.IntN(2) == 0
		meets := func(d map[string]any) bool {
			for _, p := range parts {
				if p.meets(d) != all {
					return !all
				}
			}
			return all
		}
		if all {
			return oracle{filter.And(fs...), meets}
		}
		return oracle{filter.Or(fs...), meets}
	}
	path := somePath(r)
	var v any = pick(r, someStrings)
	if r.IntN(2) == 0 {
		v = pick(r, someNumbers)
	}
	against := func(test func(c int) bool) func(map[string]any) bool {
		return oneOf(path, func(x any) bool { c, ok := order(x, v); return ok && test(c) })
	}
	switch r.IntN(9) {
	case 0:
		return oracle{filter.Lt(path, v), against(func(c int) bool { return c < 0 })}
	case 1:
		return oracle{filter.Le(path, v), against(func(c int) bool { return c <= 0 })}
	case 2:
		return oracle{filter.Gt(path, v), against(func(c int) bool { return c > 0 })}
	case 3:
		return oracle{filter.Ge(path, v), against(func(c int) bool { return c >= 0 })}
	case 4:
		return oracle{filter.Exists(path), func(d map[string]any) bool { _, ok := lookup(d, path); return ok }}
	case 5:
		prefix := pick(r, someStrings)
		return oracle{filter.Prefix(path, prefix), oneOf(path, func(x any) bool { s, ok := x.(string); return ok && strings.HasPrefix(s, prefix) })}
	case 6:
		values := make([]any, r.IntN(14))
		for i := range values {
			values[i] = someScalar(r)
		}
		return oracle{filter.In(path, values...), oneOf(path, func(x any) bool {
			for _, v := range values {
				if c, ok := order(x, v); ok && c == 0 {
					return true
				}
			}
			return false
		})}
	case 7:
		var hi any = pick(r, someStrings)
		if _, number := v.(json.Number); number {
			hi = pick(r, someNumbers)
		}
		return oracle{filter.Range(path, v, hi), oneOf(path, func(x any) bool {
			c, ok := order(x, v)
			d, _ := order(x, hi)
			return ok && c >= 0 && d <= 0
		})}
	}
	v = someScalar(r)
	return oracle{filter.Eq(path, v), against(func(c int) bool { return c == 0 })}
}

func encode(t testing.TB, doc map[string]any) []byte {
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// holds compares what the columns answer with the oracle's word on every
// document.
func holds(t *testing.T, c *Columns, o oracle, docs map[uint64]map[string]any, last uint64) {
	t.Helper()
	m, err := c.Match(o.Filter)
	if err != nil {
		t.Fatalf("%v: %v", o, err)
	}
	n, later := 0, 0
	for ord := uint64(0); ord <= last+2; ord++ {
		doc, stored := docs[ord]
		if stored && ord > last/2 {
			later++
		}
		want := stored && o.meets(doc)
		if want {
			n++
		}
		if m.Allow(ord) != want {
			t.Fatalf("%v on %d, %s: %v", o, ord, encode(t, doc), !want)
		}
	}
	if m.Len() != n {
		t.Fatalf("%v: %d matches counted, %d there", o, m.Len(), n)
	}
	if got := c.After(last / 2); got != later {
		t.Fatalf("%d documents after %d, want %d", got, last/2, later)
	}
}

// TestColumnsAgreeWithTheDocuments adds and deletes at random, asks filters
// again and again, so that their answers are brought up to date from many
// states, and compares with every document; in between, columns are saved and
// loaded.
func TestColumnsAgreeWithTheDocuments(t *testing.T) {
	for seed := uint64(1); seed <= 6; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			c, docs := New(), map[uint64]map[string]any{}
			var ords []uint64
			filters := make([]oracle, 40)
			for i := range filters {
				filters[i] = someFilter(r, 4)
			}
			var last uint64
			compacted := 0
			for step := range 300 {
				if step == 150 { // a stretch that deletes more than it adds
					for range 3000 {
						last += 1 + uint64(r.IntN(3))
						docs[last] = someObject(r, 2)
						ords = append(ords, last)
						if err := c.Add(last, encode(t, docs[last])); err != nil {
							t.Fatal(err)
						}
					}
				}
				for range r.IntN(10) {
					last += 1 + uint64(r.IntN(3))
					docs[last] = someObject(r, 3)
					ords = append(ords, last)
					if err := c.Add(last, encode(t, docs[last])); err != nil {
						t.Fatal(err)
					}
				}
				drop := r.IntN(6)
				if step > 150 && step < 200 {
					drop = 60
				}
				for range min(drop, len(ords)) {
					i := r.IntN(len(ords))
					slots := len(c.ords)
					if !c.Delete(ords[i]) || c.Delete(ords[i]) {
						t.Fatal("deleted twice, or not")
					}
					if len(c.ords) < slots {
						compacted++
					}
					delete(docs, ords[i])
					ords[i] = ords[len(ords)-1]
					ords = ords[:len(ords)-1]
				}
				if c.Len() != len(docs) {
					t.Fatalf("%d documents, want %d", c.Len(), len(docs))
				}
				if r.IntN(20) == 0 {
					c = reload(t, c)
				}
				holds(t, c, filters[r.IntN(1+step%len(filters))], docs, last)
			}
			for _, o := range filters {
				holds(t, c, o, docs, last)
				holds(t, c, oracle{again(t, o.Filter), o.meets}, docs, last)
			}
			if compacted == 0 {
				t.Error("never compacted")
			}
			if want := rebuilt(t, docs, last); !bytes.Equal(written(t, reload(t, want)), written(t, want)) {
				t.Error("saved and loaded columns are written in another way")
			}
		})
	}
}

// again writes a filter and reads it.
func again(t *testing.T, f filter.Filter) filter.Filter {
	t.Helper()
	g, err := filter.Parse(f.String())
	if err != nil || g.String() != f.String() {
		t.Fatalf("%s is read as %s, %v", f, g, err)
	}
	return g
}

func rebuilt(t *testing.T, docs map[uint64]map[string]any, last uint64) *Columns {
	c := New()
	for ord := uint64(0); ord <= last; ord++ {
		if doc, ok := docs[ord]; ok {
			if err := c.Add(ord, encode(t, doc)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

func written(t testing.TB, c *Columns) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := c.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	return b.Bytes()
}

func reload(t testing.TB, c *Columns) *Columns {
	t.Helper()
	to, err := Load(written(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestMatchesDoNotChange(t *testing.T) {
	c := New()
	add := func(ord uint64, raw string) {
		t.Helper()
		if err := c.Add(ord, []byte(raw)); err != nil {
			t.Fatal(err)
		}
	}
	add(3, `{"a": 1}`)
	add(5000, `{"a": 2}`)
	add(5001, ``)
	add(5002, `null`)
	first, err := c.Match(filter.Exists("a"))
	if err != nil || first.Len() != 2 {
		t.Fatal(first, err)
	}
	c.Delete(3)
	add(1<<20, `{"a": {"b": []}}`)
	second, err := c.Match(filter.Exists("a"))
	if err != nil || second.Len() != 2 || second.Allow(3) || !second.Allow(5000) || !second.Allow(1<<20) || second.Allow(1<<40) {
		t.Fatal(second, err)
	}
	if first.Len() != 2 || !first.Allow(3) || !first.Allow(5000) || first.Allow(1<<20) {
		t.Error("an answer changed after it was given")
	}
	if third, err := c.Match(filter.Exists("a")); err != nil || third != second {
		t.Error("an answer was made again although nothing changed")
	}
	if all, err := c.Match(filter.Filter{}); err != nil || all.Len() != 4 {
		t.Error(all, err)
	}
}

func TestColumnsRefuse(t *testing.T) {
	c := New()
	if err := c.Add(7, []byte(`{"a": 1}`)); err != nil {
		t.Fatal(err)
	}
	before := written(t, c)
	for _, x := range []struct {
		ord  uint64
		raw  string
		want error
	}{
		{7, `{}`, ErrOrder}, {6, `{}`, ErrOrder}, {MaxOrd, `{}`, ErrOrder}, {8, `[1]`, metadata.ErrNoObject}, {8, `{"b": `, metadata.ErrNoObject},
		{8, `3`, metadata.ErrNoObject}, {8, strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), metadata.ErrNoObject},
	} {
		if err := c.Add(x.ord, []byte(x.raw)); !errors.Is(err, x.want) {
			t.Errorf("%d %.20s: %v, want %v", x.ord, x.raw, err, x.want)
		}
	}
	if c.Delete(6) || c.Delete(99) {
		t.Error("deleted what is not there")
	}
	if !bytes.Equal(before, written(t, c)) {
		t.Error("a refused document left something behind")
	}
}

func TestColumnsKeepDeepMetadataSmall(t *testing.T) {
	deep := strings.Repeat(`{"k":1,"a":`, 4000) + "1" + strings.Repeat("}", 4000)
	c := New()
	if err := c.Add(1, []byte(deep)); err != nil {
		t.Fatal(err)
	}
	if size := c.bytes(); size > 40*len(deep) {
		t.Errorf("%d bytes for metadata of %d", size, len(deep))
	}
	for path, want := range map[string]int{strings.Repeat("a.", 3999) + "k": 1, strings.Repeat("a.", 4000) + "k": 0, strings.Repeat("a.", 3000) + "a": 1} {
		if m, err := c.Match(filter.Exists(path)); err != nil || m.Len() != want {
			t.Errorf("path of %d bytes: %v, %v", len(path), m, err)
		}
	}
}

func TestCacheStaysSmall(t *testing.T) {
	c := New()
	for ord := range uint64(100) {
		if err := c.Add(ord<<16, []byte(`{"a": 1}`)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		if _, err := c.Match(filter.Not(filter.Eq("a", i+2))); err != nil {
			t.Fatal(err)
		}
	}
	sum := 0
	for _, e := range c.cache.entries {
		sum += e.size()
	}
	if len(c.cache.entries) != cacheEntries || sum != c.cache.bytes {
		t.Errorf("%d entries of %d bytes, counted %d", len(c.cache.entries), sum, c.cache.bytes)
	}
	big := make([]any, 300_000)
	for i := range big {
		big[i] = fmt.Sprint("value ", i)
	}
	for i := range 3 {
		if _, err := c.Match(filter.In(fmt.Sprint("a", i), big...)); err != nil {
			t.Fatal(err)
		}
	}
	if c.cache.bytes > cacheBytes {
		t.Errorf("%d bytes kept", c.cache.bytes)
	}
}

// TestColumnsConcurrent searches beside a writer, under the locks that the
// engine holds.
func TestColumnsConcurrent(t *testing.T) {
	var mu sync.RWMutex
	c := New()
	filters := []filter.Filter{filter.Eq("a", 1), filter.Not(filter.Exists("b")), filter.Ge("n", 500), filter.In("a", 1, 2, "x"), filter.Or(filter.Prefix("s", "1"), filter.Lt("n", 10))}
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for range 300 {
				mu.RLock()
				m, err := c.Match(pick(r, filters))
				if err != nil || m.Len() > c.Len() {
					t.Error(m, err)
				}
				mu.RUnlock()
				n := 0
				for ord := range uint64(3100) {
					if m.Allow(ord) {
						n++
					}
				}
				if n != m.Len() {
					t.Errorf("%d documents allowed, %d counted", n, m.Len())
				}
			}
		})
	}
	for ord := range uint64(3000) {
		mu.Lock()
		err := c.Add(ord, fmt.Appendf(nil, `{"a": %d, "n": %d, "s": "%d"}`, ord%4, ord, ord))
		if ord > 100 {
			c.Delete(ord - 100)
		}
		mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
}
