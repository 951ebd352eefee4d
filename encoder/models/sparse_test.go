package models

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// TestOpenSparse: a name of two models opens both, again by the name that a database has of them; the second one must
// have the head of a SparseEncoder.
func TestOpenSparse(t *testing.T) {
	dir, plain := filepath.Join(t.TempDir(), "words"), t.TempDir()
	encoders.NewTiny(2, encoders.Tiny{Positions: 64, Prefix: "bert."}).WriteSplade(t, dir, "relu")
	encoders.NewTiny(1, encoders.Tiny{Positions: 64}).Write(t, plain)
	o := Options{CacheDir: t.TempDir(), Offline: true, Backend: BackendNative, Log: func(line string) { t.Error(line) }}
	name := "hash-32" + encoder.SparseMark + dir
	for range 2 {
		enc, err := Open(t.Context(), name, o)
		if err != nil {
			t.Fatal(err)
		}
		defer enc.Close()
		out, err := enc.Encode(t.Context(), encoder.Passage, encoder.Texts("red ships"), encoder.NeedDense|encoder.NeedImpacts)
		if err != nil || len(out[0].Impacts) == 0 || len(out[0].Dense) != 32 {
			t.Errorf("%+v, %v", out, err)
		}
		if name = Of(enc.Fingerprint()); name != "hash-32+splade:words" {
			t.Errorf("the database knows it as %s", name)
		}
	}
	if got := Of(encoder.Fingerprint{Model: "openai:text+splade:words", Dim: 9}); got != "openai:text@9+splade:words" {
		t.Errorf("behind a URL: %s", got)
	}
	o.Log = nil
	if _, err := Open(t.Context(), "hash-32"+encoder.SparseMark+plain, o); !errors.Is(err, ErrName) || !errors.Is(err, encoder.ErrNoLogits) {
		t.Errorf("without a head: %v", err)
	}
	if _, err := Open(t.Context(), "hash-32"+encoder.SparseMark+"nowhere", o); !errors.Is(err, ErrUnknown) {
		t.Errorf("of no folder: %v", err)
	}
}
