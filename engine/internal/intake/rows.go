package intake

import (
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

// CheckRows refuses vectors that are invalid under the metric, and tokens that occur
// twice or are outside the vocabulary.
func CheckRows(d *store.Document, by metric.Metric, vocab int) error {
	for i, r := range d.Rows {
		if d.Deferred() {
			// the store says whether it may
		} else if err := by.Check(r.Vector); err != nil {
			return fmt.Errorf("vector %d: %w", i, err)
		}
		if _, err := inverted.ImpactTerms(nil, r.Impacts); err != nil {
			return fmt.Errorf("chunk %d: %w", i, err)
		}
		tokens := slices.Clone(r.Tokens)
		slices.Sort(tokens)
		for j, t := range tokens {
			switch {
			case t < 0 || int(t) >= vocab:
				return fmt.Errorf("token %d of a vocabulary of %d", t, vocab)
			case j > 0 && t == tokens[j-1]:
				return fmt.Errorf("token %d is there twice", t)
			}
		}
	}
	return nil
}

// DropTokens removes tokens that are numbers of a database's own vocabulary.
func DropTokens(d *store.Document) {
	for i := range d.Rows {
		d.Rows[i].Tokens = nil
	}
}

// SetTokens sets the tokens of a row of r, and adds to its count of cut tokens. Sorted ones take less space.
func SetTokens(r *store.Document, row int, t encoder.Tokens, sorted bool) {
	r.Rows[row].Tokens = t.Lexical(nil)
	if sorted {
		slices.Sort(r.Rows[row].Tokens)
	}
	r.Truncated += int32(t.Truncated)
}
