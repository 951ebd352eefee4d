package intake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

// StoredFingerprint returns the fingerprint of the encoder that filled the database.
func StoredFingerprint(m store.Manifest) (f encoder.Fingerprint, err error) {
	if err := json.Unmarshal(m.Encoder, &f); err != nil {
		return f, fmt.Errorf("%w: encoder fingerprint in the manifest: %v", store.ErrCorrupt, err)
	}
	return f, nil
}

// CheckSpace is encoder.Check for a database with a metric: if lengths count, the lengths of the probe
// vectors must also agree.
func CheckSpace(what string, by metric.Metric, want, got encoder.Fingerprint) error {
	if err := encoder.Check(what, want, got); err != nil || by.Directions() || !want.Probed() || !got.Probed() {
		return err
	}
	for i := range want.Probe {
		if a, b := length(want.Probe[i]), length(got.Probe[i]); math.Abs(a-b) > sameLength*a {
			return &encoder.MismatchError{What: what, Want: want, Got: got,
				Difference: []string{fmt.Sprintf("probe vector %d: length %.6g there, %.6g here", i, a, b)}}
		}
	}
	return nil
}

// sameLength is the maximum relative difference of the lengths of two probe vectors of one model, if
// lengths count.
const sameLength = 0.01

func length(v []float32) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// NewTokenStates is the setting of token states for a new database whose options do not name one. Tests
// set it.
var NewTokenStates = "auto"

// DescribeNew is Describe for an empty database, which also sets its token states and the form of its records; "" means the
// default.
func DescribeNew(m *store.Manifest, fp encoder.Fingerprint, by metric.Metric, language, tokenStates string) error {
	if fp.Model != "" && by.Directions() {
		m.TokenStates = cmp.Or(tokenStates, NewTokenStates)
	}
	m.Short = by.Directions()
	m.Impacts = fp.Sparse != nil
	if m.Impacts && !m.Short {
		return by.Needs("a model of words beside the vectors")
	}
	return Describe(m, fp, by, language)
}

// Describe writes encoder, metric and language of a database into its manifest.
func Describe(m *store.Manifest, fp encoder.Fingerprint, by metric.Metric, language string) error {
	raw, err := json.Marshal(fp)
	if err != nil {
		return fmt.Errorf("encoder fingerprint: %w", err)
	}
	m.Dim, m.Metric, m.Encoder, m.Language = fp.Dim, by.String(), raw, language
	return nil
}
