package qdrant

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// indexed is a collection of no points with the indexes that filters need.
func indexed() *collection {
	yes := true
	return &collection{indexes: map[string]indexSchema{"order": {Type: "integer", Range: &yes}, "order2": {Type: "integer", Range: &yes}}}
}

// payloadOf is what the server has of a point, as JSON gives it back.
func payloadOf(t testing.TB, p point) (fields map[string]any) {
	t.Helper()
	raw, err := json.Marshal(p.Payload)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// anyOf asks the stand-in whether one of some conditions is met.
func anyOf(t testing.TB, cs []object) test {
	t.Helper()
	if len(cs) == 0 {
		return func(pointID, map[string]any) bool { return false }
	}
	raw, err := json.Marshal(object{"should": cs})
	if err != nil {
		t.Fatal(err)
	}
	meets, err := indexed().filter(raw)
	if err != nil {
		t.Fatal(err)
	}
	return meets
}

// TestRanges: a range as conditions on words has the facts that the range has.
func TestRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const front, behind = "p\x00s", "p\x00t"
	begins := []string{"", "a", "abcdef", "abcdefabcdef", strings.Repeat("long", 58)}
	text := func() string {
		b := []byte(begins[r.IntN(len(begins))])
		for range r.IntN(9) {
			b = append(b, "\x00\x01a\x7fb\xff"[r.IntN(6)])
		}
		return string(b[:min(len(b), longestBound)])
	}
	var texts []string
	for range 80 {
		texts = append(texts, text())
	}
	facts, payloads := map[string]string{}, map[string]map[string]any{}
	for i, s := range texts {
		facts[s] = front + s
		if i%5 == 0 { // one of which not all words are kept
			facts[s] += strings.Repeat("\x00\xff", 140)
		}
		payloads[s] = payloadOf(t, pointOf(engine.Passage{Facts: []string{"other\x00sabc", facts[s]}}))
	}
	found, conditions := 0, 0
	for range 1500 {
		one := filter.FactRange{From: front + texts[r.IntN(len(texts))], To: front + texts[r.IntN(len(texts))], FromOpen: r.IntN(2) == 0, ToOpen: r.IntN(2) == 0}
		if r.IntN(5) == 0 {
			one.To, one.ToOpen = behind, true
		}
		if one.From == one.To && !one.FromOpen && !one.ToOpen {
			continue // one fact, which is asked for by its digest
		}
		cs, err := between(one)
		if err != nil {
			t.Fatal(err)
		}
		conditions = max(conditions, len(cs))
		meets := anyOf(t, cs)
		for range 10 {
			s := texts[r.IntN(len(texts))]
			fact := facts[s]
			want := one.Has(fact) && one.From != one.To
			if want {
				found++
			}
			if got := meets(pointID{}, payloads[s]); got != want {
				t.Fatalf("%q in %+v: %v, want %v: %v", fact, one, got, want, cs)
			}
		}
	}
	if found < 1000 || conditions < 20 {
		t.Fatalf("%d facts were in a range, of up to %d conditions: the test shows nothing", found, conditions)
	}
	for _, one := range []filter.FactRange{{From: "p", To: "q"}, {From: front, To: "q\x00sx"}, {From: front, To: "q\x00t", ToOpen: true}, {From: front, To: behind}, {From: "", To: front}, {From: front + strings.Repeat("x", longestBound+1), To: behind, ToOpen: true}} {
		if cs, err := between(one); err == nil {
			t.Errorf("%+v: %v", one, cs)
		}
	}
}

// TestWords: the words of values are in their order, and the bounds of ranges what a float64 holds exactly.
func TestWords(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		a, b := make([]byte, r.IntN(8)), make([]byte, r.IntN(8))
		for _, s := range [][]byte{a, b} {
			for i := range s {
				s[i] = "\x00\x01\xfe\xff"[r.IntN(4)]
			}
		}
		compare := 0
		for i := 0; compare == 0; i++ {
			x, last := wordAt(string(a), i)
			y, _ := wordAt(string(b), i)
			if x < 0 || x > greatest {
				t.Fatalf("word %d of %q is %d", i, a, x)
			}
			for _, bound := range []int64{behind("", string(a), i).plus(x).one, behind("", string(a), i).plus(greatest).other} {
				if bound < 0 || bound >= 1<<53 {
					t.Fatalf("%d is not exact as float64", bound)
				}
			}
			if x < y {
				compare = -1
			} else if x > y {
				compare = 1
			}
			if last {
				break
			}
		}
		if want := strings.Compare(string(a), string(b)); compare != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, compare, want)
		}
	}
	if got := wordsOf([]string{"a\x00e", "a\x00t", "a\x000", "a\x00s", "a\x00s", "", "x", "x\x00"}); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if got := wordsOf([]string{"a\x00s" + strings.Repeat("x", 5000)}); len(got) != mostWords {
		t.Errorf("%d words of a long text", len(got))
	}
}

