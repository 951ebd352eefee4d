package filter

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/value"
)

// TestIDs: id is the document's id, whatever its metadata hold, and metadata.id their field.
func TestIDs(t *testing.T) {
	own := map[string]any{"id": "own", "metadata": map[string]any{"id": "nested"}}
	facts := must(Facts([]byte(`{"id":"own","metadata":{"id":"nested"}}`)))
	for expr, want := range map[string]bool{
		`id = "d7"`: true, `ID = "d7"`: false, `"id" = 'd7'`: true, `id != "d7"`: false, `id = "own"`: false, `id = ""`: false, `id = "d7 "`: false,
		`id in ["a", "d7"]`: true, `id in []`: false, `id not in ["own"]`: true, `id in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "d7"]`: true,
		`id ^= "d"`: true, `id ^= ""`: true, `id ^= "d7x"`: false, `id ^= "own"`: false,
		`id < "d70"`: true, `id < "d7"`: false, `id <= "d7"`: true, `id > "d6"`: true, `id > "d7"`: false, `id >= "d7"`: true, `id > ""`: true, `id < ""`: false,
		`id between "d" and "d7"`: true, `id between "d70" and "e"`: false, `id between "e" and "d"`: false, `id not between "e" and "f"`: true,
		`id exists`: true, `id not exists`: false, `id.x exists`: false,
		`metadata.id = "own"`: true, `metadata.id = "d7"`: false, `metadata.id = "nested"`: false, `metadata.id exists`: true, `"metadata.id" ^= "o"`: true,
		`id = "d7" and metadata.id = "own"`: true, `id = "x" or not metadata.id exists`: false,
	} {
		f, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.MatchDocument("d7", own); err != nil || got != want {
			t.Errorf("%s: %v, %v", expr, got, err)
		}
		if got, err := f.Meets("d7", facts); err != nil || got != want {
			t.Errorf("%s by facts: %v, %v", expr, got, err)
		}
		again, err := Parse(f.String())
		if err != nil || again.String() != f.String() {
			t.Errorf("%s is written %s and read %s, %v", expr, f, again, err)
		}
	}
	// Ids that are times are texts like others.
	for expr, want := range map[string]bool{`id = "2024-01-01T00:00:00Z"`: false, `id < "2023-12-31T23:00:00-09:00"`: false, `id in ["2024-01-01"]`: true} {
		f, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.MatchDocument("2024-01-01", nil); err != nil || got != want {
			t.Errorf("%s: %v, %v", expr, got, err)
		}
	}
}

// TestIDsAreTexts: a value of another kind is refused, with what to write instead.
func TestIDsAreTexts(t *testing.T) {
	for _, expr := range []string{`id = 7`, `id != null`, `id in ["a", true]`, `id < 7`, `id between 1 and 2`} {
		var e *Error
		if _, err := Parse(expr); !errors.As(err, &e) || !strings.Contains(err.Error(), "quotes") || !strings.Contains(err.Error(), ownID) {
			t.Errorf("%s: %v", expr, err)
		}
	}
	for _, f := range []Filter{Eq("id", 7), In("id", "a", nil), Not(Ge("id", 1.5))} {
		if err := f.Err(); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), ownID) {
			t.Errorf("%v", err)
		}
	}
	if f := Eq(ownID, 7); f.Err() != nil {
		t.Error(f.Err())
	}
	// Where no id is known, the answer is an error, not no.
	f := Or(Eq("a", 1), Not(Eq("id", "x")))
	if _, err := f.Match(nil); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), ownID) {
		t.Errorf("%v", err)
	}
	if _, err := Answer(f, byFacts(nil)); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if got, err := Eq(ownID, "x").Match(map[string]any{"id": "x"}); !got || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestIDRanges: the ids that meet a condition are those in its ranges; ids that are not UTF-8 may
// be in that of a prefix besides.
func TestIDRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "b", "\x00", "\x7f", "é", "\u07ff", "\ud7ff", "\U0010ffff", "\xff", "\xc3"}
	some := func(most int) (s string) {
		for range rng.IntN(most + 1) {
			s += pick(rng, parts)
		}
		return s
	}
	valid := func() string {
		for {
			if s := some(3); utf8.ValidString(s) {
				return s
			}
		}
	}
	met := 0
	for range 20_000 {
		x, y := valid(), valid()
		f := pick(rng, []Filter{Eq("id", x), In("id", x, y), Lt("id", x), Le("id", x), Gt("id", x), Ge("id", x), Range("id", x, y), Prefix("id", x)})
		c, _ := newCondition(f, nil)
		for range 8 {
			id := some(4)
			if rng.IntN(2) == 0 {
				id = x + id
			}
			if id == "" {
				continue
			}
			in := slices.ContainsFunc(c.IDs(), func(r IDRange) bool { return id >= r.From && (r.Below == "" || id < r.Below) })
			want := c.Meets(value.String, []byte(id))
			if want {
				met++
			}
			if in != want && (want || f.op != opPrefix || utf8.ValidString(id)) {
				t.Fatalf("%s, %q: %v in %q, %v by itself", f, id, in, c.IDs(), want)
			}
		}
		for _, r := range c.IDs() {
			if !utf8.ValidString(r.From) || !utf8.ValidString(r.Below) || r.One() != (f.op == opEq || f.op == opIn || r.Below == r.From+"\x00") {
				t.Fatalf("%s: %q", f, r)
			}
		}
	}
	if met < 10_000 {
		t.Fatalf("%d ids met a condition: the test shows nothing", met)
	}
}
