package matfile

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"testing"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Files that SciPy has written, packed and not, hold what was put into them.
func TestRead(t *testing.T) {
	for _, name := range []string{"packed.mat", "plain.mat"} {
		got, err := Read(file(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for variable, want := range map[string]Value{
			"numbers": {Dims: []int{2, 2}, Numbers: []float64{1.5, 3e9, -2, 0.25}},
			"small":   {Dims: []int{1, 2}, Numbers: []float64{-3, 4}},
			"logical": {Dims: []int{1, 2}, Numbers: []float64{1, 0}},
			"text":    {Dims: []int{1, 5}, Text: "Škoda"},
			"none":    {Dims: []int{0, 0}, Numbers: []float64{}},
		} {
			if v := got[variable]; !reflect.DeepEqual(v, want) {
				t.Errorf("%s of %s: %+v", variable, name, v)
			}
		}
		if c := got["class_names"].Cells; len(c) != 3 || c[1].Text != "Škoda Octavia 2011" {
			t.Errorf("%s: cells %+v", name, c)
		}
		a := got["annotations"]
		if len(a.Structs) != 3 || !slices.Contains(a.Fields, "bbox_y1") {
			t.Fatalf("%s: %d structs of %q", name, len(a.Structs), a.Fields)
		}
		for i, want := range []float64{300, 70000, 5} {
			v, ok := a.Field(i, "bbox_y1")
			if x, is := v.Number(); !ok || !is || x != want {
				t.Errorf("%s: field of struct %d: %+v", name, i, v)
			}
		}
		if v, ok := a.Field(2, "fname"); !ok || v.Text != "00003.jpg" {
			t.Errorf("%s: %+v", name, v)
		}
		if _, ok := a.Field(2, "gname"); ok {
			t.Errorf("%s: a field that is not there", name)
		}
		if _, ok := a.Field(3, "fname"); ok {
			t.Errorf("%s: a struct that is not there", name)
		}
	}
}

func TestRefused(t *testing.T) {
	b := file(t, "plain.mat")
	deep := slices.Concat(b[:128], nested(40))
	for name, b := range map[string][]byte{
		"empty": nil, "short": b[:100], "HDF5": append(bytes.Repeat([]byte("MATLAB 7.3 "), 20), "\x89HDF"...), "cut": b[:len(b)-9],
		"complex": file(t, "complex.mat"), "deep": deep,
	} {
		if _, err := Read(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// nested are cells in cells.
func nested(depth int) []byte {
	var inner []byte
	for range depth {
		head := []byte{6, 0, 0, 0, 8, 0, 0, 0, classCell, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}
		if inner == nil {
			head[24] = 0
		}
		data := slices.Concat(head, inner)
		inner = slices.Concat([]byte{typeMatrix, 0, 0, 0, byte(len(data)), byte(len(data) >> 8), 0, 0}, data)
	}
	return inner
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"plain.mat", "packed.mat", "complex.mat", "cars_meta.mat"} {
		f.Add(file(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		vars, err := Read(b)
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("%v is no ErrFormat", err)
		}
		for _, v := range vars {
			v.Number()
			v.Field(0, "class")
		}
	})
}