// TestFilters: any filter is answered as MeetsFacts answers it.
func TestFilters(t *testing.T) {
	s := newStandIn(t)
	b := s.made(t, 1)
	r := rand.New(rand.NewPCG(7, 8))
	values := []any{0, 1, -1, 1.5, -1.5, 1e20, -1e-20, 123456789.25, "", "a", "ab", "abcdef", "abcdefg", "2026-11-24", "\x00", "日本", true, false, nil, strings.Repeat("y", 300)}
	value := func() any { return values[r.IntN(len(values))] }
	paths := []string{"a", "b.c", "b", "d\x00", "nobody"}
	var facts [][]string
	var docs [][]engine.Passage
	for i := range 60 {
		m := map[string]any{"n": i}
		if r.IntN(4) > 0 {
			m["a"] = value()
		}
		if r.IntN(2) == 0 {
			m["b"] = map[string]any{"c": []any{value(), value()}}
		}
		if r.IntN(3) == 0 {
			m["d\x00"] = []any{value(), map[string]any{}}
		}
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		d := document(t, fmt.Sprint(i), "x", string(raw), []float32{1}, []float32{1})
		docs, facts = append(docs, d), append(facts, d[0].Facts)
	}
	if err := b.Put(t.Context(), docs, true); err != nil {
		t.Fatal(err)
	}
	ordered := func() any {
		for {
			switch v := value().(type) {
			case nil, bool:
			default:
				return v
			}
		}
	}
	var random func(depth int) filter.Filter
	random = func(depth int) filter.Filter {
		path := paths[r.IntN(len(paths))]
		n := r.IntN(13)
		if depth == 0 {
			n = r.IntN(10)
		}
		switch n {
		case 0:
			return filter.Eq(path, value())
		case 1:
			return filter.In(path, value(), value())
		case 2:
			return filter.Lt(path, ordered())
		case 3:
			return filter.Le(path, ordered())
		case 4:
			return filter.Gt(path, ordered())
		case 5:
			return filter.Ge(path, ordered())
		case 6:
			return filter.Prefix(path, []string{"", "a", "abcdef", "2026-", "日"}[r.IntN(5)])
		case 7:
			return filter.Exists(path)
		case 8:
			return []filter.Filter{{}, filter.Or(), filter.In(path)}[r.IntN(3)]
		case 9:
			f := filter.Range(path, ordered(), ordered())
			if f.Err() != nil { // of two kinds
				return filter.Range(path, "a", "b")
			}
			return f
		case 10:
			return filter.Not(random(depth - 1))
		case 11:
			return filter.And(random(depth-1), random(depth-1))
		}
		return filter.Or(random(depth-1), random(depth-1))
	}
	some, long := 0, 0
	for range 500 {
		f := random(4)
		want := 0
		for _, fs := range facts {
			yes, err := filter.MeetsFacts(f, fs)
			if err != nil {
				t.Fatal(err)
			}
			if yes {
				want++
			}
		}
		got, err := b.Count(t.Context(), f)
		if errors.Is(err, engine.ErrInvalid) && strings.Contains(f.String(), strings.Repeat("y", 300)) {
			long++
			continue
		}
		if err != nil || got != want {
			t.Fatalf("%s: %d, %v; want %d", f, got, err, want)
		}
		if want > 0 && want < len(docs) {
			some++
		}
		if want > 0 {
			continue
		}
		if cs, err := b.Nearest(t.Context(), []float32{1}, 5, f); err != nil || len(cs) != 0 {
			t.Fatalf("%s: %v, %v", f, cs, err)
		}
	}
	if some < 130 || long == 0 {
		t.Fatalf("%d filters that some meet, %d by long texts: the test shows nothing", some, long)
	}
	if f := filter.Eq("a", strings.Repeat("y", 300)); f.Err() != nil {
		t.Error(f.Err())
	} else if _, err := b.Count(t.Context(), f); err != nil {
		t.Errorf("equality with a long text: %v", err)
	}
}

