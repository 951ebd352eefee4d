package encoder

import "testing"

func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		what string
		t    Tokens
		want float64
	}{
		{"none", Tokens{}, 0},
		{"markers alone", Tokens{Special: []bool{true, true}, Offsets: []Span{{}, {}}}, 0},
		{"all known", Tokens{Special: []bool{true, false, false, true}, Offsets: []Span{{}, {0, 3}, {4, 9}, {}}}, 0},
		{"six of nine bytes", Tokens{Special: []bool{true, false, true, true}, Offsets: []Span{{}, {0, 3}, {4, 10}, {}}}, 6. / 9},
		{"all unknown", Tokens{Special: []bool{true, true}, Offsets: []Span{{}, {0, 3}}}, 1},
	} {
		if got := c.t.Unknown(); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
