package late_test

import (
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/late"
)

// TestSkip: punctuation is marked with special tokens, unless no token would be left or the tokens have no offsets.
func TestSkip(t *testing.T) {
	special := []bool{true, false, false, true}
	for _, c := range []struct {
		passage string
		offsets []encoder.Span
		want    []bool
	}{
		{"., ferry", []encoder.Span{{}, {Start: 0, End: 2}, {Start: 3, End: 8}, {}}, []bool{true, true, false, true}},
		{"the ferry", []encoder.Span{{}, {Start: 0, End: 3}, {Start: 4, End: 9}, {}}, special},
		{"., ;", []encoder.Span{{}, {Start: 0, End: 2}, {Start: 3, End: 4}, {}}, special},
		{"., ferry", nil, special},
	} {
		if got := late.Skip(c.passage, encoder.Tokens{Special: special, Offsets: c.offsets}); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.passage, got, c.want)
		}
	}
}
