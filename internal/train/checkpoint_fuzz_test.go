package train

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// FuzzCheckpoint changes the state of a fit, and makes its checksum right where asked:
// it is taken whole or not at all.
func FuzzCheckpoint(f *testing.F) {
	var once sync.Once
	var tr *trainer
	var good []byte
	path := filepath.Join(f.TempDir(), "fit")
	make := func(t *testing.T) {
		enc := encoder.NewHash(8)
		tr, _, _ = prepared(t, encoded(t, enc, invented(12)), enc, Options{Stack: "slr", QueriesPerPassage: 1, Tau: 0.5, Batch: 3, Workers: 1, Bias: true}, nil)
		if err := tr.saveCheckpoint(path, place{Key: "k", Step: 3, Losses: []float64{1}}); err != nil {
			t.Fatal(err)
		}
		var err error
		if good, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for at := range uint32(90) {
		f.Add(at, uint32(1)<<(at%32), uint32(0), at%2 == 0)
	}
	f.Add(uint32(8), uint32(0xffffffff), uint32(0), true) // the length of the header
	f.Add(uint32(200), uint32(0), uint32(9), true)
	f.Fuzz(func(t *testing.T, at, mask, cut uint32, seal bool) {
		once.Do(func() { make(t) })
		b := slices.Clone(good[:len(good)-int(cut%uint32(len(good)))])
		for i := range 4 {
			if k := int(at%uint32(len(good))) + i; k < len(b) {
				b[k] ^= byte(mask >> (8 * i))
			}
		}
		if end := len(b) - 4; seal && end > 0 {
			binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		floats, ints, _ := tr.state()
		before := [2]any{clones(floats), clones(ints)}
		_, ok, err := tr.loadCheckpoint(path, "k")
		if err != nil {
			t.Fatal(err)
		}
		if !ok && !reflect.DeepEqual(before, [2]any{clones(floats), clones(ints)}) {
			t.Fatal("refused, and yet the state is another")
		}
		if ok && len(b) != len(good) && !seal {
			t.Fatalf("%d of %d bytes are taken", len(b), len(good))
		}
	})
}

// clones copies numbers as bits, so that NaNs are equal.
func clones[T float32 | int32](all [][]T) (bits [][]byte) {
	for _, s := range all {
		b, err := binary.Append(nil, binary.LittleEndian, s)
		if err != nil {
			panic(err)
		}
		bits = append(bits, b)
	}
	return bits
}
