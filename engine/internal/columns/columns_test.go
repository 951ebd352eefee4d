package columns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/internal/value"
)

// The oracle walks one document as a person would, knowing nothing of columns.

// lookup returns the values of a dotted path of a document and whether it is there.
func lookup(doc map[string]any, path string) (values []any, there bool) {
	doc = maps.Clone(doc)
	if file, ok := doc["_file"].(map[string]any); ok && has(file, "path") {
		for _, name := range []string{"path", "root", "time", "kind", "line", "line_end"} {
			if v, ok := file[name]; ok && !has(doc, name) {
				doc[name] = v
			}
		}
	}
	return below(doc, path)
}

func has(m map[string]any, key string) bool { _, ok := m[key]; return ok }

func below(v any, path string) (values []any, there bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			vs, ok := below(e, path)
			values, there = append(values, vs...), there || ok
		}
	case map[string]any:
		for key, e := range v {
			if key == path {
				values, there = append(values, spread(e)...), true
			}
			if rest, ok := strings.CutPrefix(path, key+"."); ok {
				vs, ok := below(e, rest)
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
		return slices.ContainsFunc(values, test)
	}
}

var (
	someKeys    = []string{"a", "b", "a.b", "", "c", "b.c", "日", "in", "path", "line"}
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
	switch file := map[string]any{pick(r, someKeys): someValue(r, depth), "path": someValue(r, depth), "line": json.Number("1")}; r.IntN(12) {
	case 0, 1, 2:
		if m["_file"] = file; r.IntN(4) == 0 {
			delete(file, "path")
		}
	case 3:
		m["_file"] = []any{file, someScalar(r)}
	}
	return m
}

