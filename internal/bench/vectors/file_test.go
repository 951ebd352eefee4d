package vectors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func saveBytes(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "v.bin")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestVectorFilesRoundTrip(t *testing.T) {
	v := &Set{Dim: 3, Data: []float32{1, 2, 3, -4, 0, math.SmallestNonzeroFloat32}}
	var b bytes.Buffer
	if err := Write(&b, v); err != nil {
		t.Fatal(err)
	}
	if want := []byte{2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0x80, 0x3f}; !bytes.HasPrefix(b.Bytes(), want) {
		t.Errorf("the file begins %v", b.Bytes()[:12])
	}
	got, err := Read(saveBytes(t, b.Bytes()))
	if err != nil || !reflect.DeepEqual(got, v) || got.Len() != 2 {
		t.Errorf("read back %v, %v", got, err)
	}
	truth := &Truth{K: 2, IDs: []int32{1, 0, 4, 2}}
	b.Reset()
	if err := writeTruth(&b, truth); err != nil {
		t.Fatal(err)
	}
	name := saveBytes(t, b.Bytes())
	back, err := ReadTruth(name, 5)
	if err != nil || !reflect.DeepEqual(back, truth) {
		t.Errorf("read back %v, %v", back, err)
	}
	if _, err := ReadTruth(name, 4); !errors.Is(err, ErrFile) {
		t.Errorf("an id outside the base: %v", err)
	}
	if err := Write(&b, &Set{}); !errors.Is(err, ErrFile) {
		t.Errorf("writing nothing: %v", err)
	}
}

// writeTruth writes a truth in the .ibin layout.
func writeTruth(w io.Writer, t *Truth) error {
	return encodeBin(w, len(t.IDs)/t.K, t.K, func(i int) uint32 { return uint32(t.IDs[i]) })
}

func TestVectorFileFaults(t *testing.T) {
	file := func(n, d uint32, values ...float32) []byte {
		b := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, n), d)
		for _, x := range values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	for name, b := range map[string][]byte{
		"empty":          {},
		"cut header":     {1, 0, 0, 0, 1},
		"cut value":      file(1, 2, 1, 2)[:15],
		"a value less":   file(2, 2, 1, 2, 3),
		"a value more":   file(1, 2, 1, 2, 3),
		"no vectors":     file(0, 2),
		"no dimension":   file(2, 0),
		"huge header":    file(math.MaxUint32, math.MaxUint32, 1),
		"wraps to zero":  file(1<<31, 1<<31),
		"wraps to match": file(1<<31, 1<<31, 1),
		"nan":            file(1, 2, 1, float32(math.NaN())),
		"infinity":       file(1, 2, float32(math.Inf(1)), 1),
	} {
		if _, err := Read(saveBytes(t, b)); !errors.Is(err, ErrFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzReadVectors(f *testing.F) {
	var b bytes.Buffer
	Write(&b, &Set{Dim: 2, Data: []float32{1, 2, 3, 4}})
	f.Add(b.Bytes())
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		name := saveBytes(t, b)
		v, err := Read(name)
		if err == nil {
			var again bytes.Buffer
			if err := Write(&again, v); err != nil || !bytes.Equal(again.Bytes(), b) {
				t.Fatalf("accepted, but written again it differs (%v)", err)
			}
		} else if !errors.Is(err, ErrFile) {
			t.Fatal(err)
		}
		if _, err := ReadTruth(name, 100); err != nil && !errors.Is(err, ErrFile) {
			t.Fatal(err)
		}
	})
}
