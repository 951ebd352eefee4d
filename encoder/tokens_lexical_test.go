package encoder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLexical compares with the map on texts of any length, ids of any value, special tokens
// that share ids with others, and a slice that has elements already.
func TestLexical(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 1100 {
		var in Tokens
		for range n {
			id := r.Int32N(int32(1 + n/2))
			if r.IntN(8) == 0 {
				id = []int32{0, -1, math.MaxInt32, math.MinInt32}[r.IntN(4)]
			}
			in.IDs, in.Special = append(in.IDs, id), append(in.Special, r.IntN(5) == 0)
		}
		before := []int32{1, 2, 2}
		want := in.lexicalOfMany(slices.Clone(before))
		if got := in.Lexical(slices.Clone(before)); !slices.Equal(got, want) {
			t.Fatalf("of %d tokens %v are lexical, want %v", n, got, want)
		}
		distinct := map[int32]bool{}
		for i, id := range in.IDs {
			distinct[id] = distinct[id] || !in.Special[i]
		}
		k := 0
		for _, lexical := range distinct {
			if lexical {
				k++
			}
		}
		if len(want) != len(before)+k {
			t.Fatalf("of %d tokens %d are lexical, want %d", n, len(want)-len(before), k)
		}
	}
}
