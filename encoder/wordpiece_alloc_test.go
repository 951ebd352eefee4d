//go:build !race

package encoder

import (
	"strings"
	"testing"
)

// TestWordPieceAllocations does not hold under the race detector, which makes
// sync.Pool forget at random.
func TestWordPieceAllocations(t *testing.T) {
	w := tiny(t, WordPieceOptions{})
	text := strings.Repeat("the cats é日本 hellos ", 10)
	if n := testing.AllocsPerRun(200, func() { w.Tokenize(text, 0) }); n > 3 {
		t.Errorf("%v allocations, want the 3 of the result", n)
	}
}
