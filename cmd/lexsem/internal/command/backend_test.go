package command

import (
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/internal/modelname"
)

// TestOneQueryIsEncodedInGo: ONNX Runtime starts where it pays, or is asked for.
func TestOneQueryIsEncodedInGo(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED with -short: what encodes one query (fetches ONNX Runtime where it is not here); run without -short")
	}
	if !modelname.CGO || runtime.GOARCH != "amd64" {
		t.Skip("NOT TESTED in this build: only amd64 with cgo has a choice")
	}
	offline := os.Getenv("LEXSEM_OFFLINE") != ""
	for _, c := range []struct {
		backend string
		few     bool
		want    string
	}{
		{models.BackendAuto, false, models.BackendONNX},
		{models.BackendAuto, true, models.BackendNative},
		{models.BackendONNX, true, models.BackendONNX},
		{models.BackendNative, false, models.BackendNative},
	} {
		a := &app{Env: Env{Getenv: os.Getenv, Stdout: io.Discard, Stderr: io.Discard}, globals: globals{backend: c.backend, quiet: true, offline: offline}, few: c.few}
		o := a.modelOptions(a.progress())
		o.Fetch = true // as after setup
		m, err := models.Find(t.Context(), floatModel, o)
		if offline && errors.Is(err, encoder.ErrUnavailable) {
			t.Skipf("NOT TESTED: what encodes one query; unset LEXSEM_OFFLINE: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		enc, backend, err := m.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if backend != c.want {
			t.Errorf("--backend %s, few %v: run by %s, want %s", c.backend, c.few, backend, c.want)
		}
		if err := enc.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
