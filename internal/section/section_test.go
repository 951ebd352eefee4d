package section

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

var errCorrupt = errors.New("corrupt")

func sample(t testing.TB) []byte {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.Begin("HEAD", 4+8+4+3)
	w.U32(7)
	w.U64(1 << 40)
	w.Text("abc")
	w.Close()
	w.Align(64)
	w.Begin("VECS", 12)
	w.Floats([]float32{1, -2, float32(math.Inf(1))})
	w.Close()
	w.Whole("TAIL", []byte{5, 0x81, 0x01})
	n, err := w.Finish()
	if err != nil || n != int64(buf.Len()) {
		t.Fatalf("%d of %d bytes: %v", n, buf.Len(), err)
	}
	return buf.Bytes()
}

// read reads a sample and returns what was wrong with it.
func read(data []byte) error {
	r := NewReader(data, errCorrupt)
	h := r.Section("HEAD")
	a, b, c := h.U32(), h.U64(), h.Text()
	h.Done()
	v := r.Section("VECS")
	f, _ := v.Floats(3)
	v.Done()
	tail := r.Section("TAIL")
	x, y := tail.U8(), tail.Varint()
	tail.Done()
	r.End()
	if r.Err() == nil && (a != 7 || b != 1<<40 || c != "abc" || !slices.Equal(f, []float32{1, -2, float32(math.Inf(1))}) || x != 5 || y != 129) {
		return errors.New("read something else than was written")
	}
	return r.Err()
}

func TestRoundTrip(t *testing.T) {
	data := sample(t)
	if err := read(data); err != nil {
		t.Fatal(err)
	}
	if at := bytes.Index(data, []byte("VECS")) + 12; at%64 != 0 {
		t.Errorf("payload begins at %d", at)
	}
	for off := range 4 { // wherever it lies in memory
		if err := read(append(make([]byte, off), data...)[off:]); err != nil {
			t.Errorf("offset %d: %v", off, err)
		}
	}
}

func TestDamage(t *testing.T) {
	data := sample(t)
	for i := range data {
		for bit := range 8 {
			bad := slices.Clone(data)
			bad[i] ^= 1 << bit
			if err := read(bad); !errors.Is(err, errCorrupt) {
				t.Fatalf("byte %d, bit %d: %v", i, bit, err)
			}
		}
		if err := read(data[:i]); !errors.Is(err, errCorrupt) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if err := read(append(slices.Clone(data), 0)); !errors.Is(err, errCorrupt) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestWrongLength(t *testing.T) {
	for _, n := range []int{0, 3, 5} {
		w := NewWriter(&bytes.Buffer{})
		w.Begin("ABCD", n)
		w.U32(1)
		w.Close()
		if _, err := w.Finish(); err == nil {
			t.Errorf("4 bytes passed for %d", n)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(sample(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := read(data); err != nil && !errors.Is(err, errCorrupt) && err.Error() != "read something else than was written" {
			t.Fatal(err)
		}
	})
}
