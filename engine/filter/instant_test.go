package filter

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestTimestamps: what is a timestamp is compared as the instant it names, by Match and by facts alike.
func TestTimestamps(t *testing.T) {
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		stored    string
		order     int // of stored to 2024-01-01T00:00:00Z
		timestamp bool
	}{
		{"2024-01-01T00:00:00Z", 0, true},
		{"2024-01-01t00:00:00z", 0, true},
		{"2024-01-01 00:00:00Z", 0, true},
		{"2024-01-01T00:00:00", 0, true},
		{"2024-01-01T00:00", 0, true},
		{"2024-01-01", 0, true},
		{"2024-01-01T02:00:00+02:00", 0, true},
		{"2024-01-01T02:00:00+0200", 0, true},
		{"2024-01-01 02:00:00+02", 0, true}, // of PostgreSQL
		{"Mon, 01 Jan 2024 02:00:00 +0200", 0, true},
		{"1 Jan 2024 00:00:00 GMT", 0, true},
		{"Mon, 1 Jan 2024 02:00:00 +0200 (CEST)", 0, true},
		{"2024-01-01T00:00:00.000000001Z", 1, true},
		{"2024-01-01T00:00:00.5Z", 1, true},
		{"2024-01-01T00:30:00-02:00", 1, true},
		{"2024-01-01T00:30:00+02:00", -1, true},
		{"2023-12-31T23:59:59.999Z", -1, true},
		{"0001-01-01", -1, true},
		{"9999-12-31", 1, true},
		{"2024-02-30", 0, false},
		{"2024-13-01T00:00:00Z", 0, false},
		{"2024-01-01x", 0, false},
		{"2024", 0, false},
		{"2024-01", 0, false},
		{"1 of 12 things", 0, false},
		{"Sun, the star", 0, false},
		{"2024-01-01T00:00:00Z" + strings.Repeat(" ", 60), 0, false},
		{"", 0, false},
	} {
		doc := map[string]any{"t": c.stored}
		for _, v := range []any{at, "2024-01-01T00:00:00Z", "2023-12-31T22:00:00-02:00", "Sun, 31 Dec 2023 22:00:00 -0200", "2024-01-01"} {
			for _, f := range []struct {
				f    Filter
				want bool
			}{
				{Lt("t", v), c.order < 0}, {Le("t", v), c.order <= 0}, {Gt("t", v), c.order > 0}, {Ge("t", v), c.order >= 0},
				{Range("t", v, v), c.order == 0}, {Eq("t", v), c.order == 0}, {In("t", "x", v), c.order == 0},
				{In("t", v, 1, 2, 3, 4, 5, 6, 7, 8, 9), c.order == 0}, {Not(Eq("t", v)), c.order != 0 || !c.timestamp},
			} {
				want := f.want && (c.timestamp || f.f.op == opNot)
				if got, err := f.f.Match(doc); err != nil || got != want {
					t.Errorf("%v of %q: %v, %v; want %v", f.f, c.stored, got, err, want)
				}
				facts, err := factsOf(doc)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := f.f.Meets("", facts); err != nil || got != want {
					t.Errorf("%v of %q by facts: %v, %v; want %v", f.f, c.stored, got, err, want)
				}
				read, err := Parse(f.f.String())
				if err != nil {
					t.Fatal(err)
				}
				if got, err := read.Match(doc); err != nil || got != want {
					t.Errorf("%v of %q, read again: %v, %v; want %v", f.f, c.stored, got, err, want)
				}
			}
		}
	}
	// A text that is no timestamp is compared by its bytes, with timestamps too.
	for f, want := range map[string]bool{`t < "2025"`: true, `t ^= "2024-01"`: true, `t between "2024" and "2025"`: true, `t > "2024-01-01T00"`: true, `t between "2024-01-01" and "z"`: true} {
		if got, err := must1(Parse(f)).Match(map[string]any{"t": "2024-01-01T00:00:00Z"}); err != nil || got != want {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
}

func must1(f Filter, err error) Filter {
	if err != nil {
		panic(err)
	}
	return f
}

// TestNow reads times that are told from now.
func TestNow(t *testing.T) {
	defer func(was func() time.Time) { clock = was }(clock)
	clock = func() time.Time { return time.Date(2024, 3, 31, 12, 0, 0, 0, time.FixedZone("", 3600)) }
	for in, want := range map[string]string{
		`t > now`:                     `t > "2024-03-31T11:00:00Z"`,
		`t>=now-7d`:                   `t >= "2024-03-24T11:00:00Z"`,
		`t < now+90s`:                 `t < "2024-03-31T11:01:30Z"`,
		`t < now-1w+2h-30m`:           `t < "2024-03-24T12:30:00Z"`,
		`t between now-1M and now+1y`: `t between "2024-03-02T11:00:00Z" and "2025-03-31T11:00:00Z"`,
		`t in [now, "x"]`:             `t in ["2024-03-31T11:00:00Z", "x"]`,
		`(t < now-1d)`:                `t < "2024-03-30T11:00:00Z"`,
		`now = "now"`:                 `now = "now"`,
	} {
		if f, err := Parse(in); err != nil || f.String() != want {
			t.Errorf("%s: %v, %v; want %s", in, f, err, want)
		}
	}
	for _, in := range []string{`t < nowhere`, `t < now-7`, `t < now-d`, `t < now-7x`, `t < now-1234567d`, `t < now+9000y`, `t < now-`, `t < now - 7d`, `t < now.5`} {
		if f, err := Parse(in); err == nil {
			t.Errorf("%s is read as %v", in, f)
		}
	}
	if _, err := Parse(`t < now-7x`); err == nil || !strings.Contains(err.Error(), "now-7d") {
		t.Errorf("the error is %v", err)
	}
}

func factsOf(doc map[string]any) ([]string, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return Facts(raw)
}
