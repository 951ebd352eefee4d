//go:build !race

package tokenizer

import (
	"strings"
	"testing"
)

// TestBERTAllocations does not hold under the race detector, which makes
// sync.Pool forget at random.
func TestBERTAllocations(t *testing.T) {
	k := bert(t, nil)
	text := strings.Repeat("the cats é日本 hellos ", 10)
	if n := testing.AllocsPerRun(200, func() { k.Tokenize(text, 0) }); n > 4 {
		t.Errorf("%v allocations, want the 3 of the result and that of marks in order", n)
	}
}
