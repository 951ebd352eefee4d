package index

import "testing"

func TestSlabsAreSeparateArraysOfAnyNumber(t *testing.T) {
	const size = 6 << 20 // float32: two to a slab
	var all [][]float32
	slabs(5, size, func(s []float32) { all = append(all, s) })
	if len(all) != 5 {
		t.Fatalf("%d arrays, want 5", len(all))
	}
	for i, s := range all {
		if len(s) != size || cap(s) != size {
			t.Fatalf("array %d has length %d and capacity %d, want %d", i, len(s), cap(s), size)
		}
		s[0], s[size-1] = float32(i+1), float32(i+1)
	}
	for i, s := range all {
		if s[0] != float32(i+1) || s[size-1] != float32(i+1) {
			t.Errorf("array %d is written to through another", i)
		}
	}
	slabs(0, size, func([]float32) { t.Error("an array that nobody wanted") })
}

func TestArenaGrowsByAnEighth(t *testing.T) {
	a := arena[int8]{dim: 384, bits: chunkBits(384)}
	for n := 1; n <= 40_000; n += 1000 {
		a = a.grown(n)
		if have := len(a.chunks) << a.bits; have < n || have > n+n/8+1<<a.bits {
			t.Fatalf("room for %d rows where %d were asked for", have, n)
		}
	}
}
