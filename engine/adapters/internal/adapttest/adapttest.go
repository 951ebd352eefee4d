// Package adapttest has what the tests of the adapters share: [Open], a database that the test closes at its
// end, and [Letters], a function from texts to vectors instead of a model.
package adapttest

import (
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// Open opens the database in dir. It is closed when the test ends.
func Open(t *testing.T, dir string, enc encoder.Encoder, o engine.Options) *engine.Engine {
	t.Helper()
	db, err := engine.Open(t.Context(), dir, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Letters counts the letters of a text in a vector of 32 numbers that is never zero. Texts with common letters have
// similar vectors.
func Letters[F float32 | float64](text string) []F {
	v := make([]F, 32)
	v[0] = 0.1
	for _, r := range text {
		v[r%32]++
	}
	return v
}
