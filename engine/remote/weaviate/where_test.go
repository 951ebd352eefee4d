package weaviate

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// has says whether a fact is one of a span.
func (s *span) has(fact string) bool {
	h := inHex(fact)
	return slices.Contains(s.exact, h) || slices.ContainsFunc(s.prefixes, func(p string) bool {
		begin, more := strings.CutSuffix(p, "?*")
		if !more {
			begin = strings.TrimSuffix(p, "*")
		}
		return strings.HasPrefix(h, begin) && (!more || len(h) > len(begin))
	})
}

// TestSpans: a range as exact texts and prefixes has the facts that the range has.
func TestSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "\x00", "\xff", "a", "ab", "a\x00"}
	for range 60 {
		b := make([]byte, r.IntN(5))
		for i := range b {
			b[i] = "\x00\x01a\x7fb\xff"[r.IntN(6)]
		}
		texts = append(texts, string(b))
	}
	found := 0
	for range 20_000 {
		one := filter.FactRange{From: texts[r.IntN(len(texts))], To: texts[r.IntN(len(texts))], FromOpen: r.IntN(2) == 0, ToOpen: r.IntN(2) == 0}
		if one.From == "" {
			continue // each range of facts begins with a path
		}
		var s span
		s.add(one)
		for range 10 {
			fact := texts[r.IntN(len(texts))]
			want := one.Has(fact) && (one.From != one.To || !one.FromOpen && !one.ToOpen)
			if want {
				found++
			}
			if got := s.has(fact); got != want {
				t.Fatalf("%q in %+v: %v, want %v: %+v", fact, one, got, want, s)
			}
		}
	}
	if found < 1000 {
		t.Fatalf("%d facts were in a range: the test shows nothing", found)
	}
}

// TestIDs: whole ids are compared by their digests; an order of ids is refused with what to write instead.
func TestIDs(t *testing.T) {
	w, err := condition(filter.And(filter.In("id", "a", `b"`), filter.Not(filter.Eq("id", "c"))))
	if err != nil || !strings.Contains(string(w), `path:["dockey"],operator:ContainsAny,valueText:["`+keyOf("a")+`","`+keyOf(`b"`)+`"]`) || !strings.Contains(string(w), keyOf("c")) {
		t.Errorf("%s, %v", w, err)
	}
	if w, err := condition(filter.In("id")); w != never || err != nil {
		t.Errorf("no id: %s, %v", w, err)
	}
	for _, f := range []engine.Filter{filter.Prefix("id", "a"), filter.Lt("id", "a"), filter.Range("id", "a", "b")} {
		if _, err := condition(f); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "use =") {
			t.Errorf("%s: %v", f, err)
		}
	}
}
