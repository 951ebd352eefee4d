package engine

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

// maxVocab is the greatest vocabulary of an encoder, many times that of any there is:
// tables of all tokens are kept, so a manifest must not ask for endless ones.
const maxVocab = 1 << 24

// checkShape says why an encoder's fingerprint cannot be that of a database of vectors
// of length dim, or nil.
func checkShape(fp encoder.Fingerprint, dim int) error {
	switch {
	case fp.Dim < 1 || fp.Dim > store.MaxDim:
		return fmt.Errorf("an encoder of %d dimensions, where 1 to %d are possible", fp.Dim, store.MaxDim)
	case fp.Dim != dim:
		return fmt.Errorf("an encoder of %d dimensions and vectors of %d", fp.Dim, dim)
	case fp.VocabSize < 0 || fp.VocabSize > maxVocab:
		return fmt.Errorf("an encoder of %d tokens, where up to %d are possible", fp.VocabSize, maxVocab)
	}
	return nil
}

// describeNew is describe for a database that holds nothing yet, whose token states are
// decided on, too; "" says as usual.
func describeNew(m *store.Manifest, fp encoder.Fingerprint, by metric.Metric, language, tokenStates string) error {
	if fp.Model != "" && by.Directions() {
		m.TokenStates = cmp.Or(tokenStates, newTokenStates)
	}
	return describe(m, fp, by, language)
}

// describe writes into a manifest what a database is made for.
func describe(m *store.Manifest, fp encoder.Fingerprint, by metric.Metric, language string) error {
	raw, err := json.Marshal(fp)
	if err != nil {
		return fmt.Errorf("encoder fingerprint: %w", err)
	}
	m.Dim, m.Metric, m.Encoder, m.Language = fp.Dim, by.String(), raw, language
	return nil
}
