package files_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

func vectorFile(t testing.TB, kind string, rows ...[]float32) string {
	t.Helper()
	var b bytes.Buffer
	if kind == "fvecs" {
		for _, r := range rows {
			binary.Write(&b, binary.LittleEndian, int32(len(r)))
			binary.Write(&b, binary.LittleEndian, r)
		}
		return b.String()
	}
	write, err := NewVectorWriter(&b, kind, len(rows), len(rows[0]))
	for _, r := range rows {
		err = errors.Join(err, write(r))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func npy(descr, order, shape string, data any) string {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	var b bytes.Buffer
	b.WriteString("\x93NUMPY" + "\x02\x00")
	binary.Write(&b, binary.LittleEndian, uint32(len(dict)))
	b.WriteString(dict)
	binary.Write(&b, binary.LittleEndian, data)
	return b.String()
}

func TestVectorFiles(t *testing.T) {
	rows := [][]float32{{1, -2, .5}, {0, 3, 4}}
	files := map[string]string{
		"a.npy": vectorFile(t, "npy", rows...), "a.fbin": vectorFile(t, "fbin", rows...), "a.fvecs": vectorFile(t, "fvecs", rows...),
		"b.npy": npy("<f8", "False", "(2, 3)", []float64{1, -2, .5, 0, 3, 4}),
	}
	for name, in := range files {
		for _, c := range []struct {
			o    Options
			want []string
		}{
			{Options{}, []string{"1", "2"}},
			{Options{ID: "f"}, []string{"f#1", "f#2"}},
			{Options{ID: "f", IDs: strings.NewReader("one \r\ntwo")}, []string{"one ", "two"}},
		} {
			recs, bad, err := filestest.ReadAll(t, name, in, c.o)
			if err != nil || len(bad) > 0 || len(recs) != 2 || recs[0].ID != c.want[0] || recs[1].ID != c.want[1] ||
				!slices.Equal(recs[0].Vector, rows[0]) || !slices.Equal(recs[1].Vector, rows[1]) {
				t.Errorf("%s: %+v, %q, %v; want the ids %q", name, recs, bad, err, c.want)
			}
		}
	}
	nan := float32(math.NaN())
	for _, kind := range []string{"npy", "fbin", "fvecs"} {
		recs, bad, err := filestest.ReadAll(t, "a."+kind, vectorFile(t, kind, []float32{nan}, []float32{1}), Options{})
		if err != nil || len(bad) != 1 || !strings.Contains(bad[0], "vector 1: number 1 is NaN") || len(recs) != 1 || recs[0].ID != "2" {
			t.Errorf("%s: %v, %q, %v", kind, recs, bad, err)
		}
	}
}

func TestBadVectorFiles(t *testing.T) {
	good := vectorFile(t, "npy", []float32{1, 2})
	for _, c := range []struct{ name, in, want string }{
		{"a.npy", strings.Repeat("x", 100), "wrong first bytes"},
		{"a.npy", good[:len(good)-1], "ends within vector 1"},
		{"a.npy", good + "x", "more data after"},
		{"a.npy", good[:40], "ends within the header"},
		{"a.npy", strings.Replace(good, "\x01\x00", "\x09\x00", 1), "version 9"},
		{"a.npy", npy("<i8", "False", "(1, 1)", []int64{1}), `"<i8"; save it as float32`},
		{"a.npy", npy("|O", "False", "(1, 1)", []int64{1}), "save it as float32"},
		{"a.npy", npy("<f4", "True", "(2, 2)", []float32{1, 2, 3, 4}), "Fortran order True"},
		{"a.npy", npy("<f4", "False", "(2,)", []float32{1, 2}), "two-dimensional"},
		{"a.npy", npy("<f4", "False", "(99999999999999999999, 2)", []float32{1, 2}), "the shape"},
		{"a.npy", npy("<f4", "False", "(9999999999, 999999999)", []float32{1, 2}), "is not a valid dimension"},
		{"a.npy", npy("<f4", "False", "(1, 0)", []float32{}), "is not a valid dimension"},
		{"a.fbin", "\x01\x00\x00\x00", "ends within"},
		{"a.fbin", "\x01\x00\x00\x00\xff\xff\xff\xff", "is not a valid dimension"},
		{"a.fvecs", "\xff\xff\xff\xff", "is not a valid dimension"},
		{"a.fvecs", "\x01", "ends within"},
		{"a.fvecs", vectorFile(t, "fvecs", []float32{1}, []float32{1, 2}), "row 2 has the dimension 2"},
	} {
		if _, _, err := filestest.ReadAll(t, c.name, c.in, Options{}); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %.60q: %v; want %q", c.name, c.in, err, c.want)
		}
	}
	for ids, want := range map[string]string{"": "fewer ids", "a\n\nb": "", "\na": "line 1 of the ids is empty", strings.Repeat("x", 2000): "longer than 1,024"} {
		_, _, err := filestest.ReadAll(t, "a.npy", good, Options{IDs: strings.NewReader(ids)})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ids %.20q: %v; want %q", ids, err, want)
		}
	}
	if _, err := NewVectorWriter(new(bytes.Buffer), "xls", 1, 1); !errors.Is(err, ErrKind) {
		t.Errorf("a kind that is not written: %v", err)
	}
}

// The header's padding is right whatever the length of the shape.
func TestNPYHeader(t *testing.T) {
	for n := 1; n < 1e9; n *= 10 {
		var b bytes.Buffer
		if _, err := NewVectorWriter(&b, "npy", n, 384); err != nil {
			t.Fatal(err)
		}
		if h := b.Bytes(); len(h)%64 != 0 || int(binary.LittleEndian.Uint16(h[8:])) != len(h)-10 {
			t.Errorf("header for %d rows has %d bytes", n, len(h))
		}
	}
}

func FuzzNPY(f *testing.F) {
	filestest.Fuzz(f, "npy", vectorFile(f, "npy", []float32{1, 2}), npy("<f8", "False", "(1, 1)", []float64{1}))
}
func FuzzFBin(f *testing.F)  { filestest.Fuzz(f, "fbin", vectorFile(f, "fbin", []float32{1, 2})) }
func FuzzFVecs(f *testing.F) { filestest.Fuzz(f, "fvecs", vectorFile(f, "fvecs", []float32{1, 2})) }
