package index_test

import (
	"sync"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

// The vectors of forText.
const textN, textDim = 2100, 24

var textVectors = sync.OnceValue(func() []float32 { return indextest.TextLike(textN, textDim, 3) })

var textIndexes = map[string]index.Index{}

// forText runs f for each kind and metric with an index of textVectors. It is made
// once for all tests, which must not change it.
func forText(t *testing.T, f func(t *testing.T, o index.Options, ix index.Index)) {
	forAll(t, textDim, func(t *testing.T, o index.Options, ix index.Index) {
		key := kindOf(t) + o.Metric
		if textIndexes[key] == nil {
			indextest.Add(t, ix, indextest.IDs(textN, 0), textVectors())
			textIndexes[key] = ix
		}
		f(t, o, textIndexes[key])
		indextest.Verify(t, textIndexes[key])
		if textIndexes[key].Len() != textN {
			t.Fatal("the test has changed what others search")
		}
	})
}
