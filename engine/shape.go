package engine

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

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
