package encoders

import (
	"bytes"
	_ "embed"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/testmodel"
)

//go:embed testdata/crosses.tar.gz
var crosses []byte

// Crosses unpacks tiny cross-encoders with random weights, in the layout of model hubs, and returns
// them by model_type. testdata/record_crosses.py recorded them. That of bert also has a model.onnx.
func Crosses(t testing.TB) map[string]string {
	t.Helper()
	return testmodel.Unpack(t, bytes.NewReader(crosses))
}

// CrossCase is a query, texts, and the reference logits of the pairs.
type CrossCase struct {
	Query  string
	Texts  []string
	Logits []float64
}

// CrossCases returns the cases of a folder that Crosses unpacked.
func CrossCases(t testing.TB, dir string) []CrossCase {
	t.Helper()
	return testmodel.Cases[CrossCase](t, dir, 4)
}
