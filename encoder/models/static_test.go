package models

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/text"
)

// TestStaticNames: a static model is known by its teacher, whichever way that is named.
func TestStaticNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"static": {provision.DefaultModel, "static:" + provision.DefaultModel}, "static:": {provision.DefaultModel, "static:" + provision.DefaultModel}, "static:BGE-small-en-v1.5": {"BGE-small-en-v1.5", "static:bge-small-en-v1.5"},
		"static:" + provision.DefaultModel + "-int8": {provision.DefaultModel + "-int8", "static:" + provision.DefaultModel + "-int8"}, "static:some/folder/": {"some/folder/", "static:folder"},
	} {
		teacher, ok := modelname.Static(name)
		if got := modelname.StaticName(name); !ok || teacher != want[0] || got != want[1] {
			t.Errorf("%s: %s, %v, %s", name, teacher, ok, got)
		}
	}
	for _, name := range []string{"", "statics", "static-m", "./static", "hash"} {
		if teacher, ok := modelname.Static(name); ok {
			t.Errorf("%s: %s", name, teacher)
		}
	}
	if id, of, _, err := identity("ALL-minilm-l6-v2-INT8"); id != "" || of != provision.DefaultModel+"-int8" || err != nil {
		t.Errorf("%q is made of %s, %v", id, of, err)
	}
	if got := text.ModelLanguages("static:" + provision.DefaultModel); len(got) != 1 || got[0] != "en" {
		t.Errorf("languages %v", got)
	}
}

// TestStatic: a static model is made of a folder once, kept, and made anew when the folder has changed.
func TestStatic(t *testing.T) {
	dir, cache := filepath.Join(t.TempDir(), "tiny"), t.TempDir()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	encoders.NewTiny(1, encoders.Tiny{Positions: 64}).Write(t, dir)
	var last provision.Event
	o := Options{CacheDir: cache, Offline: true, Progress: func(e provision.Event) { last = e }}
	find := func(cached bool) *Model {
		t.Helper()
		last = provision.Event{}
		m, err := Find(t.Context(), "static:"+dir, o)
		if err != nil || m.From[0].Cached != cached || last.Done == cached || m.Backend() != BackendNative {
			t.Fatalf("%+v, %v, last event %+v", m, err, last)
		}
		return m
	}
	first := find(false)
	enc, backend, err := first.Open(t.Context())
	if err != nil || backend != BackendNative {
		t.Fatal(backend, err)
	}
	if f := enc.Fingerprint(); f.Model != "static:tiny" {
		t.Errorf("%+v", f)
	}
	if err := enc.Close(); err != nil {
		t.Error(err)
	}
	find(true)
	if m, err := Find(t.Context(), "static:"+dir+"/.", o); err != nil || !m.From[0].Cached {
		t.Errorf("by another way to the folder: %+v, %v", m, err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "tokenizer.json"), later, later); err != nil {
		t.Fatal(err)
	}
	find(false)

	for name, want := range map[string]error{
		"static:hash": ErrName, "static:hash-x": ErrName, "static:openai:m": ErrName, "static:static": ErrName, "static:no-such-model": provision.ErrUnknownModel,
		"static": encoder.ErrUnavailable,
	} {
		if _, err := Open(t.Context(), name, Options{Offline: true, CacheDir: cache}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := Open(t.Context(), "static", Options{Offline: true, CacheDir: cache, Backend: BackendONNX}); !errors.Is(err, ErrNoGraph) {
		t.Errorf("with ONNX Runtime: %v", err)
	}
}