func somePath(r *rand.Rand) string {
	path := pick(r, someKeys)
	for range r.IntN(3) {
		path += "." + pick(r, someKeys)
	}
	if r.IntN(8) == 0 {
		path = "_file." + path
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
func holds(t *testing.T, v version, o oracle, last uint64) {
	t.Helper()
	c, docs := v.c, v.docs
	m, err := c.Match(t.Context(), o.Filter, nil)
	if err != nil {
		t.Fatalf("%v: %v", o, err)
	}
	n, later := 0, 0
	listed := slices.Collect(m.All)
	for ord := uint64(0); ord <= last+2; ord++ {
		doc, stored := docs[ord]
		if stored && ord > last/2 {
			later++
		}
		want := stored && o.meets(doc)
		if want {
			n++
		}
		if m.Allow(ord) != want || want && (len(listed) < n || listed[n-1] != ord) {
			t.Fatalf("%v on %d, %s: %v, listed %v", o, ord, encode(t, doc), !want, listed)
		}
	}
	if len(listed) != n {
		t.Fatalf("%v: %d listed, %d there", o, len(listed), n)
	}
	if m.Len() != n {
		t.Fatalf("%v: %d matches counted, %d there", o, m.Len(), n)
	}
	if got := c.After(last / 2); got != later {
		t.Fatalf("%d documents after %d, want %d", got, last/2, later)
	}
}

// counts compares the facets of a path with a count of every document that meets a filter.
func counts(t *testing.T, v version, o oracle, path string) {
	t.Helper()
	m, err := v.c.Match(t.Context(), o.Filter, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.c.Facets(t.Context(), m, path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	left := make([]int, len(got)) // less what is there
	for i, f := range got {
		if left[i] = f.Count; i > 0 && f.Count > got[i-1].Count {
			t.Fatalf("%q: %v is not in order", path, got)
		}
	}
	for _, doc := range v.docs {
		if !o.meets(doc) {
			continue
		}
		seen := map[int]bool{}
		values, _ := lookup(doc, path)
		for _, x := range values {
			at := slices.IndexFunc(got, func(f filter.Facet) bool { c, ok := order(f.Value, x); return ok && c == 0 })
			if at < 0 {
				t.Fatalf("%q: no %v among %v", path, x, got)
			}
			if !seen[at] {
				seen[at] = true
				left[at]--
			}
		}
	}
	for i, n := range left {
		if n != 0 {
			t.Fatalf("%q: %d too many of %v", path, n, got[i])
		}
	}
	if few, err := v.c.Facets(t.Context(), m, path, 2); err != nil || !slices.Equal(few, got[:min(2, len(got))]) {
		t.Fatalf("%q: the first two are %v, %v, want those of %v", path, few, err, got)
	}
}

// ranked compares the ranking of a boost with the numbers of every document, and what a field reads with its values.
func ranked(t *testing.T, v version, expr, path string) {
	t.Helper()
	if path == "" {
		return // no field
	}
	quoted, err := json.Marshal(path)
	if err != nil {
		t.Fatal(err)
	}
	expr = fmt.Sprintf(expr, quoted)
	bs, err := filter.ParseBoosts(expr)
	if err != nil {
		t.Fatal(err)
	}
	b := bs[0]
	got, err := v.c.Ranking(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	got = slices.DeleteFunc(slices.Clone(got), func(one Ranked) bool { return v.docs[one.Ord] == nil })
	f, err := v.c.Field(t.Context(), b.Path())
	if err != nil {
		t.Fatal(err)
	}
	var want []Ranked
	for ord, doc := range v.docs {
		m, err := metadata.Parse(encode(t, doc))
		if err != nil {
			t.Fatal(err)
		}
		for n, each := range []func(do func(k value.Kind, text []byte)){
			func(do func(k value.Kind, text []byte)) { value.Each(m, b.Path(), do) },
			func(do func(k value.Kind, text []byte)) {
				if err := f.Values(ord, do); err != nil {
					t.Fatal(err)
				}
			},
		} {
			one, any := Ranked{Ord: ord}, false
			each(func(k value.Kind, text []byte) {
				if x, ok := b.Number(k, text); ok && (!any || x > one.X) {
					one.X, any = x, true
				}
			})
			if n == 0 && any {
				want = append(want, one)
			} else if n == 1 && any && one != want[len(want)-1] {
				t.Fatalf("%s of %s: %v, want %v", expr, encode(t, doc), one, want[len(want)-1])
			}
		}
	}
	slices.SortFunc(want, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.X, a.X), cmp.Compare(a.Ord, b.Ord)) })
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %v, want %v", expr, got, want)
	}
}

// change makes the next columns by one edit.
func change(t testing.TB, c *Columns, edit func(e *Edit)) *Columns {
	t.Helper()
	e := c.Edit()
	edit(e)
	return e.Done()
}

// with adds one document.
func with(t testing.TB, c *Columns, ord uint64, raw string) *Columns {
	t.Helper()
	return change(t, c, func(e *Edit) {
		if err := e.Add(ord, []byte(raw)); err != nil {
			t.Fatal(err)
		}
	})
}

// without removes one.
func without(t testing.TB, c *Columns, ord uint64) *Columns {
	t.Helper()
	return change(t, c, func(e *Edit) {
		if !e.Remove(ord) || e.Remove(ord) {
			t.Fatal("removed twice, or not")
		}
	})
}

// version is a state of columns with the documents it should have.
type version struct {
	c    *Columns
	docs map[uint64]map[string]any
}

// TestColumnsAgreeWithTheDocuments edits at random, asks filters again and
// again, so that their answers are brought up to date from many states, and
// compares with every document. Several states stay in use and must stay what
// they were; some edits are given up, done or not; now and then columns are
// compacted, or saved and opened, while they change.
func TestColumnsAgreeWithTheDocuments(t *testing.T) {
	wasteful := 0
	for seed := uint64(1); seed <= uint64(trial.Rounds(t, 2, 6)); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			now := version{New(), map[uint64]map[string]any{}}
			var kept []version
			filters := make([]oracle, 40)
			for i := range filters {
				filters[i] = someFilter(r, 4)
			}
			var last uint64
			rebased := 0
			edit := func(from version, adds, removes, depth int) (to version) {
				e := from.c.Edit()
				to.docs = maps.Clone(from.docs)
				for range adds {
					last += 1 + uint64(r.IntN(3))
					to.docs[last] = someObject(r, depth)
					if err := e.Add(last, encode(t, to.docs[last])); err != nil {
						t.Fatal(err)
					}
				}
				for range removes {
					ord := uint64(r.IntN(int(last) + 2))
					_, there := to.docs[ord]
					if e.Remove(ord) != there || e.Remove(ord) {
						t.Fatal("removed twice, or not")
					}
					delete(to.docs, ord)
				}
				to.c = e.Done()
				return to
			}
			for step := range 200 {
				switch {
				case step == 100:
					now = edit(now, 3000, 0, 2)
				case step > 100 && step < 130: // a stretch that deletes more than it adds
					now = edit(now, r.IntN(10), 250, 3)
				default:
					now = edit(now, r.IntN(10), r.IntN(10), 3)
				}
				if now.c.Len() != len(now.docs) {
					t.Fatalf("%d documents, want %d", now.c.Len(), len(now.docs))
				}
				if r.IntN(4) == 0 {
					edit(now, 5, 5, 2) // a commit that failed after it was prepared
				}
				if r.IntN(4) == 0 {
					e := now.c.Edit() // one that failed before
					if err := e.Add(last+1, []byte(`{"a": "given up"}`)); err != nil {
						t.Fatal(err)
					}
				}
				if kept = append(kept, now); len(kept) > 6 {
					i := r.IntN(len(kept) - 1)
					kept = slices.Delete(kept, i, i+1)
				}
				was := kept[r.IntN(len(kept))]
				if now.c.Wasteful() {
					wasteful++
				}
				if now.c.Wasteful() || r.IntN(15) == 0 {
					// The base of a rebase is an ancestor of what is rebased.
					base := now
					for range r.IntN(3) {
						now = edit(now, r.IntN(6), r.IntN(30), 2)
					}
					var fresh *Columns
					var err error
					if r.IntN(2) == 0 {
						fresh, err = base.c.Compacted(t.Context())
					} else {
						fresh = reload(t, base.c)
					}
					if err == nil {
						now.c, err = now.c.Rebase(base.c, fresh)
					}
					if err != nil {
						t.Fatal(err)
					}
					holds(t, version{fresh, base.docs}, pick(r, filters), last)
					rebased++
				}
				for _, v := range []version{now, was, now} {
					holds(t, v, filters[r.IntN(1+step%len(filters))], last)
					if step%10 == 0 {
						ranked(t, v, pick(r, []string{"field(%s, 1)", "recency(%s, 1d)"}), somePath(r))
						ranked(t, v, "field(%s, 1)", someKeys[0])
					}
				}
			}
			for _, v := range append(kept, now) {
				for _, o := range filters {
					holds(t, v, o, last)
				}
				for range 8 {
					counts(t, v, pick(r, filters), somePath(r))
				}
			}
			for _, o := range filters {
				holds(t, now, oracle{again(t, o.Filter), o.meets}, last)
			}
			if rebased < 3 {
				t.Errorf("%d times rebased", rebased)
			}
		})
	}
	if wasteful == 0 {
		t.Error("never wasteful")
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

// written is a file of c.
func written(t testing.TB, c *Columns) []byte {
	t.Helper()
	var b bytes.Buffer
	w := snapshot.NewWriter(&b, snapshot.Header{Kind: Kind, Version: Version})
	if err := c.Save(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opened(data []byte) (*Columns, error) {
	f, err := snapshot.Parse(data)
	if err != nil {
		return nil, err
	}
	return Open(f)
}

func reload(t testing.TB, c *Columns) *Columns {
	t.Helper()
	to, err := opened(written(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestMatchesDoNotChange(t *testing.T) {
	old := with(t, with(t, with(t, with(t, New(), 3, `{"a": 1}`), 5000, `{"a": 2}`), 5001, ``), 5002, `null`)
	first, err := old.Match(t.Context(), filter.Exists("a"), nil)
	if err != nil || first.Len() != 2 {
		t.Fatal(first, err)
	}
	now := with(t, without(t, old, 3), 1<<20, `{"a": {"b": []}}`)
	second, err := now.Match(t.Context(), filter.Exists("a"), nil)
	if err != nil || second.Len() != 2 || second.Allow(3) || !second.Allow(5000) || !second.Allow(1<<20) || second.Allow(1<<40) {
		t.Fatal(second, err)
	}
	if first.Len() != 2 || !first.Allow(3) || !first.Allow(5000) || first.Allow(1<<20) {
		t.Error("an answer changed after it was given")
	}
	if third, err := now.Match(t.Context(), filter.Exists("a"), nil); err != nil || third != second {
		t.Error("an answer was made again although nothing changed")
	}
	if m, err := old.Match(t.Context(), filter.Exists("a"), nil); err != nil || m.Len() != 2 || !m.Allow(3) || m.Allow(1<<20) {
		t.Error("an older state answers like a newer one", m, err)
	}
	if third, err := now.Match(t.Context(), filter.Exists("a"), nil); err != nil || third != second {
		t.Error("an older state took the place of a newer one's answer")
	}
	if all, err := now.Match(t.Context(), filter.Filter{}, nil); err != nil || all.Len() != 4 {
		t.Error(all, err)
	}
}

// TestRebaseKeepsAnswers: columns that were compacted need not ask everything
// again.
func TestRebaseKeepsAnswers(t *testing.T) {
	c := without(t, with(t, with(t, New(), 1, `{"a": 1}`), 2, `{"a": 2}`), 1)
	fresh, err := c.Compacted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Match(t.Context(), filter.Exists("a"), nil)
	if err != nil || m.Len() != 1 {
		t.Fatal(m, err)
	}
	to, err := c.Rebase(c, fresh)
	if err != nil {
		t.Fatal(err)
	}
	if got := to.line.cache.get(filter.Exists("a").String(), to.state()); got == nil || got.at != to.state() || !got.Allow(2) || got.Allow(1) {
		t.Errorf("%+v", got)
	}
	if _, err := to.Rebase(c, fresh); err == nil {
		t.Error("rebased from others than they came from")
	}
	if _, err := c.Rebase(c, New()); err == nil {
		t.Error("rebased onto columns of other documents")
	}
}

func TestColumnsRefuse(t *testing.T) {
	c := with(t, New(), 7, `{"a": 1}`)
	before := written(t, c)
	e := c.Edit()
	for _, x := range []struct {
		ord  uint64
		raw  string
		want error
	}{
		{7, `{}`, ErrOrder}, {6, `{}`, ErrOrder}, {MaxOrd, `{}`, ErrOrder}, {8, `[1]`, metadata.ErrNoObject}, {8, `{"b": `, metadata.ErrNoObject},
		{8, `3`, metadata.ErrNoObject}, {8, strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), metadata.ErrNoObject},
		{8, `{"b": 1} {}`, metadata.ErrNoObject}, {8, `"b"`, metadata.ErrNoObject},
	} {
		if err := e.Add(x.ord, []byte(x.raw)); !errors.Is(err, x.want) {
			t.Errorf("%d %.20s: %v, want %v", x.ord, x.raw, err, x.want)
		}
	}
	if e.Remove(6) || e.Remove(99) {
		t.Error("removed what is not there")
	}
	if d := e.Done(); d.Len() != 1 || !sameFile(t, before, written(t, d)) {
		t.Error("a refused document left something behind")
	}
}

// sameFile compares all but the seeds of tables and what they order.
func sameFile(t testing.TB, a, b []byte) bool {
	t.Helper()
	x, y := payloads(t, a), payloads(t, b)
	for tag := range x {
		if tag != "head" && tag != "pathFind" && tag != "termFind" && !bytes.Equal(x[tag], y[tag]) {
			return false
		}
	}
	return true
}

var tags = []string{"head", "segments", "ords", "ends", "posts",
	"pathTags", "pathEnds", "pathFrom", "pathText", "pathFind", "termTags", "termEnds", "termFrom", "termText", "termFind"}

func payloads(t testing.TB, data []byte) map[string][]byte {
	t.Helper()
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string][]byte{}
	for _, tag := range tags {
		s, err := f.Section(tag)
		if err != nil {
			t.Fatal(err)
		}
		if m[tag], err = s.All(); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestKeysThatStandTwice: the last one counts, as for all who read JSON.
func TestKeysThatStandTwice(t *testing.T) {
	c := with(t, New(), 1, ` { "a" : {"x": 1, "x": [2, {"y": 3}], "z": 5}, "b": {"x": 1}, "\u0062": {"x": 6, "z": {}}, "c": [{"d": 1, "d": 2}, {"d": 3}],
		"_file": {"path": 1, "line": 2}, "_file": {"path": 3, "kind": 4, "path": 5, "time": [{"root": 6}]}, "kind": 7, "kind": 8} `)
	doc, err := metadata.Parse([]byte(`{"a": {"x": [2, {"y": 3}], "z": 5}, "b": {"x": 6, "z": {}}, "c": [{"d": 2}, {"d": 3}], "path": 5, "kind": 8, "time": [{"root": 6}],
		"_file": {"path": 5, "kind": 4, "time": [{"root": 6}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a.x", "a.z", "a.x.y", "b.x", "b.z", "c.d", "path", "kind", "time", "time.root", "root", "line", "_file.path", "_file.kind", "_file.line"} {
		for n := range 8 {
			f := filter.Or(filter.Eq(path, n), filter.And(filter.Exists(path), filter.Eq("a.z", 9-n)))
			want, err := f.Match(doc)
			if err != nil {
				t.Fatal(err)
			}
			if m, err := c.Match(t.Context(), f, nil); err != nil || m.Allow(1) != want {
				t.Errorf("%s: %v, %v", f, !want, err)
			}
		}
	}
}

func TestColumnsKeepDeepMetadataSmall(t *testing.T) {
	deep := strings.Repeat(`{"k":1,"a":`, 4000) + "1" + strings.Repeat("}", 4000)
	c := with(t, New(), 1, deep)
	if size := c.Bytes(); size > int64(5*len(deep)) {
		t.Errorf("%d bytes for metadata of %d", size, len(deep))
	}
	for path, want := range map[string]int{strings.Repeat("a.", 3999) + "k": 1, strings.Repeat("a.", 4000) + "k": 0, strings.Repeat("a.", 3000) + "a": 1} {
		if m, err := c.Match(t.Context(), filter.Exists(path), nil); err != nil || m.Len() != want {
			t.Errorf("path of %d bytes: %v, %v", len(path), m, err)
		}
	}
}

func TestCacheStaysSmall(t *testing.T) {
	c := change(t, New(), func(e *Edit) {
		for ord := range uint64(100) {
			if err := e.Add(ord<<16, []byte(`{"a": 1}`)); err != nil {
				t.Fatal(err)
			}
		}
	})
	for i := range 300 {
		if _, err := c.Match(t.Context(), filter.Not(filter.Eq("a", i+2)), nil); err != nil {
			t.Fatal(err)
		}
	}
	sum := 0
	for _, e := range c.line.cache.entries {
		sum += e.size()
	}
	if len(c.line.cache.entries) != cacheEntries || sum != c.line.cache.bytes {
		t.Errorf("%d entries of %d bytes, counted %d", len(c.line.cache.entries), sum, c.line.cache.bytes)
	}
	big := make([]any, 300_000)
	for i := range big {
		big[i] = fmt.Sprint("value ", i)
	}
	for i := range 3 {
		if _, err := c.Match(t.Context(), filter.In(fmt.Sprint("a", i), big...), nil); err != nil {
			t.Fatal(err)
		}
	}
	if c.line.cache.bytes > cacheBytes {
		t.Errorf("%d bytes kept", c.line.cache.bytes)
	}
}

// TestColumnsConcurrent asks states of every age while the next ones are made,
// compacted and rebased.
func TestColumnsConcurrent(t *testing.T) {
	var present atomic.Pointer[Columns]
	present.Store(New())
	filters := []filter.Filter{filter.Eq("a", 1), filter.Not(filter.Exists("b")), filter.Ge("n", 500), filter.In("a", 1, 2, "x"), filter.Or(filter.Prefix("s", "1"), filter.Lt("n", 10))}
	var group sync.WaitGroup
	var done atomic.Bool
	for w := range 4 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			old := present.Load()
			for !done.Load() {
				c := present.Load()
				if r.IntN(2) == 0 {
					c, old = old, c
				}
				f := pick(r, filters)
				m, err := c.Match(t.Context(), f, nil)
				if err != nil || m.Len() > c.Len() {
					t.Error(m, err)
					return
				}
				no, err := c.Match(t.Context(), filter.Not(f), nil)
				if err != nil || m.Len()+no.Len() != c.Len() {
					t.Errorf("%d documents meet it, %d do not, of %d: %v", m.Len(), no.Len(), c.Len(), err)
					return
				}
				n := 0
				for ord := range uint64(3100) {
					if m.Allow(ord) {
						n++
					}
				}
				if n != m.Len() || c.Bytes() == 0 || c.After(0) > c.Len() {
					t.Errorf("%d documents allowed, %d counted", n, m.Len())
				}
			}
		})
	}
	var mu sync.Mutex // one edit at a time
	group.Go(func() {
		for !done.Load() {
			base := present.Load()
			fresh, err := base.Compacted(t.Context())
			if err == nil {
				mu.Lock()
				if fresh, err = present.Load().Rebase(base, fresh); err == nil {
					present.Store(fresh)
				}
				mu.Unlock()
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for ord := range uint64(3000) {
		mu.Lock()
		present.Store(change(t, present.Load(), func(e *Edit) {
			if err := e.Add(ord, fmt.Appendf(nil, `{"a": %d, "n": %d, "s": "%d"}`, ord%4, ord, ord)); err != nil {
				t.Error(err)
			}
			if ord > 100 {
				e.Remove(ord - 100)
			}
		}))
		mu.Unlock()
	}
	done.Store(true)
	group.Wait()
}

// dying is a context that is cancelled when it has been asked so often.
type dying struct {
	context.Context
	left atomic.Int64
}

func (d *dying) Err() error {
	if d.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancellation: all that may last looks at its context again and again, and
// ends with its error wherever that comes; nothing is kept of it.
func TestCancellation(t *testing.T) {
	c := change(t, New(), func(e *Edit) {
		for i := range 30_000 {
			if err := e.Add(uint64(i), benchMetadata(i)); err != nil {
				t.Fatal(err)
			}
		}
	})
	f, err := filter.Parse(`path ^= "net/http/package12" or (year between 2000 and 2010 and not tags exists)`)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(ctx context.Context) error{
		"match":     func(ctx context.Context) error { _, err := c.Match(ctx, f, nil); return err },
		"compacted": func(ctx context.Context) error { _, err := c.Compacted(ctx); return err },
	}
	for name, call := range calls {
		looked := 0
		for ; ; looked++ {
			d := &dying{Context: t.Context()}
			d.left.Store(int64(looked))
			err := call(d)
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if len(c.line.cache.entries) > 0 {
				t.Fatalf("%s: an answer that was not finished is kept", name)
			}
		}
		if looked < 30 {
			t.Errorf("%s looked at its context %d times", name, looked)
		}
		c.line = &lineage{rows: c.rows.len()}
	}
}

// TestEditIsSmall: an edit costs what it changes.
func TestEditIsSmall(t *testing.T) {
	c := change(t, New(), func(e *Edit) {
		for i := range 50_000 {
			if err := e.Add(uint64(i), benchMetadata(i)); err != nil {
				t.Fatal(err)
			}
		}
	})
	next, drop := 50_000, 0
	for name, from := range map[string]*Columns{"in a row": c, "on a file": reload(t, c), "given up": c} {
		const edits = 200
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range edits {
			to := change(t, from, func(e *Edit) {
				next++
				if err := e.Add(uint64(next), benchMetadata(next)); err != nil {
					t.Fatal(err)
				}
				drop++
				if !e.Remove(uint64(drop * 71)) {
					t.Fatal("not removed")
				}
			})
			if name != "given up" {
				from = to
			}
		}
		runtime.ReadMemStats(&after)
		if bytes := (after.TotalAlloc - before.TotalAlloc) / edits; bytes > 32<<10 && name != "given up" || bytes > 128<<10 {
			t.Errorf("%s, an edit of one document allocates %d bytes", name, bytes)
		}
	}
}
