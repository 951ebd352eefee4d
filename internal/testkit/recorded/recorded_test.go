package recorded

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

func TestLines(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("{\"a\":1}\n{\"a\":2}\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for name, c := range map[string]struct {
		file []byte
		want int
		ok   bool
	}{"whole": {whole, 2, true}, "cut": {whole[:len(whole)-9], 0, false}, "no gzip": {[]byte("{}"), 0, false}} {
		file := filepath.Join(t.TempDir(), "x.gz")
		if err := os.WriteFile(file, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Lines[struct{ A int }](file)
		if (err == nil) != c.ok || len(got) != c.want || c.ok && got[1].A != 2 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := Lines[int](filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}
