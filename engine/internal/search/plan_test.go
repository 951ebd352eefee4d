package search

import (
	"errors"
	"testing"

	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/local"
)

func TestProbes(t *testing.T) {
	for _, c := range []struct{ cells, found, all, want int }{
		{1, 10, 10, 1}, {40, 10_000, 10_000, 40}, {60, 15_000, 15_000, 40}, {1000, 250_000, 250_000, 100},
		{1000, 125_000, 250_000, 200}, {1000, 10, 250_000, 1000}, {1000, 0, 250_000, 1000}, {5, 0, 0, 5},
	} {
		if got := probes(c.cells, c.found, c.all); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestDecide holds mode, legs and variant to a table: it is what Search, Explain,
// Vector, Stats, Default and the command line go by.
func TestDecide(t *testing.T) {
	plain, built := &state.Modulation{}, &state.Modulation{Local: &local.Bridges{}}
	fitted := &state.Modulation{Standard: "rlr+slr", Auto: "rlr+slr"}
	beaten := &state.Modulation{Standard: "rlr+slr", Auto: Local, Local: &local.Bridges{}}
	imported := &state.Modulation{Standard: "slr"}
	lengths := &state.Modulation{Metric: "dot", Local: &local.Bridges{}, Standard: "slr"} // of which it has none
	text, vector := Query{Text: "text"}, Query{Vector: []float32{1}}
	with := func(q Query, mode, variant string) Query { q.Mode, q.Variant = mode, variant; return q }
	for _, c := range []struct {
		what    string
		s       *state.Modulation
		q       Query
		mode    string
		variant string
		wanted  bool
	}{
		{"text", plain, text, Hybrid, "rlr", false},
		{"text, local bridges there", built, text, Hybrid, "rlr", false},
		{"dense", plain, with(text, Dense, ""), Dense, "rlr", false},
		{"dense, local bridges there", built, with(text, Dense, ""), Dense, Local, false},
		{"vector", plain, vector, Dense, "rlr", false},
		{"text after a fit", fitted, text, Hybrid, "rlr+slr", false},
		{"dense after a fit", fitted, with(text, Dense, ""), Dense, "rlr+slr", false},
		{"text after a fit that lost", beaten, text, Hybrid, "rlr", false},
		{"dense after a fit that lost", beaten, with(text, Dense, ""), Dense, Local, false},
		{"after an import", imported, text, Hybrid, "slr", false},
		{"local asked for, not there", plain, with(text, Dense, Local), Dense, "rlr", true},
		{"local asked for beside words, not there", plain, with(text, Hybrid, Local), Hybrid, "rlr", true},
		{"local asked for beside words", built, with(text, Hybrid, Local), Hybrid, Local, false},
		{"local on a bridge", built, with(text, Dense, "slr+rlr-local"), Dense, "rlr-local+slr", false},
		{"local on a bridge, not there", plain, with(text, Dense, "rlr-local+slr"), Dense, "slr", true},
		{"none", built, with(text, Dense, None), Dense, None, false},
		{"lexical", built, with(text, Lexical, ""), Lexical, "", false},
		{"where lengths count", lengths, text, Hybrid, None, false},
		{"dense where lengths count", lengths, with(vector, "", ""), Dense, None, false},
	} {
		p, err := Decide(c.s, c.q, false)
		if err != nil || p.Mode != c.mode || p.Way.Name != c.variant || p.Way.Wanted != c.wanted {
			t.Errorf("%s: %s by %q, wanted %v, %v; want %s by %q, %v", c.what, p.Mode, p.Way.Name, p.Way.Wanted, err, c.mode, c.variant, c.wanted)
		}
	}
	for _, c := range []struct {
		mode string
		s    *state.Modulation
		want string
	}{{Hybrid, built, "rlr"}, {Dense, built, Local}, {Dense, plain, "rlr"}, {Hybrid, fitted, "rlr+slr"}} {
		if got := Default(c.s, c.mode); got != c.want {
			t.Errorf("default in %s: %s, want %s", c.mode, got, c.want)
		}
	}
	for what, c := range map[string]struct {
		s    *state.Modulation
		want string
	}{"nothing": {built, "rlr"}, "fitted": {fitted, "rlr+slr"}, "beaten": {beaten, "rlr+slr"}} {
		if w, err := Single(c.s, ""); err != nil || w.Name != c.want {
			t.Errorf("single, %s: %s, %v, want %s", what, w.Name, err, c.want)
		}
	}
	for _, q := range []Query{
		with(text, "magic", ""), with(text, "", "magic"), with(text, "", "rlr-local+rlr"), with(text, "", "rlr-local+rlr-local"), with(text, "", "rlr-local+"),
		{Text: "text", K: -1}, {Text: "text", K: MaxK + 1}, with(vector, Hybrid, ""), with(vector, Lexical, ""),
	} {
		if _, err := Decide(built, q, false); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, err := Single(built, Local); !errors.Is(err, fault.ErrInvalid) {
		t.Error(err)
	}
}
