package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func file(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func write(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func entry(dtype, shape, offsets string) string {
	return fmt.Sprintf(`{"x":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
}

func TestSection(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
		ok   bool
	}{
		{"good", file(entry("F32", "[2,3]", "[0,24]"), make([]byte, 24)), true},
		{"metadata", file(`{"__metadata__":{"format":"pt"}, "x":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]}}`, make([]byte, 32)), true},
		{"empty", nil, false},
		{"no header", []byte{9, 0, 0, 0, 0, 0, 0, 0}, false},
		{"endless header", binary.LittleEndian.AppendUint64(nil, 1<<63), false},
		{"header past the end", append(binary.LittleEndian.AppendUint64(nil, 100), "{}"...), false},
		{"no JSON", file("nonsense", nil), false},
		{"not an object", file("[1]", nil), false},
		{"tensor of another kind", file(`{"x":7}`, nil), false},
		{"metadata of another kind", file(`{"__metadata__":{"a":1}}`, nil), false},
		{"past the end", file(entry("F32", "[2,3]", "[8,32]"), make([]byte, 24)), false},
		{"negative", file(entry("F32", "[2,3]", "[-24,0]"), make([]byte, 24)), false},
		{"backwards", file(entry("F32", "[2,3]", "[24,0]"), make([]byte, 24)), false},
		{"wrong length", file(entry("F32", "[2,3]", "[0,20]"), make([]byte, 24)), false},
		{"negative shape", file(entry("F32", "[-2,-3]", "[0,24]"), make([]byte, 24)), false},
		{"huge shape", file(entry("F32", "[4611686018427387904,4611686018427387904]", "[0,0]"), make([]byte, 24)), false},
		{"half the width", file(entry("F16", "[2,3]", "[0,12]"), make([]byte, 12)), true},
		{"other type", file(entry("I32", "[2,3]", "[0,24]"), make([]byte, 24)), false},
		{"other shape", file(entry("F32", "[3,2]", "[0,24]"), make([]byte, 24)), false},
		{"other rank", file(entry("F32", "[6]", "[0,24]"), make([]byte, 24)), false},
		{"no tensor", file(`{}`, nil), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(write(t, c.file))
			if err == nil {
				defer s.Close()
				_, err = s.Section("x", 2, 3)
			}
			if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrFormat) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrFormat) {
		t.Errorf("missing file: %v", err)
	}
}

func TestFloats(t *testing.T) {
	for _, c := range []struct {
		dtype string
		bytes []byte
		want  []float32
	}{
		{"F32", binary.LittleEndian.AppendUint32(nil, math.Float32bits(-1.5)), []float32{-1.5}},
		{"F64", binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1)), []float32{0.1}},
		{"BF16", []byte{0xc0, 0xbf}, []float32{-1.5}},
		{"F16", []byte{0x00, 0xbe, 0xff, 0x7b, 0x01, 0x00, 0x00, 0x80, 0x00, 0x7c},
			[]float32{-1.5, 65504, 1.0 / (1 << 24), float32(math.Copysign(0, -1)), float32(math.Inf(1))}},
	} {
		shape, end := fmt.Sprintf("[%d]", len(c.want)), fmt.Sprintf("[0,%d]", len(c.bytes))
		s, err := Open(write(t, file(entry(c.dtype, shape, end), c.bytes)))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got, err := s.Floats("x"); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.dtype, got, err, c.want)
		}
		r, err := s.Section("x", int64(len(c.want)))
		if err != nil {
			t.Fatal(err)
		}
		var whole []byte
		for _, v := range c.want {
			whole = binary.LittleEndian.AppendUint32(whole, math.Float32bits(v))
		}
		for from := range whole { // at any byte
			for to := from; to <= len(whole); to++ {
				part := make([]byte, to-from)
				if n, err := r.ReadAt(part, int64(from)); n != len(part) || err != nil && err != io.EOF || !bytes.Equal(part, whole[from:to]) {
					t.Errorf("%s: bytes %d to %d: %v, %d, %v", c.dtype, from, to, part, n, err)
				}
			}
		}
	}
	s, err := Open(write(t, file(entry("I64", "[1]", "[0,8]"), make([]byte, 8))))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"x", "y"} {
		if _, err := s.Floats(name); !errors.Is(err, ErrFormat) {
			t.Errorf("Floats(%q): %v, want ErrFormat", name, err)
		}
	}
}

// A mapped tensor is the bytes of the file until it is freed. One behind the end of a file that was cut is refused.
func TestMap(t *testing.T) {
	path := write(t, file(`{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"y":{"dtype":"BF16","shape":[1],"data_offsets":[4,6]}}`, []byte("abcdef")))
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, free, err := s.Map("y")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if string(b) != "ef" {
		t.Errorf("%q", b)
	}
	if err := free(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Truncate(path, s.data+3); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Map("x"); !errors.Is(err, ErrFormat) {
		t.Errorf("a tensor that was cut: %v", err)
	}
}

// Whatever the bytes, a tensor that is accepted can be read to its end.
func FuzzOpen(f *testing.F) {
	f.Add(file(entry("F32", "[2,3]", "[0,24]"), make([]byte, 24)))
	f.Add(file(entry("F32", "[]", "[0,4]"), make([]byte, 4)))
	f.Add(file(entry("BF16", "[0]", "[4,4]"), make([]byte, 4)))
	f.Add(file(entry("I64", "[1]", "[0,8]"), make([]byte, 8)))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Open(write(t, b))
		if err != nil {
			return
		}
		defer s.Close()
		for name, x := range s.Tensors {
			if r, err := s.Section(name, x.Shape...); err == nil {
				if n, err := io.Copy(io.Discard, r); err != nil || n != r.Size() {
					t.Fatalf("tensor %q: read %d of %d: %v", name, n, r.Size(), err)
				}
			}
			if v, err := s.Floats(name); err == nil && int64(len(v)) > int64(len(b)) {
				t.Fatalf("tensor %q: %d numbers of %d bytes", name, len(v), len(b))
			}
		}
	})
}
