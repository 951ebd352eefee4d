package cli

import (
	"os"
	"testing"

	"github.com/lexsem/lexsem/encoder/native"
)

func TestSplitPrecision(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("my-int8", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ model, file, precision string }{
		{"all-MiniLM-L6-v2", "all-MiniLM-L6-v2", native.FP32},
		{"all-MiniLM-L6-v2-int8", "all-MiniLM-L6-v2", native.Int8},
		{"ALL-minilm-l6-v2-INT8", "ALL-minilm-l6-v2", native.Int8},
		{"my-int8", "my-int8", native.FP32}, // a folder is what it is
		{"my-int8-int8", "my-int8", native.Int8},
		{"-int8", "-int8", native.FP32},
		{"int8", "int8", native.FP32},
		{"", "", native.FP32},
	} {
		if file, precision := splitPrecision(c.model); file != c.file || precision != c.precision {
			t.Errorf("%q: %q of %s, want %q of %s", c.model, file, precision, c.file, c.precision)
		}
	}
}
