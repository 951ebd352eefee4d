package encodertest

import (
	"bytes"
	_ "embed"
	"testing"

	"github.com/lexsem/lexsem/encoder/internal/testmodel"
)

//go:embed testdata/crosses.tar.gz
var crosses []byte

// Crosses unpacks tiny cross-encoders with random weights, as model hubs have them, by
// model_type: what testdata/record_crosses.py recorded. That of bert has a model.onnx, too.
func Crosses(t testing.TB) map[string]string {
	t.Helper()
	return testmodel.Unpack(t, bytes.NewReader(crosses))
}

// CrossCase is a query, texts, and the reference's logits of the pairs.
type CrossCase struct {
	Query  string
	Texts  []string
	Logits []float64
}

// CrossCases are those of a folder that Crosses unpacked.
func CrossCases(t testing.TB, dir string) []CrossCase {
	t.Helper()
	return testmodel.Cases[CrossCase](t, dir, 4)
}
