package provision

import (
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// A library that is not at hand is missed only where it is needed.
func TestRuntime(t *testing.T) {
	dir := t.TempDir()
	trial.Files(t, dir, map[string]string{fileONNX: "a graph", fileTokenizer: "{}"})
	spec := modelspec.Spec{Model: "tiny", Precision: "fp32", Pooling: pooling.Mean, MaxTokens: 16}
	if err := spec.Write(dir); err != nil {
		t.Fatal(err)
	}
	ensure := func(r Runtime, library string) (Result, error) {
		return Ensure(t.Context(), Request{Model: dir, CacheDir: t.TempDir(), Offline: true, Runtime: r, Library: library})
	}
	system := func(res Result) bool { return len(res.From) == 2 && res.From[0].Route == "system" }

	for _, library := range []string{"", "nowhere.so"} {
		if res, err := ensure(RuntimeNone, library); err != nil || res.Library != "" || len(res.From) != 1 || res.ModelDir != dir {
			t.Errorf("none wanted: %+v, %v", res, err)
		}
	}
	if res, err := ensure(RuntimeAtHand, ""); err != nil || !system(res) && (res.Library != "" || len(res.From) != 1) {
		t.Errorf("none at hand: %+v, %v", res, err)
	}
	if res, err := ensure(RuntimeFetched, ""); !system(res) && !errors.Is(err, encoder.ErrUnavailable) {
		t.Errorf("none to be had: %+v, %v", res, err)
	}
	if res, err := ensure(RuntimeAtHand, "nowhere.so"); !errors.Is(err, encoder.ErrUnavailable) {
		t.Errorf("one that was named and is not there: %+v, %v", res, err)
	}
}
