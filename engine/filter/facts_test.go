package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/fault"
)

func metByFacts(f Filter, raw []byte) (bool, error) {
	list, err := Facts(raw)
	if err != nil {
		return false, err
	}
	return f.Meets("", list)
}

// FuzzFacts: facts answer every filter as the metadata do.
func FuzzFacts(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 19))
		for range 20 {
			raw, err := json.Marshal(someObject(rng, 3))
			if err != nil {
				t.Fatal(err)
			}
			doc := parsedDocument(t, string(raw))
			for range 10 {
				c := someFilter(rng, 2)
				want, err := c.Match(doc)
				if err != nil {
					t.Fatal(c, err)
				}
				if got, err := metByFacts(c, raw); err != nil || got != want {
					t.Fatalf("%s of %s: %v, %v by facts %q; want %v", c, raw, got, err, must(Facts(raw)), want)
				}
			}
		}
	})
}

func must(s []string, err error) []string {
	if err != nil {
		panic(err)
	}
	return s
}

var (
	someKeys  = []string{"a", "b", "a.b", "", "\x00", "\x01", "é", "path", "line", "_file"}
	someTexts = []string{"2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5Z", "2024-01-01T00:30:00+02:00", "2024-01-01 00:00", "2024-13-01", "Mon, 01 Jan 2024 02:00:00 +0200",
		"", "a", "ab", "a\x00", "b", "\U0010ffff", "a\U0010ffff", "\U0010ffff\U0010ffff\U0010ffffx", "a\ud7ffx", "a\ud7ff", strings.Repeat("x", longFact), strings.Repeat("x", longFact-2) + "é", strings.Repeat("x", longFact+1)}
	someNums = []string{"0", "-0.0", "1", "10e-1", "-1", "12", "123", "-12", "-123", "-0.12", "0.12", "0.123", "-0.123", "1e400", "-1e400", "1e-400", "9007199254740993", "9007199254740992", "-9.5", "95"}
)

func pick[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }

func someScalar(rng *rand.Rand) any {
	switch rng.IntN(5) {
	case 0:
		return nil
	case 1:
		return rng.IntN(2) == 0
	case 2:
		return pick(rng, someTexts)
	}
	return json.Number(pick(rng, someNums))
}

func someValue(rng *rand.Rand, depth int) any {
	switch n := rng.IntN(5); {
	case n == 0 && depth > 0:
		return someObject(rng, depth-1)
	case n == 1 && depth > 0:
		list := make([]any, rng.IntN(3))
		for i := range list {
			list[i] = someValue(rng, depth-1)
		}
		return list
	}
	return someScalar(rng)
}

func someObject(rng *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range rng.IntN(4) {
		m[pick(rng, someKeys)] = someValue(rng, depth)
	}
	if rng.IntN(4) == 0 {
		m["_file"] = map[string]any{pick(rng, []string{"path", "line"}): someValue(rng, depth), "line": someScalar(rng)}
	}
	return m
}

func someFilter(rng *rand.Rand, depth int) Filter {
	if depth > 0 {
		switch rng.IntN(6) {
		case 0:
			return And(someFilter(rng, depth-1), someFilter(rng, depth-1))
		case 1:
			return Or(someFilter(rng, depth-1), someFilter(rng, depth-1))
		case 2:
			return Not(someFilter(rng, depth-1))
		}
	}
	path := pick(rng, someKeys)
	if rng.IntN(3) == 0 {
		path += "." + pick(rng, someKeys)
	}
	ordered := func() any {
		if rng.IntN(2) == 0 {
			return pick(rng, someTexts[:len(someTexts)-1])
		}
		return json.Number(pick(rng, someNums))
	}
	switch rng.IntN(9) {
	case 0:
		return Exists(path)
	case 1:
		return Lt(path, ordered())
	case 2:
		return Le(path, ordered())
	case 3:
		return Gt(path, ordered())
	case 4:
		return Ge(path, ordered())
	case 5:
		return Range(path, json.Number(pick(rng, someNums)), json.Number(pick(rng, someNums)))
	case 6:
		return Prefix(path, pick(rng, someTexts[:len(someTexts)-1]))
	case 7:
		return In(path, someScalar(rng), someScalar(rng))
	}
	return Eq(path, someScalar(rng))
}

// TestLongFacts: what cannot be told of long texts is refused.
func TestLongFacts(t *testing.T) {
	long := strings.Repeat("x", longFact+1)
	raw := fmt.Appendf(nil, `{"a":%q}`, long)
	for _, c := range []Filter{Lt("a", long), Prefix("a", long), Range("a", "b", long)} {
		if _, err := metByFacts(c, raw); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "shorter") {
			t.Errorf("%.30s: %v", c, err)
		}
	}
	for c, want := range map[*Filter]bool{new(Eq("a", long)): true, new(Eq("a", long+"y")): false, new(Prefix("a", "xx")): true, new(In("a", long)): true} {
		if got, err := metByFacts(*c, raw); err != nil || got != want {
			t.Errorf("%.30s: %v, %v", c, got, err)
		}
	}
}
