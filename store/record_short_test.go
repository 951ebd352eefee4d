package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/vec"
)

// shortened makes a database of short records before its first document.
func shortened(t *testing.T, s *Store) {
	t.Helper()
	if err := s.SetManifest(t.Context(), func(m *Manifest) error { m.Short = true; return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestShortVector: rounding loses 2^-13 of the largest component, rounds to the same again, and what it
// gives is stored in two bytes a component; any other vector is stored as it is.
func TestShortVector(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		v := make([]float32, 1+r.IntN(8))
		for j := range v {
			v[j] = float32(r.NormFloat64()) * float32(math.Ldexp(1, r.IntN(40)-20))
		}
		switch i % 10 {
		case 0:
			v[0] = 32767.6 / 32768 // which would round up to 2^15
		case 1:
			v[0] = float32(math.Copysign(0, -1))
		case 2:
			clear(v)
		case 3:
			v[0] = math.MaxFloat32
		case 4:
			v[0] = math.SmallestNonzeroFloat32
		case 5:
			v = []float32{0.6, 0.8} // of length 1
		}
		short := ShortVector(v)
		var top, lost float64
		for j, x := range v {
			top, lost = max(top, math.Abs(float64(x))), max(lost, math.Abs(float64(x)-float64(short[j])))
		}
		if lost > math.Ldexp(top, -13) && top > 1e-30 {
			t.Fatalf("%v becomes %v", v, short)
		}
		if again := ShortVector(short); !same(short, again) {
			t.Fatalf("%v becomes %v, then %v", v, short, again)
		}
		for _, u := range [][]float32{v, short} {
			p, err := encodeRows(t.Context(), nil, []Row{{Vector: u, Tokens: []int32{3, 1}, Codes: []byte{9}}}, true)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := decodeRows(t.Context(), p, nil)
			if err != nil || len(rows) != 1 || !same(rows[0].Vector, u) || !slices.Equal(rows[0].Tokens, []int32{3, 1}) || len(rows[0].Codes) != 1 {
				t.Fatalf("%v is read as %v, %v", u, rows, err)
			}
			if want := 9 + 2*len(u); len(p) != want && top > 1e-30 && same(u, short) {
				t.Fatalf("%v takes %d bytes, want %d", u, len(p), want)
			}
		}
	}
}

// TestShortVectorOfLength1: the length stays 1 for float32, so nothing that makes it 1 again changes the vector.
func TestShortVectorOfLength1(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, dim := range []int{128, 384, 1024} {
		failed := 0
		for range 200 {
			v := make([]float32, dim)
			for j := range v {
				v[j] = float32(r.NormFloat64())
			}
			vec.Normalize(v)
			u := ShortVector(v)
			if again := slices.Clone(u); !vec.Normalize(again) || !same(again, u) {
				failed++
			}
			if cosine := vec.Dot(u, v) / vec.Norm(u); cosine < 1-1e-6 {
				t.Fatalf("of %d dimensions: the cosine with what was rounded is %v", dim, cosine)
			}
		}
		if failed > 10 {
			t.Errorf("the length of %d of 200 vectors of %d dimensions changes", failed, dim)
		}
	}
}

func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestShortRecords: a database of short records gives back what it was given, over each way that writes records, and
// takes a fraction of the space.
func TestShortRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var docs []*Document
	for i := range 40 {
		d := doc(fmt.Sprint("d", i), 1+i%4)
		d.Text = strings.Repeat(d.Text+" some words. ", i) + d.Text
		if len(d.Rows) == 1 {
			d.Rows[0].End = len(d.Text)
		}
		if i%3 == 0 {
			d.Rows[0].Codes = bytes.Repeat([]byte{byte(i)}, 100)
		}
		docs = append(docs, d)
	}
	check := func(when string, s *Store) {
		t.Helper()
		if m := s.Manifest(); !m.Short || m.Major != formatShort {
			t.Fatalf("%s: short %v, format %d", when, m.Short, m.Major)
		}
		v, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		for _, d := range docs {
			ord, _, err := v.Lookup(d.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := v.Get(t.Context(), ord)
			if err != nil || got.Text != d.Text || got.ID != d.ID || len(got.Rows) != len(d.Rows) {
				t.Fatalf("%s: %s is %+v, %v", when, d.ID, got, err)
			}
			for i, r := range got.Rows {
				if w := d.Rows[i]; !same(r.Vector, w.Vector) || !slices.Equal(r.Tokens, w.Tokens) || !bytes.Equal(r.Codes, w.Codes) {
					t.Fatalf("%s: row %d of %s is %+v, want %+v", when, i, d.ID, r, w)
				}
			}
		}
		if _, err := s.Verify(t.Context(), nil); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	s := open(t, dir, Options{NoSync: true})
	shortened(t, s)
	add(t, s, docs...)
	check("stored", s)
	live := s.current().liveBytes
	if err := s.SetManifest(t.Context(), func(m *Manifest) error { m.Short = false; return nil }); err == nil {
		t.Error("the form of records was changed while there are some")
	}
	var file bytes.Buffer
	if _, err := s.Backup(t.Context(), &file, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{NoSync: true})
	check("opened again", s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "saved")
	if _, err := Folder(dir).Salvage(t.Context(), saved, SalvageOptions{}); err != nil {
		t.Fatal(err)
	}
	s = open(t, saved, Options{NoSync: true})
	check("salvaged", s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(t.Context(), restored, &file, RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	s = open(t, restored, Options{NoSync: true})
	check("restored", s)
	if got := s.current().liveBytes; got != live {
		t.Errorf("restored in %d bytes, stored in %d", got, live)
	}
	var long uint64
	for _, d := range docs {
		long += uint64(len(encodeDocument(nil, d)))
	}
	if live*2 > long {
		t.Errorf("short records take %d bytes, the texts %d", live, long)
	}
}

// TestBrokenShortDocuments: records that are cut, or say another length, are errors.
func TestBrokenShortDocuments(t *testing.T) {
	record := encodeDocument(nil, &Document{ID: "a", Text: strings.Repeat("many words ", 100)})
	short := shortDocument(record)
	if short[0] != recordShort || len(short) >= len(record) {
		t.Fatalf("%d bytes of %d", len(short), len(record))
	}
	nothing := zstdWriter().EncodeAll(nil, nil)
	broken := map[string][]byte{
		"nothing":      {recordShort},
		"length 0":     append([]byte{recordShort, 0}, nothing...),
		"length 1":     append([]byte{recordShort, 1}, nothing...),
		"short within": zstdWriter().EncodeAll(short, append([]byte{recordShort}, byte(len(short)))),
	}
	for n := 1; n < len(short); n++ {
		broken[fmt.Sprintf("cut at %d", n)] = short[:n]
	}
	for name, b := range broken {
		if err := decodeDocument(b, &Document{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := decodeDocument(short, &Document{}); err != nil {
		t.Error(err)
	}
}

// TestImpactsNeedTheirFormat: impacts are refused where the manifest has none, and the manifest says so from the first
// document on, in a format that older programs refuse.
func TestImpactsNeedTheirFormat(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), Options{NoSync: true})
	set := func(short, impacts bool) error {
		return s.SetManifest(t.Context(), func(m *Manifest) error { m.Short, m.Impacts = short, impacts; return nil })
	}
	if err := set(false, true); !errors.Is(err, ErrManifest) {
		t.Errorf("in long records: %v", err)
	}
	d := doc("a", 1)
	d.Rows[0].Impacts = []byte{1, 2}
	shortened(t, s)
	b := begin(t, s)
	if _, err := b.Put(t.Context(), d); !errors.Is(err, errImpacts) {
		t.Errorf("unannounced: %v", err)
	}
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	if err := set(true, true); err != nil || s.Manifest().Major != formatImpacts {
		t.Fatalf("format %d, %v", s.Manifest().Major, err)
	}
	add(t, s, d)
	if err := set(true, false); !errors.Is(err, ErrManifest) {
		t.Errorf("taken back: %v", err)
	}
	if got, err := s.Get(t.Context(), 1); err != nil || !bytes.Equal(got.Rows[0].Impacts, d.Rows[0].Impacts) {
		t.Errorf("%v, %v", got, err)
	}
}
