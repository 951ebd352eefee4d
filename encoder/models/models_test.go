package models

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/provision"
)

// TestNames: each form of a name is told from the others, and what is none is ErrName.
func TestNames(t *testing.T) {
	folder := t.TempDir()
	named := filepath.Join(t.TempDir(), "mine-int8")
	if err := os.Mkdir(named, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		file    string
		inBytes bool
	}{
		"": {"", false}, Default: {provision.DefaultModel, true}, provision.DefaultModel: {provision.DefaultModel, false}, provision.DefaultModel + "-INT8": {provision.DefaultModel, true},
		folder: {folder, false}, folder + "-int8": {folder, true}, named: {named, false}, "-int8": {"-int8", false},
	} {
		if file, inBytes := modelname.Int8(name); file != want.file || inBytes != want.inBytes {
			t.Errorf("%s: %s, %v", name, file, inBytes)
		}
	}
	for name, want := range map[string]int{"hash": 384, "hash-8": 8, "hash-4096": 4096, "hasher": 0, "all-MiniLM-L6-v2": 0} {
		if dim, ok, err := modelname.Hash(name); dim != want || ok != (want > 0) || err != nil {
			t.Errorf("%s: %d, %v, %v", name, dim, ok, err)
		}
	}
	for _, name := range []string{"hash-7", "hash-4097", "hash-", "hash-x", "openai:m@0", "openai:m@x", "ollama:m@-1"} {
		if _, err := Open(t.Context(), name, Options{}); !errors.Is(err, ErrName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]error{"openai:m@8": ErrOffline, "no-such-model": provision.ErrUnknownModel, "e5-small-v2": encoder.ErrUnavailable} {
		if _, err := Open(t.Context(), name, Options{Offline: true, CacheDir: t.TempDir()}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// TestRemoteNames: the name of a database's encoder opens it again.
func TestRemoteNames(t *testing.T) {
	for _, name := range []string{"openai:text-embedding-3-small@1536", "ollama:nomic-embed-text:v1.5@768", "hash-32"} {
		enc, err := Open(t.Context(), name, Options{Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		if got := Of(enc.Fingerprint()); got != name {
			t.Errorf("%s comes back as %s", name, got)
		}
		if err := enc.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRuntime: what runs a model is fetched as far as the options ask for it.
func TestRuntime(t *testing.T) {
	fetched := provision.RuntimeFetched
	if !modelname.CGO {
		fetched = provision.RuntimeNone
	}
	for _, c := range []struct {
		o    Options
		want provision.Runtime
	}{
		{Options{Backend: BackendNative}, provision.RuntimeNone}, {Options{Backend: BackendNative, Fetch: true}, provision.RuntimeNone},
		{Options{Backend: BackendONNX}, fetched}, {Options{Fetch: true}, fetched},
	} {
		if got := c.o.Request("m").Runtime; got != c.want {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
	}
	if got := (Options{}).Request("m").Runtime; modelname.CGO && got != provision.RuntimeAtHand {
		t.Errorf("by itself: %v", got)
	}
	if _, err := Find(t.Context(), Default, Options{Backend: BackendONNX, Offline: true}); !errors.Is(err, ErrName) {
		t.Errorf("in bytes with ONNX Runtime: %v", err)
	}
	for backend, want := range map[string]string{"": Default, BackendAuto: Default, BackendNative: Default, BackendONNX: provision.DefaultModel} {
		if got := (Options{Backend: backend, CacheDir: t.TempDir()}).folderOf(t.Context(), ""); got != want {
			t.Errorf("without a name, with %q: %s", backend, got)
		}
	}
}
