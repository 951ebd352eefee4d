package command

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestVectorFiles(t *testing.T) {
	rows := []encoder.Output{{Dense: []float32{1, -2, .5}}, {Dense: []float32{0, 3, 4}}}
	write := func(format string) []byte {
		var b bytes.Buffer
		emit, err := vectorWriter(&b, format, len(rows), 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if err := emit("x", r); err != nil {
				t.Fatal(err)
			}
		}
		return b.Bytes()
	}
	fbin := write("fbin")
	if len(fbin) != 8+24 || binary.LittleEndian.Uint32(fbin) != 2 || binary.LittleEndian.Uint32(fbin[4:]) != 3 {
		t.Errorf("fbin: % x", fbin)
	}
	npy := write("npy")
	head := int(binary.LittleEndian.Uint16(npy[8:]))
	if !bytes.HasPrefix(npy, []byte("\x93NUMPY\x01\x00")) || (10+head)%64 != 0 || len(npy) != 10+head+24 ||
		!bytes.Contains(npy, []byte("'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)")) || npy[9+head] != '\n' {
		t.Errorf("npy: %q", npy)
	}
	if !bytes.Equal(npy[10+head:], fbin[8:]) {
		t.Error("npy and fbin hold different data")
	}
}

func TestWriteFileKeepsOldOnFailure(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	ok := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := writeFile(name, ok("first")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := writeFile(name, func(w io.Writer) error { io.WriteString(w, "half"); return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v, want %v", err, boom)
	}
	data, err := os.ReadFile(name)
	if err != nil || string(data) != "first" {
		t.Errorf("%q, %v; want the old content", data, err)
	}
	left, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(left) != 1 {
		t.Errorf("%d files left, %v; want only the old one", len(left), err)
	}
	if err := writeFile(filepath.Join(name, "below", "a", "file"), ok("")); err == nil || !strings.Contains(err.Error(), "below") {
		t.Errorf("writing below a file gave %v", err)
	}
}
