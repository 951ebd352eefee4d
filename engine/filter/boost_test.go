package filter

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/value"
)

func TestParseBoosts(t *testing.T) {
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	clock = func() time.Time { return now }
	t.Cleanup(func() { clock = time.Now })
	for _, c := range []struct {
		expr   string
		name   string
		weight float64
		kind   value.Kind
		value  string
		want   float64
	}{
		{"recency(time, 30d)", "recency(time, 30d)", 0.2, value.String, "2026-01-01", 0.5},
		{"recency(time,30d)", "recency(time,30d)", 0.2, value.String, "2026-02-01T00:00:00+02:00", 1}, // later
		{" 2 * recency ( 'my time' , 1h ) ", "recency ( 'my time' , 1h )", 2, value.String, "2026-01-30T22:00:00Z", 0.25},
		{"recency(t, 1M)", "recency(t, 1M)", 0.2, value.Number, "1767225600", 0.5},    // seconds
		{"recency(t, 1M)", "recency(t, 1M)", 0.2, value.Number, "1767225600000", 0.5}, // milliseconds
		{"recency(t, 1y)", "recency(t, 1y)", 0.2, value.String, "last year", 0},
		{"recency(t, 1y)", "recency(t, 1y)", 0.2, value.True, "", 0},
		{"-0.5*field(a.b, 100)", "field(a.b, 100)", -0.5, value.Number, "300", 0.75},
		{"field(n, 0.5)", "field(n, 0.5)", 0.2, value.Number, "0", 0},
		{"field(n, 0.5)", "field(n, 0.5)", 0.2, value.Number, "-7", 0},
		{"field(n, 1)", "field(n, 1)", 0.2, value.Number, "1e999", 1},
		{"field(n, 1)", "field(n, 1)", 0.2, value.True, "", 0.5},
		{"field(n, 1)", "field(n, 1)", 0.2, value.False, "", 0},
		{"field(n, 1)", "field(n, 1)", 0.2, value.String, "5", 0},
		{"field(n, 1)", "field(n, 1)", 0.2, value.Null, "", 0},
	} {
		bs, err := ParseBoosts(c.expr)
		if err != nil || len(bs) != 1 {
			t.Errorf("%q: %v, %v", c.expr, bs, err)
			continue
		}
		if b := bs[0]; b.Name != c.name || b.Weight != c.weight || math.Abs(b.Of(c.kind, []byte(c.value))-c.want) > 1e-9 {
			t.Errorf("%q is %+v and gives %v for %q, want %v", c.expr, b, b.Of(c.kind, []byte(c.value)), c.value, c.want)
		}
	}
	bs, err := ParseBoosts("recency(time, 1w) - .5*field(x, 1)")
	if err == nil {
		t.Errorf("a number without its 0 gives %v", bs)
	}
	bs, err = ParseBoosts(`recency(time, 1w) - 0.5*field("metadata.id", 1) + field(id2, 2)`)
	if err != nil || len(bs) != 3 || bs[1].Weight != -0.5 || bs[1].Path() != "id" || bs[2].Weight != 0.2 || bs[2].Path() != "id2" {
		t.Errorf("three boosts are %+v, %v", bs, err)
	}
}

func TestBoostErrorsNameThePlace(t *testing.T) {
	for _, c := range []struct {
		expr string
		at   int
	}{
		{"", 0}, {"stars", 0}, {"recency(time)", 12}, {"recency(time, 30)", 14}, {"recency(time, 30d", 17}, {"recency(time, -3d)", 14},
		{"recency(, 3d)", 8}, {"recency(id, 3d)", 8}, {"field(stars, 100) field(x, 1)", 18}, {"0.2 field(x, 1)", 4}, {"1000*field(x, 1)", 0},
		{"field(x, 0)", 9}, {"field(x, 1d)", 10}, {"field(x, 1) +", 13}, {"-field(x, 1) - 0.9*field(y, 1)", 15}, {"field(\"x, 1)", 6}, {"recency(time, 3\xffd)", 15},
		{"field(a,1)+field(a,1)+field(a,1)+field(a,1)+field(a,1)+field(a,1)+field(a,1)+field(a,1)+field(a,1)", 88},
	} {
		_, err := ParseBoosts(c.expr)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, fault.ErrInvalid) || e.Offset != c.at || e.Of != "boost" || e.Msg == "" {
			t.Errorf("%q: %v, want a mistake at byte %d", c.expr, err, c.at)
		}
	}
	for expr, at := range map[string]int{"": 0, "time up": 5, "id": 0, "-time": 0, "'time": 0, "a\xff": 1} {
		_, err := ParseSort(expr)
		var e *Error
		if !errors.As(err, &e) || e.Offset != at || e.Of != "sort" {
			t.Errorf("%q: %v, want a mistake at byte %d", expr, err, at)
		}
	}
}

func TestSortOrdersValues(t *testing.T) {
	type stored struct {
		kind value.Kind
		text string
	}
	values := []stored{ // ascending
		{value.Null, ""}, {value.False, ""}, {value.True, ""}, {value.Number, "-5"}, {value.Number, "2"}, {value.Number, "10"},
		{value.String, "2024-01-01T00:30:00+02:00"}, {value.String, "2023-12-31T23:00:00Z"}, {value.String, "2024-01-01"}, {value.String, "2024-01-01T00:00:00.5Z"}, {value.String, "1999"}, {value.String, "a"},
	}
	for _, expr := range []string{"v", "v ASC", " v  desc "} {
		s, err := ParseSort(expr)
		if err != nil || s.Path != "v" {
			t.Fatal(s, err)
		}
		keys := []string{""}
		for _, v := range values {
			keys = append(keys, v.kind.Order([]byte(v.text)))
		}
		want := append(slices.Clone(keys[1:]), "")
		if s.Desc {
			slices.Reverse(want[:len(values)])
		}
		slices.SortStableFunc(keys, s.Compare)
		if !slices.Equal(keys, want) {
			t.Errorf("%q: %q, want %q", expr, keys, want)
		}
	}
}

func FuzzParseBoosts(f *testing.F) {
	f.Add("recency(time, 30d) + 0.5*field(stars, 100)")
	f.Add("recency(time, 1e308y) + recency(time, 1e-320s) + 1e-320*field(stars, 1e308)")
	f.Add(strings.Repeat("é", maxBoostBytes/2) + "é")
	f.Add("x" + strings.Repeat("é", maxBoostBytes/2))
	f.Fuzz(func(t *testing.T, expr string) {
		bs, err := ParseBoosts(expr)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Error() == "" || e.Offset < len(expr) && utf8.ValidString(expr) && !utf8.RuneStart(expr[e.Offset])) {
			t.Fatal(err)
		}
		for _, b := range bs {
			for _, text := range []string{"1", "0", "-1", "1e400", "-1e400", "17e8"} {
				if x := b.Of(value.Number, []byte(text)); !(0 <= x && x <= 1) {
					t.Fatalf("%q gives %v for %s", expr, x, text)
				}
			}
		}
		_, _ = ParseSort(expr)
	})
}