// TestDepth: what the server could not read is refused here; conditions beside each other do not nest.
func TestDepth(t *testing.T) {
	f := filter.Eq("a", 1)
	var flat []filter.Filter
	refused := 0
	for i := range filter.MaxDepth - 2 {
		f = filter.Not(filter.And(f, filter.Eq("b", i)))
		if f.Err() != nil {
			break
		}
		w, err := condition(f)
		if err != nil {
			if !errors.Is(err, engine.ErrInvalid) {
				t.Fatal(err)
			}
			refused++
		} else if d := 1 + depth(w.in(object{})); d > 128 || refused > 0 {
			t.Fatalf("depth %d", d)
		}
	}
	if refused == 0 {
		t.Error("no filter was too deep")
	}
	for i := range filter.MaxConditions {
		flat = append(flat, filter.Ge(fmt.Sprint("f", i), "x"))
	}
	for _, f := range []filter.Filter{filter.And(flat...), filter.Or(flat...)} {
		w, err := condition(f)
		if err != nil || len(w.of) != filter.MaxConditions && len(w.of) != 2*filter.MaxConditions || depth(w.of) > 8 {
			t.Errorf("%d conditions, %d deep, %v", len(w.of), depth(w.of), err)
		}
	}
}

// TestRequests: what a filter asks the server for.
func TestRequests(t *testing.T) {
	above := behind("a\x00s", "", 0)
	x, a, b := digest("a\x00sx"), digest("a\x000"), digest("b\x000")
	equal := func(ks ...string) string {
		return `{"key":"facts","match":{"any":["` + strings.Join(ks, `","`) + `"]}}`
	}
	for expr, want := range map[string]string{
		"true":                                   `{}`,
		`a = "x"`:                                `{"filter":{"must":[` + equal(x) + `]}}`,
		`not a = "x"`:                            `{"filter":{"must_not":[` + equal(x) + `]}}`,
		`not not a = "x"`:                        `{"filter":{"should":[` + equal(x) + `]}}`,
		`a = null or b = null`:                   `{"filter":{"should":[` + equal(a) + `,` + equal(b) + `]}}`,
		`a = null and b = null`:                  `{"filter":{"must":[` + equal(a) + `,` + equal(b) + `]}}`,
		`not (a = null or b = null) and a = "x"`: `{"filter":{"must":[{"must_not":[` + equal(a) + `,` + equal(b) + `]},` + equal(x) + `]}}`,
		`a > "x"`: fmt.Sprintf(`{"filter":{"must":[{"must":[{"key":"order","range":{"gte":%d,"lte":%d}},{"key":"order2","range":{"gte":%d,"lte":%d}}]}]}}`,
			above.plus('x'<<18+2).one, above.plus(greatest).one, above.plus('x'<<18+2).other, above.plus(greatest).other),
	} {
		f, err := filter.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		w, err := condition(f)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(w.in(object{}))
		if err != nil || string(raw) != want {
			t.Errorf("%s: %s, %v\nwant %s", expr, raw, err, want)
		}
	}
	for _, expr := range []string{"false", "a in []", "not true", `a = "x" and false`} {
		f, err := filter.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := condition(f); err != nil || !w.never() {
			t.Errorf("%s: %+v, %v", expr, w, err)
		}
	}
}

// TestOnePlace: a passage that has another term in a query's place of the sparse vector is no candidate.
func TestOnePlace(t *testing.T) {
	const a, b = "costarring", "liquid"
	if indexOf(a) != indexOf(b) {
		t.Fatal("these two have two places")
	}
	be := newStandIn(t).made(t, 1)
	if err := be.Put(t.Context(), [][]engine.Passage{document(t, "x", a, "", []float32{1}), document(t, "y", b, "", []float32{1})}, true); err != nil {
		t.Fatal(err)
	}
	cs, err := be.Matching(t.Context(), []engine.WeightedTerm{{Term: a, Weight: 1}}, 8, engine.Filter{})
	if err != nil || len(cs) != 1 || cs[0].ID != "x" || cs[0].Cosine != 0 {
		t.Errorf("%+v, %v", cs, err)
	}
}
